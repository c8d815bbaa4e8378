//! Reads the samples of a fit and checks them: into memory, or as moments in one pass over files that are too large for it.

use crate::cli::own::arrays::{ArrayInput, piece};
use crate::cli::own::{Memory, times};
use crate::cli::text::size;
use anyhow::{Result, bail, ensure};
use kraus::regress::{Folds, Pairs};
use kraus::{Basis, MomentsBuilder};
use linalg::is_symmetric;
use ndarray::s;

/// What the fit needs.
pub struct Need {
    /// Folds of the cross-validation; 1 for none.
    pub folds: usize,
    /// Seed of the folds.
    pub seed: u64,
    /// The solver works on samples: `adam`, say.
    pub samples_for: Option<String>,
    /// How much memory there is.
    pub memory: Memory,
}

/// Opens, checks and reads X and Y.
pub fn load(x: &str, y: &str, need: &Need) -> Result<Pairs<'static>> {
    let (mut x, mut y) = (ArrayInput::open(x)?, ArrayInput::open(y)?);
    let ((l, p), (ly, q)) = (x.batch("X")?, y.batch("Y")?);
    ensure!(l == ly, "{} has {l} samples and {} has {ly}; sample i of X belongs to sample i of Y", x.name, y.name);
    let folds = need.folds;
    ensure!(folds <= l, "{folds} folds need at least {folds} samples, {} has {l}; lower --folds (0 for none)", x.name);
    let memory = need.memory;
    let fits = |basis: Basis| Pairs::moments_bytes(basis, p, q, folds) <= memory.share();
    let streamed = match &need.samples_for {
        None => {
            let over = |limit: u64| x.large(limit) || y.large(limit);
            over(memory.share()) || (over(memory.piecewise()) && fits(Basis::Symmetric))
        }
        Some(solver) => {
            if let Some(large) = [&x, &y].into_iter().find(|a| a.large(memory.share())) {
                bail!(
                    "{} is larger than a quarter of memory and {solver} needs all samples at once; use --solver lbfgs at depth 1, or raise --memory",
                    large.name
                );
            }
            false
        }
    };
    if !streamed {
        let limit = if need.samples_for.is_some() { 0 } else { memory.share() };
        return Ok(Pairs::new(x.matrices(0..l)?.into(), y.matrices(0..l)?.into(), folds, need.seed, limit)?);
    }
    let mut data = Pairs {
        l,
        p,
        q,
        asymmetric: None,
        peak: 0.0,
        mean_square: 0.0,
        folds: Folds::new(l, folds, need.seed),
        moments: None,
        samples: None,
    };
    for basis in [Basis::Symmetric, Basis::Full] {
        ensure!(
            fits(basis),
            "{} cannot be streamed: the moments of {} matrices do not fit in a quarter of memory; use fewer --folds or raise --memory",
            x.name,
            times(&[p, p])
        );
        match pass(&mut x, &mut y, &mut data, basis, folds)? {
            Pass::Asymmetric => continue,
            Pass::Done => break,
        }
    }
    Ok(data)
}

enum Pass {
    /// Met an input that is not symmetric where that matters: start again with all coordinates.
    Asymmetric,
    Done,
}

/// One pass over files that are too large for memory: what is said about the samples, and their moments.
fn pass(x: &mut ArrayInput, y: &mut ArrayInput, data: &mut Pairs, basis: Basis, folds: usize) -> Result<Pass> {
    let (l, p, q) = (data.l, data.p, data.q);
    let mut builders: Vec<_> = (0..folds).map(|_| MomentsBuilder::new(p, q, basis)).collect();
    let (mut peak, mut squares) = (0.0f64, 0.0);
    let step = piece(x.shape()).min(piece(y.shape()));
    for from in (0..l).step_by(step) {
        let range = from..(from + step).min(l);
        let (xs, ys) = (x.matrices(range.clone())?, y.matrices(range.clone())?);
        // `matrices` made exact what is symmetric up to rounding.
        if let (None, Some(i)) = (data.asymmetric, xs.outer_iter().position(|m| !is_symmetric(m, 0.0))) {
            data.asymmetric = Some(from + i);
        }
        if data.asymmetric.is_some() && basis == Basis::Symmetric {
            return Ok(Pass::Asymmetric);
        }
        for v in &ys {
            peak = peak.max(v.abs());
            squares += v * v;
        }
        for s in 0..range.len() {
            let b = &mut builders[usize::from(data.folds.of()[from + s])];
            b.update(xs.slice(s![s..s + 1, .., ..]), ys.slice(s![s..s + 1, .., ..]))?;
        }
    }
    data.moments = Some(builders.into_iter().map(MomentsBuilder::finish).collect::<kraus::Result<_>>()?);
    (data.peak, data.mean_square) = (peak, squares / (l * q * q) as f64);
    Ok(Pass::Done)
}

/// Refuses layers that do not fit into memory. A layer holds rank x (size before) x (size after) numbers, a sample between two layers a
/// square of that size, and fitting keeps a few copies of both. An allocation that the system refuses would end the program.
pub fn layers_fit(p: usize, hidden: &[usize], q: usize, rank: usize, memory: Memory) -> Result<()> {
    let sizes: Vec<f64> = [&[p], hidden, &[q]].concat().into_iter().map(|n| n as f64).collect();
    let layers: f64 = sizes.windows(2).map(|pair| rank as f64 * pair[0] * pair[1]).sum();
    let between: f64 = hidden.iter().map(|&n| n as f64 * n as f64).sum();
    let bytes = 8.0 * (layers + between);
    ensure!(
        bytes <= memory.share() as f64,
        "--hidden {}: layers of these sizes take {} or more, which is over a quarter of memory; lower --hidden, or raise --memory",
        hidden.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        size(bytes as u64)
    );
    Ok(())
}

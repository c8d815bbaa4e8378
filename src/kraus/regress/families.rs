//! The two families of maps, each chosen by cross-validation: the signed one ([`Signed`]) and the completely positive one ([`complete`]).
//!
//! [`screen`] looks at the completely positive family on two folds first, because its whole curve costs far more than the signed family's.

use super::affine::{AffineMap, Positivity};
use super::folds::{Folds, Score, least, nearly_least, one_standard_error};
use super::layout::svecs;
use super::path::Path;
use super::{Tried, operators, ridge};
use crate::completion::Watch;
use crate::error::{Error, Result};
use ndarray::{Array2, Array3, ArrayView3, Axis};
use rayon::prelude::*;

/// Ranks of the completely positive path.
pub(super) const RANKS: [usize; 11] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20];
/// Ranks that decide whether the completely positive family is worth a closer look.
const SCREEN: [usize; 3] = [2, 6, 12];
/// On two folds its mean squared error must come within this multiple of the signed family's for that: a tenth is what two folds can be wrong by.
const NEAR: f64 = 1.1;
/// Fewer operators with signs are taken if the mean squared error on hidden samples rises by this share at most.
const SMALLER: f64 = 0.01;
/// Ranks without a better error after which the path ends.
const PATIENCE: usize = 2;
/// Steps of L-BFGS at each rank, and the change over ten of them that ends it: the next rank goes on from there, and a validation error needs three digits.
const STEPS: usize = 20;
const ROUGH: f64 = 1e-3;
/// Trace penalties, over the sum of squares of Y.
const PENALTIES: [f64; 3] = [1e-5, 1e-4, 1e-3];

/// The signed family, chosen.
pub(super) struct Signed {
    choice: ridge::Setting,
    pub(super) tried: Tried,
}

impl Signed {
    pub(super) fn choose(
        x: ArrayView3<'_, f64>,
        y: ArrayView3<'_, f64>,
        targets: &Array2<f64>,
        folds: &Folds,
        rank: Option<usize>,
    ) -> Result<Self> {
        let choice = ridge::choose(x, targets)?;
        let curve = operators::curve(x, y, &choice, folds)?;
        let chosen = match rank {
            // The tried number nearest from below; the fit keeps exactly the number asked for.
            Some(r) => curve.iter().rposition(|s| s.rank <= r).unwrap_or(0),
            None => nearly_least(&curve, SMALLER),
        };
        let note = format!("coordinates: mean of X to the power -{}, penalty {:.0e}", choice.power, choice.share);
        let mut tried = Tried { complete: false, curve, chosen, note };
        if let Some(r) = rank {
            tried.curve[chosen].rank = r;
        }
        Ok(Self { choice, tried })
    }

    pub(super) fn fit(
        &self,
        x: ArrayView3<'_, f64>,
        y: ArrayView3<'_, f64>,
        targets: &Array2<f64>,
        positivity: Positivity,
    ) -> Result<AffineMap> {
        let ridge = ridge::fit(x, targets, &self.choice)?;
        let spectrum = operators::Spectrum::of(&ridge, y)?;
        let (ops, signs) = spectrum.operators(self.tried.score().rank, &ridge.coordinates);
        // The intercept that makes the mean of the outputs right with the operators that are kept.
        let bare = AffineMap::new(ops, signs, None, Positivity::None)?;
        let mean_x = x.mean_axis(Axis(0)).expect("at least one sample").insert_axis(Axis(0));
        let mean_y = y.mean_axis(Axis(0)).expect("at least one sample");
        let at_mean = bare.apply(mean_x.view())?.matrices;
        let intercept = linalg::symmetrise((&mean_y - &at_mean.index_axis(Axis(0), 0)).view());
        AffineMap::new(bare.map().ops().to_owned(), bare.signs().to_vec(), Some(intercept), positivity)
    }
}

/// Asked after each iteration whether to go on.
pub(super) type Ask<'a> = &'a (dyn Fn() -> Result<()> + Sync);

/// The path of one fold: fitted to the samples outside it, judged on those inside.
struct FoldPath {
    path: Path,
    states: Vec<(Array2<f64>, Array2<f64>)>,
    x: Array3<f64>,
    y: Array2<f64>,
}

impl FoldPath {
    /// None where a mean is not positive definite.
    fn new(x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>, folds: &Folds, fold: usize) -> Result<Option<Self>> {
        let (out, inn) = (folds.outside(fold), folds.inside(fold));
        let path = Path::new(x.select(Axis(0), &out).view(), y.select(Axis(0), &out).view(), 0.0)?;
        let (x, y) = (x.select(Axis(0), &inn), svecs(y.select(Axis(0), &inn).view()));
        Ok(path.map(|path| Self { path, states: Vec::new(), x, y }))
    }

    /// The error after going on to `rank`.
    fn to(&mut self, rank: usize, ask: Ask<'_>) -> Result<f64> {
        self.path.to(rank, STEPS, ROUGH, ask)?;
        self.states.push(self.path.state());
        Ok(self.error())
    }

    /// The error of the k-th rank with a penalty.
    fn penalised(&mut self, k: usize, penalty: f64, ask: Ask<'_>) -> Result<f64> {
        self.path.restore(&self.states[k], penalty);
        self.path.to(self.states[k].0.nrows(), STEPS, ROUGH, ask)?;
        Ok(self.error())
    }

    fn error(&self) -> f64 {
        ridge::squares(self.path.predict(self.x.view()).view(), self.y.view()) / self.y.nrows() as f64
    }
}

/// Errors by rank on these folds; the curve ends when more operators bring nothing. None where a mean is not positive definite.
fn rank_curve(
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
    folds: (&Folds, usize),
    ranks: &[usize],
    patience: usize,
    watch: Watch<'_>,
) -> Result<Option<(Vec<FoldPath>, Vec<Score>)>> {
    let paths: Option<Vec<FoldPath>> =
        (0..folds.1).into_par_iter().map(|fold| FoldPath::new(x, y, folds.0, fold)).collect::<Result<_>>()?;
    let Some(mut paths) = paths else { return Ok(None) };
    let mut curve: Vec<Score> = Vec::with_capacity(ranks.len());
    for (k, &rank) in ranks.iter().enumerate() {
        let (step, done) = (format!("completely positive maps, rank {rank}"), k as f64 / ranks.len() as f64);
        let ask = || watch(&step, done);
        ask()?;
        let errors: Vec<f64> = paths.par_iter_mut().map(|p| p.to(rank, &ask)).collect::<Result<_>>()?;
        curve.push(Score::new(rank, errors));
        if curve.len() > least(&curve) + patience {
            break;
        }
    }
    Ok(Some((paths, curve)))
}

/// The completely positive family: rank by the one-standard-error rule, then a penalty if it helps.
pub(super) fn complete(
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
    folds: &Folds,
    rank: Option<usize>,
    watch: Watch<'_>,
) -> Result<(Tried, f64)> {
    let most = x.dim().1 * y.dim().1;
    let ranks: Vec<usize> = match rank {
        Some(r) => RANKS.into_iter().filter(|k| *k < r).chain([r]).collect(),
        None => RANKS.into_iter().filter(|r| *r <= most).collect(),
    };
    let patience = if rank.is_some() { ranks.len() } else { PATIENCE };
    let Some((mut paths, curve)) = rank_curve(x, y, (folds, folds.count()), &ranks, patience, watch)? else {
        return Err(Error::MeanNotDefinite);
    };
    let chosen = if rank.is_some() { curve.len() - 1 } else { one_standard_error(&curve) };
    let mut tried = Tried { complete: true, curve, chosen, note: "no penalty".into() };
    let (mut penalty, at) = (0.0, tried.score().rank);
    for (k, share) in PENALTIES.into_iter().enumerate() {
        let ask = || watch("trace penalty", k as f64 / PENALTIES.len() as f64);
        ask()?;
        let errors: Vec<f64> = paths.par_iter_mut().map(|p| p.penalised(chosen, share, &ask)).collect::<Result<_>>()?;
        let score = Score::new(at, errors);
        let better = score.mean() < tried.score().mean() && !tried.score().close_to(&score);
        if !better {
            break;
        }
        penalty = share;
        tried.curve[chosen] = score;
        tried.note = format!("trace penalty {share:.0e}");
    }
    Ok((tried, penalty))
}

/// Two folds and three ranks first: the whole curve only where it can win.
pub(super) fn screen(
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
    folds: &Folds,
    rival: &Score,
    rank: Option<usize>,
    watch: Watch<'_>,
) -> Result<Option<(Tried, f64)>> {
    let most = x.dim().1 * y.dim().1;
    let ranks: Vec<usize> = SCREEN.into_iter().filter(|r| *r <= most).collect();
    let ranks = if ranks.is_empty() { vec![1] } else { ranks };
    let Some((_, curve)) = rank_curve(x, y, (folds, 2), &ranks, PATIENCE, watch)? else { return Ok(None) };
    let best = least(&curve);
    let rival_there = rival.folds[..2].iter().sum::<f64>() / 2.0;
    if curve[best].mean() <= NEAR * rival_there {
        return complete(x, y, folds, rank, watch).map(Some);
    }
    let note = format!("ranks {ranks:?} on two folds only: too far behind for a closer look");
    Ok(Some((Tried { complete: true, curve, chosen: best, note }, 0.0)))
}

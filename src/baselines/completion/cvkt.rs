//! Cross-view kernel transfer (CVKT): the kernel of one view, completed from the other views.
//!
//! For view v, Psi (n, a) stacks Nystrom features of the other views, zero where a sample is missing there: for a kernel
//! over its available samples, m = ceil(nystrom * available) landmarks M and W = K[M, M] = U S U^T, the features are
//! K[:, M] U S^(-1/2). Then U (a, ceil(rank * a)) on the sphere maximises the centred alignment of Psi U U^T Psi^T with the
//! observed part of K_v; the prediction for all samples is Psi U U^T Psi^T, its range mapped linearly to that of the
//! observed part and its mean there matched (R. Huusari, C. Capponi, P. Villoutreix, H. Kadri, *Kernel transfer over
//! multiple views for missing data completion*, 2019). Observed entries are kept.
//!
//! Landmarks are drawn by seed, because the first m samples would belong to the first classes only. Only the part of U in the row space
//! of Psi changes A, so Psi is first rotated to at most n columns. Cost per step O(n^2 rank).

pub use super::alignment::centred_alignment;

use super::alignment::Alignment;
use super::imputation::check;
use crate::{Error, Result};
use estimator::Mask;
use linalg::{eigh, matmul, svd};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, Ix2, concatenate, s};
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

/// The parameters of CVKT.
#[derive(Debug, Clone, PartialEq)]
pub struct Cvkt {
    /// Shares of the available samples that serve as landmarks, in ]0, 1]. Of several, cross-validation chooses one.
    pub nystrom: Vec<f64>,
    /// Ranks of U as shares of the number of features, in ]0, 1]. Of several, cross-validation chooses one.
    pub rank: Vec<f64>,
    /// Folds of that cross-validation over the observed samples of the view.
    pub folds: usize,
    /// Most gradient steps.
    pub iterations: usize,
    /// Stop when a step gains less alignment than this.
    pub tolerance: f64,
    /// Seed of landmarks, starts and folds.
    pub seed: u64,
}

impl Default for Cvkt {
    fn default() -> Self {
        Cvkt { nystrom: vec![0.25, 1.0], rank: vec![0.05, 0.2], folds: 3, iterations: 200, tolerance: 1e-5, seed: 0 }
    }
}

/// A completed view.
#[derive(Debug, Clone)]
pub struct Transferred {
    /// The kernel with its observed entries kept and the others predicted.
    pub completed: Array2<f64>,
    /// The prediction for every pair of samples.
    pub predicted: Array2<f64>,
    /// Centred alignment with the observed part, step by step; it never falls.
    pub alignment: Vec<f64>,
    /// The Nystrom level used.
    pub nystrom: f64,
    /// The rank level used.
    pub rank: f64,
}

/// Nystrom features (n, m') of one view, m' <= m, zero in the rows of missing samples.
fn nystrom(
    kernel: ArrayView2<'_, f64>,
    observed: ArrayView1<'_, bool>,
    level: f64,
    rng: &mut ChaCha8Rng,
) -> Result<Array2<f64>> {
    let seen = check(kernel, observed)?;
    let m = ((level * seen.len() as f64).ceil() as usize).clamp(1, seen.len());
    let mut landmarks = seen.clone();
    landmarks.shuffle(rng);
    landmarks.truncate(m);
    let block = |rows: &[usize]| kernel.select(Axis(0), rows).select(Axis(1), &landmarks);
    let e = eigh(block(&landmarks).view())?;
    // Eigenvalues that are zero up to rounding, or negative in an indefinite kernel, give no features.
    let top = e.values.iter().fold(0.0f64, |a, &w| a.max(w));
    let kept: Vec<usize> = (0..m).filter(|&k| e.values[k] > 1e-10 * top).collect();
    let scaled = e.vectors.select(Axis(1), &kept) / &e.values.select(Axis(0), &kept).mapv(f64::sqrt);
    let some = matmul(block(&seen).view(), scaled.view());
    let mut all = Array2::zeros((observed.len(), kept.len()));
    for (row, &i) in some.rows().into_iter().zip(&seen) {
        all.row_mut(i).assign(&row);
    }
    Ok(all)
}

/// The features of all views but one, rotated to as few columns as they span (`psi`), and their number of columns before (`columns`).
struct Features {
    psi: Array2<f64>,
    columns: usize,
}

impl Cvkt {
    fn check(&self) -> Result<()> {
        for (name, levels) in [("nystrom", &self.nystrom), ("rank", &self.rank)] {
            if levels.is_empty() || levels.iter().any(|&v| !(v > 0.0 && v <= 1.0)) {
                return Err(Error::parameter(name, "must hold at least one level, all in ]0, 1]"));
            }
        }
        if self.folds < 2 {
            return Err(Error::parameter("folds", "must be at least 2"));
        }
        Ok(())
    }

    fn features(
        &self,
        kernels: &[ArrayView2<'_, f64>],
        observed: &Mask<Ix2>,
        view: usize,
        level: f64,
    ) -> Result<Features> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let others = (0..kernels.len()).filter(|&w| w != view);
        let flags = observed.flags();
        let parts =
            others.map(|w| nystrom(kernels[w], flags.column(w), level, &mut rng)).collect::<Result<Vec<_>>>()?;
        let views: Vec<_> = parts.iter().map(Array2::view).collect();
        let all = concatenate(Axis(1), &views)
            .map_err(|_| Error::Input(estimator::Error::Empty { what: "the set of other views" }))?;
        let columns = all.ncols();
        let d = svd(all.view())?;
        let kept = d.s.iter().filter(|&&s| s > 1e-10 * d.s[0]).count().max(1);
        Ok(Features { psi: (&d.u * &d.s).slice(s![.., ..kept]).to_owned(), columns })
    }

    /// Learns on the samples `seen` of the view and predicts all pairs. Returns the prediction and the alignment after each step.
    fn transfer(
        &self,
        features: &Features,
        kernel: ArrayView2<'_, f64>,
        seen: &[usize],
        rank: f64,
    ) -> (Array2<f64>, Vec<f64>) {
        let psi = &features.psi;
        let target = kernel.select(Axis(0), seen).select(Axis(1), seen);
        let width = ((rank * features.columns as f64).ceil() as usize).clamp(1, psi.ncols());
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ 0x5eed);
        let mut u = Array2::from_shape_simple_fn((psi.ncols(), width), || rng.random_range(-1.0..1.0));
        let problem = Alignment::new(psi.select(Axis(0), seen).view(), target.view());
        let history = problem.climb(&mut u, self.iterations, self.tolerance);
        let scores = matmul(psi.view(), u.view());
        let mut predicted = matmul(scores.view(), scores.t());
        let range =
            |a: &Array2<f64>| a.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
        let ((lo, hi), (from, to)) = (range(&predicted), range(&target));
        let slope = if hi > lo { (to - from) / (hi - lo) } else { 0.0 };
        predicted.mapv_inplace(|v| from + slope * (v - lo));
        let here = predicted.select(Axis(0), seen).select(Axis(1), seen);
        predicted += target.mean().unwrap_or(0.0) - here.mean().unwrap_or(0.0);
        (predicted, history)
    }

    /// The levels with the least squared error on held-out observed samples; the first levels where there are too few samples for folds.
    fn choose(
        &self,
        kernels: &[ArrayView2<'_, f64>],
        observed: &Mask<Ix2>,
        view: usize,
        seen: &[usize],
    ) -> Result<(f64, f64)> {
        if self.nystrom.len() * self.rank.len() == 1 || seen.len() < 2 * self.folds {
            return Ok((self.nystrom[0], self.rank[0]));
        }
        let mut order = seen.to_vec();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(self.seed ^ 0xf01d));
        let mut best = (f64::INFINITY, self.nystrom[0], self.rank[0]);
        for &level in &self.nystrom {
            let features = self.features(kernels, observed, view, level)?;
            for &rank in &self.rank {
                let mut error = 0.0;
                for fold in 0..self.folds {
                    let part = |held: bool| (0..order.len()).filter(move |k| (k % self.folds == fold) == held);
                    let train: Vec<usize> = part(false).map(|k| order[k]).collect();
                    let (predicted, _) = self.transfer(&features, kernels[view], &train, rank);
                    for i in part(true).map(|k| order[k]) {
                        error += seen.iter().map(|&j| (predicted[[i, j]] - kernels[view][[i, j]]).powi(2)).sum::<f64>();
                    }
                }
                if error < best.0 {
                    best = (error, level, rank);
                }
            }
        }
        Ok((best.1, best.2))
    }

    /// Completes one view from the others. The mask (samples, views) says which samples are available in which view; entries of
    /// missing samples are never read.
    pub fn complete(&self, kernels: &[ArrayView2<'_, f64>], observed: &Mask<Ix2>, view: usize) -> Result<Transferred> {
        self.check()?;
        let flags = observed.flags();
        if kernels.len() < 2 || flags.ncols() != kernels.len() || view >= kernels.len() {
            let why = format!(
                "needs at least two views, a column of the mask for each and the index of one of them; got {} kernels, {} columns, view {view}",
                kernels.len(),
                flags.ncols()
            );
            return Err(Error::parameter("view", why));
        }
        let seen = check(kernels[view], flags.column(view))?;
        let (nystrom, rank) = self.choose(kernels, observed, view, &seen)?;
        let features = self.features(kernels, observed, view, nystrom)?;
        let (predicted, alignment) = self.transfer(&features, kernels[view], &seen, rank);
        let mut completed = predicted.clone();
        for &i in &seen {
            for &j in &seen {
                completed[[i, j]] = kernels[view][[i, j]];
            }
        }
        Ok(Transferred { completed, predicted, alignment, nystrom, rank })
    }
}

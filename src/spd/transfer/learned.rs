//! A Kraus map learned from pairs (source, mapped source), started at recentring.
//!
//! Inputs and outputs are whitened by the means of their domains, so that directions of little power count as much as strong ones,
//! and recentring is the identity there: one operator, where the domains have the same channels. L-BFGS improves it on the loss
//! of `output_loss`, with a penalty on the distance from recentring. A share of the pairs is held out: training stops where their
//! mean squared distance to their images is least, and then all pairs are trained for as many iterations. Where the held-out pairs
//! are mapped no better than by recentring, the result is recentring itself.

use super::output_loss::OutputLoss;
use super::positive_map::PositiveMap;
use super::recentre::Recentring;
use crate::manifold::function::{one, sandwich};
use crate::{Error, InputError, Result, invsqrtm, logm};
use kraus::{MinimiseParams, minimise_watched};
use linalg::random::StandardNormal;
use ndarray::{Array2, Array3, ArrayView3, Axis};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_distr::Distribution;

/// Size of the further operators at the start, against the first.
const SMALL: f64 = 0.05;
/// Training stops when the held-out loss has not fallen for this many iterations.
const PATIENCE: usize = 10;

/// What is minimised over the pairs, in whitened coordinates; formulas in `output_loss`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapLoss {
    /// Squared Frobenius distance.
    Square,
    /// Squared log-Euclidean distance.
    LogEuclidean,
    /// Squared affine-invariant distance.
    AffineInvariant,
}

/// How the map is learned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapParams {
    /// Number of Kraus operators.
    pub rank: usize,
    /// The loss.
    pub loss: MapLoss,
    /// Weight of the distance from recentring, in units of the mean squared distance of the inputs from their mean.
    pub penalty: f64,
    /// Iterations of L-BFGS at most.
    pub iterations: usize,
    /// Share of the pairs that decides when to stop; zero uses all iterations.
    pub held_out: f64,
    /// Seed of the start and of the choice of held-out pairs.
    pub seed: u64,
}

impl Default for MapParams {
    /// One operator: a congruence, as recentring is. On one simulated subject five operators gained 0.5 points with four
    /// classes and lost 0.5 with two; on real covariances of five subjects they lost 1.2 points on average against recentring.
    fn default() -> Self {
        MapParams { rank: 1, loss: MapLoss::LogEuclidean, penalty: 0.1, iterations: 60, held_out: 0.2, seed: 0 }
    }
}

impl MapParams {
    /// Checks the ranges.
    pub fn check(&self) -> Result<()> {
        if self.rank == 0 || self.iterations == 0 {
            return Err(InputError::parameter("rank and iterations", 0.0, "at least 1").into());
        }
        if !(self.penalty >= 0.0 && self.penalty.is_finite()) {
            return Err(InputError::parameter("penalty", self.penalty, "zero or positive").into());
        }
        if !(0.0..0.9).contains(&self.held_out) {
            return Err(InputError::parameter("held_out", self.held_out, "in [0, 0.9[").into());
        }
        Ok(())
    }
}

/// A learned map.
#[derive(Debug, Clone)]
pub struct LearnedMap {
    /// The map between matrices as recorded.
    pub map: PositiveMap,
    /// Mean squared distance between held-out pairs' images and their targets: by recentring, and by the learned map. None
    /// where nothing was held out.
    pub held_out: Option<(f64, f64)>,
    /// Iterations made on all pairs; zero where the map is recentring.
    pub iterations: usize,
    /// Whether the learned map was worse than recentring on held-out pairs, so that this is recentring.
    pub fell_back: bool,
}

impl LearnedMap {
    /// The images of matrices of the source.
    pub fn apply(&self, x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
        self.map.apply(x)
    }
}

/// Learns a map from the pairs `x` (k, p, p) -> `y` (k, q, q). `watch` gets the share of the work done and the loss, and returns
/// whether to go on; a cancelled training is an [`Error::Cancelled`].
pub fn learn_map(
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
    recentring: &Recentring,
    params: &MapParams,
    watch: &mut dyn FnMut(f64, f64) -> bool,
) -> Result<LearnedMap> {
    params.check()?;
    let k = x.dim().0;
    if y.dim().0 != k {
        return Err(InputError::shape("pairs", [k], [y.dim().0]).into());
    }
    let task = Task::new(x, y, recentring, params)?;
    let held = (k as f64 * params.held_out).round() as usize;
    if held == 0 || held >= k {
        let (a, iterations) =
            task.train(&(0..k).collect::<Vec<_>>(), params.iterations, &mut |_, _| Ok(true), watch)?;
        return Ok(LearnedMap { map: task.recorded(&a)?, held_out: None, iterations, fell_back: false });
    }
    let mut order: Vec<usize> = (0..k).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(params.seed));
    let (test, train) = order.split_at(held);
    let start = task.error(&task.first(), test)?;
    let (mut best, mut at, mut now) = (start, 0, 0);
    let mut judge = |a: &[f64], go: bool| -> Result<bool> {
        now += 1;
        let error = task.error(a, test)?;
        if error < best {
            (best, at) = (error, now);
        }
        Ok(go && now < at + PATIENCE)
    };
    let mut halved = |done: f64, loss: f64| watch(0.5 * done, loss);
    task.train(train, params.iterations, &mut judge, &mut halved)?;
    if at == 0 {
        let map = recentring.map().clone();
        return Ok(LearnedMap { map, held_out: Some((start, best)), iterations: 0, fell_back: true });
    }
    let mut rest = |done: f64, loss: f64| watch(0.5 + 0.5 * done, loss);
    let (a, iterations) = task.train(&(0..k).collect::<Vec<_>>(), at, &mut |_, _| Ok(true), &mut rest)?;
    Ok(LearnedMap { map: task.recorded(&a)?, held_out: Some((start, best)), iterations, fell_back: false })
}

/// The pairs in whitened coordinates.
struct Task<'a> {
    params: &'a MapParams,
    x: Array3<f64>,
    y: Array3<f64>,
    /// Y^-1/2 of every pair, for the distances to Y.
    roots: Array3<f64>,
    /// What recentring adds for channels of the target alone, whitened; none where there are none.
    fixed: Option<Array3<f64>>,
    /// The first operator of recentring, whitened: (1, q, p).
    start: Array3<f64>,
    recentring: &'a Recentring,
    /// M_t^1/2 and M_s^-1/2: from whitened operators to those between matrices as recorded.
    back: (Array2<f64>, Array2<f64>),
    /// t of the objective.
    penalty: f64,
}

impl<'a> Task<'a> {
    fn new(
        x: ArrayView3<'_, f64>,
        y: ArrayView3<'_, f64>,
        recentring: &'a Recentring,
        params: &'a MapParams,
    ) -> Result<Self> {
        let (ms, mt) = recentring.means();
        let power = |m, f: fn(f64) -> f64| one("learned map", m, f);
        let (inverse_root, root): (fn(f64) -> f64, fn(f64) -> f64) = (|v| 1.0 / v.sqrt(), f64::sqrt);
        let (ws, wt) = (power(ms, inverse_root)?, power(mt, inverse_root)?);
        let back = (power(mt, root)?, ws.clone());
        let first = linalg::matmul(wt.view(), recentring.map().operators().index_axis(Axis(0), 0));
        let first = linalg::matmul(first.view(), power(ms, root)?.view());
        let fixed = match recentring.map().measured(x) {
            None => None,
            Some(images) => Some(sandwich("learned map", wt.view(), images.view())?),
        };
        let (x, y) = (sandwich("learned map", ws.view(), x)?, sandwich("learned map", wt.view(), y)?);
        let eye = Array2::<f64>::eye(x.dim().1);
        let spread =
            x.outer_iter().map(|m| (&m - &eye).iter().map(|v| v * v).sum::<f64>()).sum::<f64>() / x.dim().0 as f64;
        Ok(Task {
            params,
            x,
            roots: invsqrtm(y.view())?,
            y,
            fixed,
            start: first.insert_axis(Axis(0)),
            recentring,
            back,
            penalty: params.penalty * spread,
        })
    }

    /// Recentring and small further operators.
    fn first(&self) -> Vec<f64> {
        let (_, q, p) = self.start.dim();
        let mut rng = ChaCha8Rng::seed_from_u64(self.params.seed ^ 0x6d61_7073);
        let mut a: Vec<f64> = self.start.iter().copied().collect();
        let scale = SMALL / (p as f64).sqrt();
        a.extend((1..self.params.rank).flat_map(|_| 0..q * p).map(|_| {
            let unit: f64 = StandardNormal.sample(&mut rng);
            scale * unit
        }));
        a
    }

    fn images(&self, a: &[f64], samples: &[usize]) -> Result<Array3<f64>> {
        let (_, q, p) = self.start.dim();
        let a = ArrayView3::from_shape((a.len() / (q * p), q, p), a).map_err(|_| InputError::empty("operators"))?;
        let images = PositiveMap::new(a.to_owned())?.apply(self.x.select(Axis(0), samples).view())?;
        Ok(match &self.fixed {
            Some(fixed) => images + &fixed.select(Axis(0), samples),
            None => images,
        })
    }

    /// Mean squared affine-invariant distance between images and targets; infinite where an image is not positive definite.
    fn error(&self, a: &[f64], samples: &[usize]) -> Result<f64> {
        let mut images = self.images(a, samples)?;
        for (mut image, &k) in images.outer_iter_mut().zip(samples) {
            let root = self.roots.index_axis(Axis(0), k);
            let around = linalg::matmul(linalg::matmul(root, image.view()).view(), root);
            image.assign(&linalg::symmetrise(around.view()));
        }
        match logm(images.view()) {
            Ok(logs) => Ok(logs.iter().map(|v| v * v).sum::<f64>() / samples.len() as f64),
            Err(Error::NotPositiveDefinite { .. }) => Ok(f64::INFINITY),
            Err(e) => Err(e),
        }
    }

    /// L-BFGS on some pairs from the start. `judge` sees each iterate and says whether to go on.
    fn train(
        &self,
        samples: &[usize],
        iterations: usize,
        judge: &mut dyn FnMut(&[f64], bool) -> Result<bool>,
        watch: &mut dyn FnMut(f64, f64) -> bool,
    ) -> Result<(Vec<f64>, usize)> {
        let pick = |a: &Array3<f64>| a.select(Axis(0), samples);
        let fixed = self.fixed.as_ref().map(pick);
        let (x, y, start) = (pick(&self.x), pick(&self.y), self.start.clone());
        let loss = OutputLoss { kind: self.params.loss, x, y, fixed, start, penalty: self.penalty }.prepared()?;
        let (mut failed, mut cancelled, mut done) = (None, false, 0);
        let minimise = MinimiseParams { max_iterations: iterations, ..MinimiseParams::default() };
        let found = minimise_watched(
            |a, gradient| {
                loss.value_and_gradient(a, gradient).unwrap_or_else(|e| {
                    failed = Some(e);
                    f64::NAN
                })
            },
            self.first(),
            &minimise,
            &mut Default::default(),
            |a, value| {
                done += 1;
                cancelled = !watch(done as f64 / iterations as f64, value / samples.len() as f64);
                !cancelled && judge(a, true).unwrap_or(false)
            },
        );
        if cancelled {
            return Err(Error::Cancelled);
        }
        match failed {
            Some(e) => Err(e),
            None => Ok((found.x, found.iterations)),
        }
    }

    /// Whitened operators as operators between matrices as recorded, with what recentring adds.
    fn recorded(&self, a: &[f64]) -> Result<PositiveMap> {
        let (_, q, p) = self.start.dim();
        let a = ArrayView3::from_shape((a.len() / (q * p), q, p), a).map_err(|_| InputError::empty("operators"))?;
        let mut out = Array3::zeros(a.dim());
        for (mut to, a) in out.outer_iter_mut().zip(a.outer_iter()) {
            let left = linalg::matmul(self.back.0.view(), a);
            to.assign(&linalg::matmul(left.view(), self.back.1.view()));
        }
        Ok(self.recentring.map().with_operators(out))
    }
}

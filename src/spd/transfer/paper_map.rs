//! The paper's way to learn the map: Adam on the square loss, from a random start.
//!
//! The fit sees the matrices in other coordinates: C X C and D Y D with symmetric C and D ([`Scaling`]). A Kraus map in these
//! coordinates is a Kraus map of the same rank in the old ones, so the model is the paper's. What changes is the weight that the
//! square loss gives to directions of little power, which the classifier's geometry counts as much as the strong ones.

use super::learned::LearnedMap;
use super::positive_map::PositiveMap;
use crate::manifold::function::one;
use crate::manifold::mean::mean;
use crate::{Error, InputError, MeanParams, Metric, Result, check};
use kraus::backend::Trial;
use kraus::{AdamParams, Fit, Flow, Problem, Session, Solver, Start, Stopping};
use ndarray::{Array2, Array3, ArrayView3};

/// Coordinates in which the map is learned, from the training pairs alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scaling {
    /// As recorded, in units of the mean eigenvalue of the inputs.
    Unit,
    /// C = M^-1/2 with M the Riemannian mean of the inputs, D likewise of the outputs: both clouds lie around the identity.
    #[default]
    Whitened,
}

/// How the map is learned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaperMapParams {
    /// Kraus rank.
    pub rank: usize,
    /// Epochs; the paper's 500 iterations are best read so.
    pub epochs: usize,
    /// Pairs per step.
    pub batch: usize,
    /// Adam's step size.
    pub learning_rate: f64,
    /// Coordinates.
    pub scaling: Scaling,
    /// Seed of the start and of the order of the pairs.
    pub seed: u64,
}

impl Default for PaperMapParams {
    fn default() -> Self {
        PaperMapParams { rank: 20, epochs: 500, batch: 16, learning_rate: 1e-3, scaling: Scaling::default(), seed: 0 }
    }
}

/// Learns a map from the pairs `x` (k, p, p) -> `y` (k, q, q). `watch` gets the share of the work done and the loss, and returns
/// whether to go on.
pub fn learn_paper_map(
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
    params: &PaperMapParams,
    watch: &mut dyn FnMut(f64, f64) -> bool,
) -> Result<LearnedMap> {
    learn_paper_map_by(x, y, params, &mut |problem, trial| {
        let mut cancelled = false;
        let mut each = |now: &kraus::Progress| {
            cancelled = !watch(now.epoch as f64 / now.max as f64, now.loss);
            if cancelled { Flow::Cancel } else { Flow::Continue }
        };
        let mut session = Session { validation: None, watch: Some(&mut each) };
        let fit = trial.adam.fit_with(problem, trial.start, &mut session).map_err(training)?;
        if cancelled { Err(Error::Cancelled) } else { Ok(fit) }
    })
}

/// Trains one model: a problem and how to train on it give a fit.
pub type Trainer<'a> = dyn FnMut(&Problem<'_, f32>, Trial<f32>) -> Result<Fit<f32>> + 'a;

/// As [`learn_paper_map`], with training left to the caller, who may have a GPU.
pub fn learn_paper_map_by(
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
    params: &PaperMapParams,
    train: &mut Trainer<'_>,
) -> Result<LearnedMap> {
    let (p, q) = (check::symmetric("pairs", &x)?, check::symmetric("pairs", &y)?);
    let (source, target) = match params.scaling {
        Scaling::Unit => {
            let unit = x.outer_iter().map(|m| m.diag().sum()).sum::<f64>() / (x.dim().0 * p) as f64;
            (Array2::eye(p) * unit, Array2::eye(q) * unit)
        }
        Scaling::Whitened => {
            let means = MeanParams::default().check()?;
            let centre = |a: ArrayView3<'_, f64>| mean(a, None, Metric::AffineInvariant, &means).map(|m| m.matrix);
            (centre(x)?, centre(y)?)
        }
    };
    let into = |around: &Array2<f64>| one("paper map", around.view(), |v| 1.0 / v.sqrt());
    let (c, d) = (into(&source)?, into(&target)?);
    let back = one("paper map", target.view(), f64::sqrt)?;
    let single = |a: Array3<f64>| a.mapv(|v| v as f32);
    let (x, y) = (single(congruence(&c, x)), single(congruence(&d, y)));
    let problem = Problem::matrices(x.view(), y.view()).map_err(training)?;
    let (stopping, batch, rate) = (Stopping::after(params.epochs), params.batch, params.learning_rate);
    let adam = AdamParams { stopping, batch, rate, seed: params.seed, ..AdamParams::default() };
    let adam = adam.check().map_err(training)?;
    let fit = train(&problem, Trial { adam, start: Start::single(p, q, params.rank, params.seed) })?;
    let [layer] = fit.model.layers() else { return Err(InputError::empty("paper map").into()) };
    let whitened = layer.ops().mapv(f64::from);
    let mut operators = Array3::zeros(whitened.dim());
    for (mut to, a) in operators.outer_iter_mut().zip(whitened.outer_iter()) {
        to.assign(&linalg::matmul(linalg::matmul(back.view(), a).view(), c.view()));
    }
    Ok(LearnedMap { map: PositiveMap::new(operators)?, held_out: None, iterations: params.epochs, fell_back: false })
}

/// C X C for every X, symmetric to the last bit.
fn congruence(c: &Array2<f64>, x: ArrayView3<'_, f64>) -> Array3<f64> {
    let mut out = Array3::zeros(x.dim());
    for (mut to, from) in out.outer_iter_mut().zip(x.outer_iter()) {
        to.assign(&linalg::symmetrise(linalg::matmul(linalg::matmul(c.view(), from).view(), c.view()).view()));
    }
    out
}

fn training(e: impl std::fmt::Display) -> Error {
    Error::Training(e.to_string())
}

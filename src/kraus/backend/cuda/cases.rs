//! Small jobs that together use every path of the trainer, for the self-test and for the tests on the stand-in driver.

use super::device::Scalar;
use crate::backend::{Job, Trial};
use crate::data::problem::Problem;
use crate::error::Error;
use crate::map::KrausMap;
use crate::map::{Architecture, Gamma};
use crate::solvers::adam::AdamParams;
use crate::solvers::{Start, Stopping};
use estimator::Mask;
use ndarray::{Array3, Ix3};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What the inputs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Symmetric matrices.
    Symmetric,
    /// Any matrices, every third one symmetric.
    General,
    /// Matrix units, a fifth of them on the diagonal.
    Units,
    /// Matrix units on the diagonal and symmetric targets.
    Diagonal,
}

/// A dataset and the models of a sweep.
#[derive(Debug, Clone)]
pub struct Case {
    /// Sizes of the stack: p, those between the layers, q.
    pub dims: Vec<usize>,
    /// What the inputs are.
    pub kind: Kind,
    /// Samples.
    pub l: usize,
    /// Samples per step.
    pub batch: usize,
    /// Rank and shuffling seed of each model.
    pub models: Vec<(usize, u64)>,
    /// Gamma between the layers.
    pub gamma: Gamma,
    /// With a mask.
    pub masked: bool,
    /// With a validation set.
    pub held: bool,
    /// Return the best epoch.
    pub keep_best: bool,
    /// The least number of steps of Adam.
    pub steps: usize,
}

impl Case {
    /// One map on symmetric matrices, fifty steps.
    pub fn new((p, q): (usize, usize), l: usize, batch: usize, models: &[(usize, u64)]) -> Self {
        let (dims, models) = (vec![p, q], models.to_vec());
        let (masked, held, keep_best) = (false, false, false);
        Self { dims, kind: Kind::Symmetric, l, batch, models, gamma: Gamma::None, masked, held, keep_best, steps: 50 }
    }

    fn deep(dims: &[usize], l: usize, batch: usize, models: &[(usize, u64)], gamma: Gamma) -> Self {
        Self { dims: dims.to_vec(), gamma, ..Self::new((1, 1), l, batch, models) }
    }

    fn of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    fn units(&self) -> bool {
        matches!(self.kind, Kind::Units | Kind::Diagonal)
    }

    fn masked(self) -> Self {
        Self { masked: true, ..self }
    }

    fn held(self) -> Self {
        Self { held: true, ..self }
    }
}

/// A case for every path, each small enough for the stand-in driver, which runs on the processor.
pub fn cases() -> Vec<(&'static str, Case)> {
    let clamp = Gamma::Clamp(0.2);
    let one = [(2, 1)];
    let clamp_of = |dims: &[usize], l: usize| Case::deep(dims, l, 2, &one, clamp);
    let mixed = [(3, 1), (5, 2), (4, 1), (2, 3)];
    vec![
        ("one of everything", Case::new((1, 1), 1, 1, &[(1, 0)])),
        ("q < p, batch divides l", Case::new((6, 3), 20, 5, &one)),
        ("q > p, batch does not divide l", Case::new((3, 7), 23, 8, &one)),
        ("rank 1", Case::new((5, 4), 19, 6, &[(1, 2)])),
        ("rank 100", Case::new((4, 3), 12, 5, &[(100, 2)])),
        ("batch larger than l", Case::new((5, 2), 7, 16, &[(3, 0)])),
        ("several models, one order", Case::new((5, 3), 17, 4, &[(2, 9), (2, 9), (2, 9)])),
        ("several models, several orders", Case::new((5, 3), 17, 4, &[(2, 1), (2, 2), (2, 3)])),
        ("mixed ranks, one order", Case::new((4, 5), 14, 4, &[(3, 7), (2, 7), (2, 7)])),
        ("mixed ranks, several orders", Case::new((4, 5), 14, 4, &mixed)),
        ("mask", Case::new((4, 4), 21, 6, &[(2, 3)]).masked()),
        ("mask, validation, several models", Case::new((6, 4), 33, 16, &[(2, 3), (3, 4)]).masked().held()),
        ("validation, best epoch", Case { keep_best: true, ..Case::new((5, 3), 18, 7, &[(4, 1), (3, 1)]).held() }),
        ("wider than a block of threads", Case { steps: 10, ..Case::new((17, 18), 9, 5, &one) }),
        ("more errors than threads", Case { steps: 3, ..Case::new((2, 42), 6, 5, &[(1, 1)]) }),
        ("not symmetric", Case::new((5, 4), 18, 5, &one).of(Kind::General)),
        ("not symmetric, mask, mixed ranks", Case::new((4, 3), 15, 4, &mixed).of(Kind::General).masked().held()),
        ("matrix units", Case::new((6, 3), 22, 4, &one).of(Kind::Units)),
        ("matrix units, mask, mixed ranks", Case::new((5, 4), 17, 4, &mixed).of(Kind::Units).masked().held()),
        ("matrix units on the diagonal", Case::deep(&[5, 4, 3], 9, 4, &one, Gamma::None).of(Kind::Diagonal)),
        ("depth 2", Case::deep(&[5, 4, 3], 16, 5, &one, Gamma::None)),
        ("depth 2, mixed ranks, mask", Case::deep(&[4, 6, 3], 14, 4, &mixed, Gamma::None).masked().held()),
        ("depth 3, not symmetric", Case::deep(&[4, 3, 5, 2], 13, 4, &one, Gamma::None).of(Kind::General)),
        ("depth 2, matrix units", Case::deep(&[6, 4, 3], 20, 4, &[(3, 1)], Gamma::None).of(Kind::Units).masked()),
        ("clamp of eigenvalues", Case::deep(&[5, 4, 3], 16, 5, &one, clamp)),
        ("clamp, mixed ranks, mask, validation", Case::deep(&[5, 6, 3], 14, 4, &mixed, clamp).masked().held()),
        ("clamp, odd sizes, depth 3", Case::deep(&[4, 5, 3, 4], 11, 4, &[(2, 5)], clamp)),
        ("clamp of both kinds", Case::deep(&[6, 4, 3], 16, 5, &[(2, 1), (2, 2)], clamp).of(Kind::General).held()),
        ("clamp, matrix units, mask", Case::deep(&[6, 3, 4], 22, 4, &[(4, 1), (5, 2)], clamp).of(Kind::Units).masked()),
        ("clamp, larger", Case { steps: 6, ..Case::deep(&[26, 25, 4], 6, 3, &[(2, 1)], clamp) }),
        ("clamp, larger, not symmetric", Case { steps: 4, ..clamp_of(&[26, 25, 4], 4).of(Kind::General) }),
        ("clamp of 1 x 1", Case::deep(&[3, 1, 2], 12, 4, &[(2, 1)], Gamma::Clamp(0.5))),
        ("clamp that does nothing", Case::deep(&[4, 1, 3], 12, 4, &[(2, 1)], Gamma::Clamp(0.0)).of(Kind::General)),
    ]
}

fn random<T: Scalar>(rng: &mut ChaCha8Rng, l: usize, n: usize, symmetric: impl Fn(usize) -> bool) -> Array3<T> {
    let mut a = Array3::from_shape_simple_fn((l, n, n), || T::of(rng.random_range(-1.0..1.0)));
    for s in (0..l).filter(|&s| symmetric(s)) {
        for i in 0..n {
            for j in 0..i {
                a[(s, i, j)] = a[(s, j, i)];
            }
        }
    }
    a
}

/// Inputs, targets and a mask; `x` is empty for matrix units.
struct Set<T> {
    x: Array3<T>,
    units: Vec<(usize, usize)>,
    y: Array3<T>,
    mask: Mask<Ix3>,
}

impl<T: Scalar> Set<T> {
    fn new(case: &Case, l: usize, rng: &mut ChaCha8Rng) -> Result<Self, Error> {
        let (p, q) = (case.dims[0], case.dims[case.dims.len() - 1]);
        let truth = KrausMap::<T>::glorot(2, q, p, 3)?;
        let all = matches!(case.kind, Kind::Symmetric | Kind::Diagonal);
        let diagonal = |s: usize| s.is_multiple_of(5) || case.kind == Kind::Diagonal;
        let x = random(rng, l, p, |s| all || s % 3 == 0);
        let row = |s: usize| (s * 7 + 3) % p;
        let units = (0..l).map(|s| (row(s), if diagonal(s) { row(s) } else { (s * 3 + 1) % p })).collect::<Vec<_>>();
        let noise = random::<T>(rng, l, q, |_| all).mapv(|e| e * T::of(0.1));
        let y =
            if case.kind == Kind::Units { truth.apply_units(&units)? } else { truth.apply_batch(x.view())? } + noise;
        let mask = random::<T>(rng, l, q, |_| all).mapv(|m| m.as_f64() > -0.3);
        Ok(Self { x, units, y, mask: Mask::new(mask) })
    }

    fn problem(&self, case: &Case) -> Result<Problem<'_, T>, Error> {
        let problem = match case.units() {
            true => Problem::units(case.dims[0], self.units.clone(), self.y.view())?,
            false => Problem::matrices(self.x.view(), self.y.view())?,
        };
        if case.masked { problem.with_mask(&self.mask) } else { Ok(problem) }
    }
}

/// Calls `then` with the job of a case.
pub fn with_job<T: Scalar, R>(case: &Case, then: impl FnOnce(&Job<'_, T>) -> R) -> Result<R, Error> {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let (train, held) = (Set::new(case, case.l, &mut rng)?, Set::new(case, case.l / 2 + 1, &mut rng)?);
    let (train, held) = (train.problem(case)?, held.problem(case)?);
    let epochs = case.steps.div_ceil(case.l.div_ceil(case.batch));
    let trial = |(index, &(rank, seed)): (usize, &(usize, u64))| {
        let params = AdamParams {
            stopping: Stopping::after(epochs),
            batch: case.batch,
            rate: 1e-3 * (index + 1) as f64,
            beta1: 0.9 - 0.05 * index as f64,
            beta2: 0.999 - 0.01 * index as f64,
            epsilon: 1e-7 * (index + 1) as f64,
            seed,
            keep_best: case.keep_best,
            ..AdamParams::default()
        };
        let arch = Architecture::deep(&case.dims, rank, case.gamma);
        Ok(Trial { adam: params.check()?, start: Start::Random { arch, seed: 11 + index as u64 } })
    };
    let trials = case.models.iter().enumerate().map(trial).collect::<Result<_, Error>>()?;
    Ok(then(&Job { problem: &train, validation: case.held.then_some(&held), trials, tf32: false }))
}

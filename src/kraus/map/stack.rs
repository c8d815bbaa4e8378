//! Stacks: maps applied one after the other, X -> Phi_L(Gamma(... Gamma(Phi_1(X)))), with Gamma between them.
//!
//! Gamma clamps singular values from below, U max(S, eps) V^T, as the released code does; on symmetric positive
//! semidefinite matrices that is the eigenvalue clamp. Without Gamma a stack is again one Kraus map, of higher rank.

use crate::data::problem::{Inputs, Problem};
use crate::error::{Error, InputError, Result};
use crate::map::KrausMap;
use crate::map::gamma::clamp_batch;
use crate::tolerances;
use linalg::Real;
use ndarray::{Array3, ArrayView3, Zip};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The function between two layers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Gamma {
    /// Nothing: the stack is linear.
    #[default]
    None,
    /// Singular values below this are raised to it (eigenvalues where the input is symmetric).
    Clamp(f64),
}

/// The shape of a stack: sizes p = d_0, d_1, ..., d_L = q and one rank per layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Architecture {
    /// Sizes of the matrices, from the input to the output: one more than there are layers.
    pub dims: Vec<usize>,
    /// Rank of each layer.
    pub ranks: Vec<usize>,
    /// The function between the layers.
    pub gamma: Gamma,
}

impl Architecture {
    /// One map from p x p to q x q of rank r.
    pub fn single(p: usize, q: usize, rank: usize) -> Self {
        Self { dims: vec![p, q], ranks: vec![rank], gamma: Gamma::None }
    }

    /// A stack through the given sizes, every layer of the same rank.
    pub fn deep(dims: &[usize], rank: usize, gamma: Gamma) -> Self {
        Self { dims: dims.to_vec(), ranks: vec![rank; dims.len().saturating_sub(1)], gamma }
    }

    /// Refuses fewer than one layer, rank 0, empty sizes and a clamp that is not a finite value >= 0.
    pub fn check(&self) -> Result<()> {
        if self.dims.len() < 2 || self.ranks.len() + 1 != self.dims.len() {
            let expected = vec![self.ranks.len().max(1) + 1];
            return Err(InputError::shape("sizes of the stack", expected, [self.dims.len()]).into());
        }
        if self.ranks.contains(&0) {
            return Err(Error::RankZero);
        }
        if self.dims.contains(&0) {
            return Err(InputError::empty("layer").into());
        }
        check_gamma(self.gamma)
    }
}

fn check_gamma(gamma: Gamma) -> Result<()> {
    match gamma {
        Gamma::Clamp(eps) if !(eps.is_finite() && eps >= 0.0) => {
            Err(InputError::parameter("clamp", eps, "a finite value >= 0").into())
        }
        _ => Ok(()),
    }
}

/// Maps applied in order, the first to the input. There is at least one, each takes what the one before gives, and the clamp of
/// Gamma is a finite value >= 0: the constructors check it, and nothing outside can change it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stack<T> {
    layers: Vec<KrausMap<T>>,
    gamma: Gamma,
}

impl<T: Real> From<KrausMap<T>> for Stack<T> {
    fn from(map: KrausMap<T>) -> Self {
        Self { layers: vec![map], gamma: Gamma::None }
    }
}

impl<T: Real> Stack<T> {
    /// A stack whose layers fit together.
    pub fn new(layers: Vec<KrausMap<T>>, gamma: Gamma) -> Result<Self> {
        if layers.is_empty() {
            return Err(InputError::empty("stack").into());
        }
        if let Some(w) = layers.windows(2).find(|w| w[0].q() != w[1].p()) {
            let expected = vec![w[1].rank(), w[1].q(), w[0].q()];
            return Err(InputError::shape("layer", expected, w[1].ops().shape()).into());
        }
        check_gamma(gamma)?;
        Ok(Self { layers, gamma })
    }

    /// Glorot-initialised layers, all from one seed.
    pub fn glorot(arch: &Architecture, seed: u64) -> Result<Self> {
        arch.check()?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let shapes = arch.dims.windows(2).zip(&arch.ranks);
        let layers = shapes.map(|(d, &r)| KrausMap::glorot_from(r, d[1], d[0], &mut rng)).collect::<Result<_>>()?;
        Self::new(layers, arch.gamma)
    }

    /// The layers, first applied first. Each takes what the one before gives.
    pub fn layers(&self) -> &[KrausMap<T>] {
        &self.layers
    }

    /// The layers, owned.
    pub fn into_layers(self) -> Vec<KrausMap<T>> {
        self.layers
    }

    /// The function between the layers.
    pub fn gamma(&self) -> Gamma {
        self.gamma
    }

    /// One layer, whose parameters a solver moves.
    pub(crate) fn layer_mut(&mut self, index: usize) -> &mut KrausMap<T> {
        &mut self.layers[index]
    }

    /// The same layers with nothing between them.
    pub fn without_gamma(self) -> Self {
        Self { gamma: Gamma::None, ..self }
    }

    /// The same stack with f64 parameters.
    pub fn to_f64(&self) -> Stack<f64> {
        Stack { layers: self.layers.iter().map(KrausMap::to_f64).collect(), gamma: self.gamma }
    }

    /// Sizes and ranks.
    pub fn architecture(&self) -> Architecture {
        let dims = self.layers.first().map(KrausMap::p).into_iter().chain(self.layers.iter().map(KrausMap::q));
        Architecture {
            dims: dims.collect(),
            ranks: self.layers.iter().map(KrausMap::rank).collect(),
            gamma: self.gamma,
        }
    }

    /// Rows of the input.
    pub fn p(&self) -> usize {
        self.layers[0].p() // `new` refuses empty stacks
    }

    /// Rows of the output.
    pub fn q(&self) -> usize {
        self.layers[self.layers.len() - 1].q() // as above
    }

    /// Number of layers.
    pub fn depth(&self) -> usize {
        self.layers.len()
    }

    /// Number of parameters.
    pub fn len(&self) -> usize {
        self.layers.iter().map(|l| l.ops_slice().len()).sum()
    }

    /// Never true: a stack has at least one parameter.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All parameters one after the other: layer, k, a, i.
    pub fn to_vec(&self) -> Vec<T> {
        self.layers.iter().flat_map(|l| l.ops_slice().iter().copied()).collect()
    }

    /// Sets all parameters in the order of [`to_vec`](Self::to_vec).
    ///
    /// # Panics
    /// If the length differs from [`len`](Self::len): a programming error.
    pub fn set(&mut self, params: &[T]) {
        assert_eq!(params.len(), self.len(), "number of parameters");
        let mut rest = params;
        for layer in &mut self.layers {
            let (now, later) = rest.split_at(layer.ops_slice().len());
            layer.ops_mut().copy_from_slice(now);
            rest = later;
        }
    }

    /// The outputs for matrices (l, p, p): (l, q, q).
    pub fn apply_batch(&self, x: ArrayView3<'_, T>) -> Result<Array3<T>> {
        let symmetric: Vec<bool> = match self.gamma {
            Gamma::Clamp(_) if self.layers.len() > 1 => {
                x.outer_iter().map(|m| linalg::is_symmetric(m, tolerances::symmetric::<T>())).collect()
            }
            // Only the clamp between two layers reads it.
            _ => Vec::new(),
        };
        self.apply_rest(self.layers[0].apply_batch(x)?, &symmetric)
    }

    /// The outputs for matrix units E_ij: (l, q, q).
    pub fn apply_units(&self, units: &[(usize, usize)]) -> Result<Array3<T>> {
        let symmetric = units.iter().map(|(i, j)| i == j).collect::<Vec<_>>();
        self.apply_rest(self.layers[0].apply_units(units)?, &symmetric)
    }

    /// The layers after the first, and Gamma before each of them.
    fn apply_rest(&self, mut y: Array3<T>, symmetric: &[bool]) -> Result<Array3<T>> {
        for layer in &self.layers[1..] {
            if let Gamma::Clamp(eps) = self.gamma {
                clamp_batch(&mut y, eps, symmetric)?;
            }
            y = layer.apply_batch(y.view())?;
        }
        Ok(y)
    }

    /// The outputs on the inputs of a problem.
    pub fn predict(&self, problem: &Problem<'_, T>) -> Result<Array3<T>> {
        match problem.inputs() {
            Inputs::Matrices(x) => self.apply_batch(x.view()),
            Inputs::Units { pairs, .. } => self.apply_units(pairs),
        }
    }

    /// The mean of squared (masked) errors over all entries, as Keras' `mse`.
    pub fn mse(&self, problem: &Problem<'_, T>) -> Result<f64> {
        let mut e = self.predict(problem)?;
        if e.dim() != problem.targets().dim() {
            let expected = problem.targets().shape().to_vec();
            return Err(InputError::shape("outputs of the stack", expected, e.shape()).into());
        }
        Zip::from(&mut e).and(problem.targets()).for_each(|e, &y| *e -= y);
        if let Some(mask) = problem.mask() {
            Zip::from(&mut e).and(mask).for_each(|e, &m| *e *= m);
        }
        Ok(e.iter().map(|v| v.as_f64() * v.as_f64()).sum::<f64>() / e.len() as f64)
    }
}

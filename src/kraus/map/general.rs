//! The general model of the paper: Phi(X) = tr_m(A X B^T) with A, B in R^{qm x p} free (equation of definition 2).
//!
//! With A_j in R^{q x p} the rows a m + j of A, Phi(X) = sum_{j=1..m} A_j X B_j^T: any linear map for m large enough, not
//! only completely positive ones. B = A gives the Kraus map. Parameters stay in the paper's layout: there B X^T, read
//! as (q, m p), is the factor of Phi(X) = A_w (B X^T)_w^T, so no product needs a permutation.

use crate::data::problem::{Inputs, Problem};
use crate::error::{Error, FitError, InputError, Result, check_finite};
use crate::map::KrausMap;
use linalg::{Real, gemm};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, ArrayViewMut2, Axis, s};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Samples per product.
const GROUP: usize = 32;
/// The samples are cut into at most this many parts, whatever the number of threads, and each part gives a partial gradient.
const PARTS: usize = 16;

/// Phi(X) = tr_m(A X B^T), a linear map from p x p to q x q matrices.
///
/// ```
/// use kraus::GeneralMap;
/// use ndarray::array;
/// // q = 1: tr(A X B^T), here with A = I and B = I the trace.
/// let eye = ndarray::Array2::<f64>::eye(2);
/// let map = GeneralMap::new(eye.clone(), eye, 1).unwrap();
/// let x = array![[[3.0, 1.0], [2.0, 4.0]]];
/// assert_eq!(map.apply_batch(x.view()).unwrap(), array![[[7.0]]]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GeneralMap<T> {
    a: Array2<T>,
    b: Array2<T>,
    q: usize,
}

impl<T: Real> GeneralMap<T> {
    /// From A and B, both (q m, p), with row a m + j holding row a of the j-th operator.
    pub fn new(a: Array2<T>, b: Array2<T>, q: usize) -> Result<Self> {
        let (rows, p) = a.dim();
        if b.dim() != (rows, p) {
            return Err(InputError::shape("B", [rows, p], b.shape()).into());
        }
        if rows == 0 {
            return Err(Error::RankZero);
        }
        if q == 0 || p == 0 || rows % q != 0 {
            return Err(InputError::shape("A", [q, rows / q.max(1), p], [rows, p]).into());
        }
        for (what, m) in [("A", &a), ("B", &b)] {
            check_finite(what, m.view().insert_axis(Axis(0)))?;
        }
        let standard = |m: Array2<T>| m.as_standard_layout().into_owned();
        Ok(Self { a: standard(a), b: standard(b), q })
    }

    /// Uniform in +-sqrt(6 / (m q + m p)), as a Kraus map of rank m, A and B independent.
    pub fn glorot(m: usize, q: usize, p: usize, seed: u64) -> Result<Self> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let limit = (6.0 / (m * q + m * p).max(1) as f64).sqrt();
        let mut draw = || T::of((2.0 * rng.random::<f64>() - 1.0) * limit);
        let a = Array2::from_shape_simple_fn((q * m, p), &mut draw);
        let b = Array2::from_shape_simple_fn((q * m, p), &mut draw);
        Self::new(a, b, q)
    }

    /// A, (q m, p).
    pub fn a(&self) -> ArrayView2<'_, T> {
        self.a.view()
    }

    /// B, (q m, p).
    pub fn b(&self) -> ArrayView2<'_, T> {
        self.b.view()
    }

    /// Rows of the input, p.
    pub fn p(&self) -> usize {
        self.a.ncols()
    }

    /// Rows of the output, q.
    pub fn q(&self) -> usize {
        self.q
    }

    /// The dimension m that the partial trace removes.
    pub fn m(&self) -> usize {
        self.a.nrows() / self.q
    }

    /// All parameters: A row by row, then B.
    pub fn to_vec(&self) -> Vec<T> {
        self.a.iter().chain(&self.b).copied().collect()
    }

    /// Sets all parameters in the order of [`to_vec`](Self::to_vec).
    ///
    /// # Panics
    /// If the length differs: a programming error.
    pub fn set(&mut self, params: &[T]) {
        assert_eq!(params.len(), 2 * self.a.len(), "number of parameters");
        let places = self.a.iter_mut().chain(self.b.iter_mut());
        places.zip(params).for_each(|(place, v)| *place = *v);
    }

    /// Whether all parameters are finite.
    pub fn is_finite(&self) -> bool {
        self.a.iter().chain(&self.b).all(|v| num_traits::Float::is_finite(*v))
    }

    /// Phi(X_s) for a batch (l, p, p); result (l, q, q).
    pub fn apply_batch(&self, x: ArrayView3<'_, T>) -> Result<Array3<T>> {
        let (l, p, q) = (x.dim().0, self.p(), self.q);
        if x.dim() != (l, p, p) {
            return Err(InputError::shape("inputs", [l, p, p], x.shape()).into());
        }
        let mut y = Array3::zeros((l, q, q));
        let mut t = Array2::zeros(self.a.dim());
        for (x, out) in x.outer_iter().zip(y.outer_iter_mut()) {
            gemm(T::of(1.0), self.b.view(), x.t(), T::of(0.0), t.view_mut());
            gemm(T::of(1.0), self.wide(self.a.view()), self.wide(t.view()).reversed_axes(), T::of(0.0), out);
        }
        Ok(y)
    }

    /// (q m, p) read as (q, m p).
    fn wide<'v>(&self, v: ArrayView2<'v, T>) -> ArrayView2<'v, T> {
        let shape = (self.q, v.len() / self.q);
        v.into_shape_with_order(shape).expect("standard layout") // every array here is allocated in that layout
    }

    /// Mean of squared (masked) errors over all entries.
    pub fn mse(&self, problem: &Problem<'_, T>) -> Result<f64> {
        self.check_fits(problem)?;
        let mut unused = vec![T::of(0.0); 2 * self.a.len()];
        Ok(self.loss_gradient(problem, &mut unused))
    }

    /// Refuses a problem of other sizes.
    pub fn check_fits(&self, problem: &Problem<'_, T>) -> Result<()> {
        let (expected, got) = (vec![problem.p(), problem.q()], vec![self.p(), self.q]);
        if expected == got { Ok(()) } else { Err(InputError::shape("general map (p, q)", expected, got).into()) }
    }

    /// The loss and its gradient in the order of [`to_vec`](Self::to_vec):
    /// with D = Phi(X) - Y, dA_j = (2/N) sum D B_j X^T and dB_j = (2/N) sum D^T A_j X.
    pub fn loss_gradient(&self, problem: &Problem<'_, T>, gradient: &mut [T]) -> f64 {
        let all: Vec<usize> = (0..problem.len()).collect();
        self.batch_gradient(problem, &all, gradient)
    }

    /// [`loss_gradient`](Self::loss_gradient) over some samples only.
    pub fn batch_gradient(&self, problem: &Problem<'_, T>, samples: &[usize], gradient: &mut [T]) -> f64 {
        let step = samples.len().div_ceil(PARTS).max(GROUP);
        let chunks: Vec<&[usize]> = samples.chunks(step).collect();
        let parts: Vec<(f64, Array2<T>, Array2<T>)> = chunks.par_iter().map(|c| self.part(problem, c)).collect();
        gradient.fill(T::of(0.0));
        let mut loss = 0.0;
        for (value, a, b) in &parts {
            loss += value;
            gradient.iter_mut().zip(a.iter().chain(b)).for_each(|(g, v)| *g += *v);
        }
        let n = (samples.len() * self.q * self.q) as f64;
        gradient.iter_mut().for_each(|g| *g *= T::of(2.0 / n));
        loss / n
    }

    /// Sum of squared errors and the two sums of the gradient over some samples.
    fn part(&self, problem: &Problem<'_, T>, samples: &[usize]) -> (f64, Array2<T>, Array2<T>) {
        let (one, zero, p, q, mp) = (T::of(1.0), T::of(0.0), self.p(), self.q, self.m() * self.p());
        let (mut ga, mut gb) = (Array2::zeros((q, mp)), Array2::zeros((q, mp)));
        let mut t = Array2::zeros((GROUP * q, mp));
        let (mut d, mut turned) = (Array2::zeros((GROUP * q, q)), Array2::zeros((GROUP * q, q)));
        let mut unit = Array2::zeros((p, p));
        let mut loss = 0.0;
        for group in samples.chunks(GROUP) {
            let n = group.len();
            let (mut t, mut d, mut turned) =
                (t.slice_mut(s![..n * q, ..]), d.slice_mut(s![..n * q, ..]), turned.slice_mut(s![..n * q, ..]));
            let mut each = |left: &Array2<T>, transposed: bool, t: &mut ArrayViewMut2<'_, T>| {
                for i in 0..n {
                    let rows = t.slice_mut(s![i * q..(i + 1) * q, ..]);
                    let out = rows.into_shape_with_order(left.dim()).expect("whole rows of a standard array");
                    match problem.inputs() {
                        Inputs::Matrices(x) => {
                            let x = x.matrix(group[i]);
                            gemm(one, left.view(), if transposed { x.reversed_axes() } else { x }, zero, out);
                        }
                        Inputs::Units { pairs, .. } => {
                            let (i, j) = pairs[group[i]];
                            let at = if transposed { (j, i) } else { (i, j) };
                            unit[at] = one;
                            gemm(one, left.view(), unit.view(), zero, out);
                            unit[at] = zero;
                        }
                    }
                }
            };
            each(&self.b, true, &mut t);
            // Row (s, c) holds column c of Phi(X_s).
            gemm(one, t.view(), self.wide(self.a.view()).reversed_axes(), zero, d.view_mut());
            for i in 0..n {
                let y = problem.targets();
                let y = y.index_axis(Axis(0), group[i]);
                for c in 0..q {
                    for a in 0..q {
                        let seen = problem.mask().is_none_or(|m| m[[group[i], a, c]] != zero);
                        let e = if seen { d[[i * q + c, a]] - y[[a, c]] } else { zero };
                        d[[i * q + c, a]] = e;
                        turned[[i * q + a, c]] = e;
                        loss += e.as_f64() * e.as_f64();
                    }
                }
            }
            gemm(one, d.t(), t.view(), one, ga.view_mut());
            each(&self.a, false, &mut t);
            gemm(one, turned.t(), t.view(), one, gb.view_mut());
        }
        (loss, ga, gb)
    }

    /// The Kraus map, where A = B.
    pub fn to_kraus(&self) -> std::result::Result<KrausMap<T>, FitError> {
        if self.a != self.b {
            let why = "A and B differ, so it is not given as a Kraus map".into();
            return Err(FitError::Unsupported { solver: "conversion", why });
        }
        Ok(KrausMap::from_stinespring(self.a.view(), self.m())?)
    }
}

impl<T: Real> From<&KrausMap<T>> for GeneralMap<T> {
    /// A = B = the Stinespring matrix of the map.
    fn from(map: &KrausMap<T>) -> Self {
        let a = map.stinespring();
        Self { b: a.clone(), a, q: map.q() }
    }
}

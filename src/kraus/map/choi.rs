//! The Choi matrix of a map: the p x p grid of q x q blocks Phi(E_ij).
//!
//! With w_k the columns of A_k stacked, C = sum_k w_k w_k^T. A linear map is completely positive exactly when its Choi
//! matrix is positive semidefinite, and the least number of Kraus operators is its rank.
//!
//! Symmetric inputs show only half of it: Phi(E_ij) + Phi(E_ji), that is, C averaged with its partial transpose. Two
//! Kraus families that agree there are the same model for symmetric data: compare maps, not operators.

use crate::error::{Error, InputError, Result};
use crate::map::KrausMap;
use crate::tolerances;
use linalg::{Real, eigh, gemm, svd};
use ndarray::{Array2, Array3, ArrayView2, s};
use num_traits::Float;

/// A Choi matrix with its block sizes; any linear map, completely positive or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Choi<T> {
    p: usize,
    q: usize,
    matrix: Array2<T>,
}

/// How many operators to keep of a Choi matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Truncation {
    /// The leading eigenvectors, exactly this many (zero operators where the Choi matrix has lower rank).
    Rank(usize),
    /// Those with eigenvalues above this share of the largest.
    Above(f64),
}

impl<T: Real> Choi<T> {
    /// A (p q) x (p q) matrix read as a p x p grid of q x q blocks.
    pub fn new(p: usize, q: usize, matrix: Array2<T>) -> Result<Self> {
        if p == 0 || q == 0 {
            return Err(InputError::empty("Choi matrix").into());
        }
        if matrix.dim() != (p * q, p * q) {
            return Err(InputError::shape("Choi matrix", [p * q; 2], matrix.shape()).into());
        }
        Ok(Self { p, q, matrix })
    }

    /// The Choi matrix of a Kraus map.
    pub fn of(map: &KrausMap<T>) -> Self {
        let (p, q) = (map.p(), map.q());
        let w = stacked(map);
        let mut matrix = Array2::zeros((p * q, p * q));
        gemm(T::of(1.0), w.view(), w.t(), T::of(0.0), matrix.view_mut());
        Self { p, q, matrix }
    }

    /// Rows of the input, p.
    pub fn p(&self) -> usize {
        self.p
    }

    /// Rows of the output, q.
    pub fn q(&self) -> usize {
        self.q
    }

    /// The whole (p q) x (p q) matrix.
    pub fn matrix(&self) -> ArrayView2<'_, T> {
        self.matrix.view()
    }

    /// The block Phi(E_ij), q x q.
    pub fn block(&self, i: usize, j: usize) -> ArrayView2<'_, T> {
        let q = self.q;
        self.matrix.slice(s![i * q..(i + 1) * q, j * q..(j + 1) * q])
    }

    /// Phi(X) = sum_ij X_ij C_ij of the map this matrix stands for.
    pub fn apply(&self, x: ArrayView2<'_, T>) -> Result<Array2<T>> {
        if x.dim() != (self.p, self.p) {
            return Err(InputError::shape("input", [self.p; 2], x.shape()).into());
        }
        let mut y = Array2::zeros((self.q, self.q));
        for ((i, j), &v) in x.indexed_iter() {
            y.scaled_add(v, &self.block(i, j));
        }
        Ok(y)
    }

    /// The part that symmetric inputs determine: blocks (C_ij + C_ji) / 2.
    pub fn symmetric_part(&self) -> Self {
        let mut out = self.clone();
        for i in 0..self.p {
            for j in 0..self.p {
                let mean = (&self.block(i, j) + &self.block(j, i)).mapv(|v| v * T::of(0.5));
                let q = self.q;
                out.matrix.slice_mut(s![i * q..(i + 1) * q, j * q..(j + 1) * q]).assign(&mean);
            }
        }
        out
    }

    /// Smallest and largest eigenvalue; refuses a matrix that is not symmetric.
    pub fn spectrum(&self) -> Result<(f64, f64)> {
        let e = self.eigen()?;
        Ok((e.values[0].as_f64(), e.values[e.values.len() - 1].as_f64()))
    }

    /// Whether the map is completely positive: symmetric, and no eigenvalue below -tol times the largest magnitude.
    pub fn is_completely_positive(&self, tol: f64) -> Result<bool> {
        if !linalg::is_symmetric(self.matrix.view(), tol) {
            return Ok(false);
        }
        let (min, max) = self.spectrum()?;
        Ok(min >= -tol * max.abs().max(min.abs()))
    }

    /// Kraus operators from the eigenvectors: A_k = sqrt(lambda_k) times the eigenvector unstacked, largest first.
    ///
    /// [`Truncation::Rank`] takes the nearest map of that rank; [`Truncation::Above`] refuses eigenvalues below minus its share.
    pub fn to_kraus(&self, keep: Truncation) -> Result<KrausMap<T>> {
        let e = self.eigen()?;
        let n = e.values.len();
        let (min, max) = (e.values[0].as_f64(), e.values[n - 1].as_f64());
        let rank = match keep {
            Truncation::Rank(r) => r,
            Truncation::Above(tol) if min < -tol * max.abs().max(min.abs()) => {
                return Err(Error::NotCompletelyPositive { min, max });
            }
            Truncation::Above(tol) => e.values.iter().filter(|v| v.as_f64() > tol * max).count().max(1),
        };
        let mut ops = Array3::zeros((rank, self.q, self.p));
        for k in 0..rank.min(n) {
            let col = n - 1 - k;
            let scale = Float::sqrt(Float::max(e.values[col], T::of(0.0)));
            let v = e.vectors.column(col);
            ops.slice_mut(s![k, .., ..])
                .assign(&Array2::from_shape_fn((self.q, self.p), |(a, i)| scale * v[i * self.q + a]));
        }
        KrausMap::new(ops)
    }

    fn eigen(&self) -> Result<linalg::Eigh<T>> {
        if !linalg::is_symmetric(self.matrix.view(), tolerances::promised_symmetric::<T>()) {
            return Err(InputError::not_symmetric("Choi matrix", 0).into());
        }
        Ok(eigh(self.matrix.view())?)
    }
}

impl<T: Real> KrausMap<T> {
    /// The Choi matrix of this map.
    pub fn choi(&self) -> Choi<T> {
        Choi::of(self)
    }

    /// The same map with operators orthogonal to each other, largest first, zero operators dropped, and the entry of
    /// largest magnitude of each positive. At most p q operators.
    pub fn canonical(&self) -> Result<Self> {
        let (p, q) = (self.p(), self.q());
        let d = svd(stacked(self).view())?;
        let floor = d.s[0] * T::epsilon() * T::of((p * q) as f64);
        let rank = d.s.iter().filter(|s| **s > floor).count().max(1);
        let mut ops = Array3::zeros((rank, q, p));
        for (k, mut op) in ops.outer_iter_mut().enumerate() {
            let u = d.u.column(k);
            let peak = u.iter().copied().fold(T::of(0.0), |m, v| if Float::abs(v) > Float::abs(m) { v } else { m });
            let scale = if peak < T::of(0.0) { -d.s[k] } else { d.s[k] };
            op.assign(&Array2::from_shape_fn((q, p), |(a, i)| scale * u[i * q + a]));
        }
        Self::new(ops)
    }

    /// ||C - C'||_F / ||C||_F over all inputs: 0 exactly when the maps agree on every matrix.
    pub fn distance(&self, other: &Self) -> Result<f64> {
        self.same_shape(other)?;
        Ok(relative(&self.choi(), &other.choi()))
    }

    /// The same on symmetric inputs only: 0 exactly when the maps agree on every symmetric matrix.
    pub fn distance_on_symmetric(&self, other: &Self) -> Result<f64> {
        self.same_shape(other)?;
        Ok(relative(&self.choi().symmetric_part(), &other.choi().symmetric_part()))
    }

    fn same_shape(&self, other: &Self) -> Result<()> {
        if (self.p(), self.q()) == (other.p(), other.q()) {
            return Ok(());
        }
        let expected = vec![other.rank(), self.q(), self.p()];
        Err(InputError::shape("map to compare", expected, other.ops().shape()).into())
    }
}

/// Columns w_k with w_k[i q + a] = A_k[a, i]: shape (p q, r).
fn stacked<T: Real>(map: &KrausMap<T>) -> Array2<T> {
    let (r, q, p) = map.ops().dim();
    Array2::from_shape_fn((p * q, r), |(row, k)| map.ops()[[k, row % q, row / q]])
}

fn relative<T: Real>(a: &Choi<T>, b: &Choi<T>) -> f64 {
    let sum = |it: &mut dyn Iterator<Item = f64>| it.map(|v| v * v).sum::<f64>().sqrt();
    let diff = sum(&mut a.matrix.iter().zip(&b.matrix).map(|(x, y)| x.as_f64() - y.as_f64()));
    let size = sum(&mut a.matrix.iter().map(|x| x.as_f64()));
    if diff == 0.0 { 0.0 } else { diff / size }
}

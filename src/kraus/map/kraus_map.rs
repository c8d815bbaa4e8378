//! The Kraus map Phi(X) = sum_{k=1..r} A_k X A_k^T with A_k in R^{q x p}: the model of the paper.
//!
//! Every completely positive map has this form, so positive semidefinite input gives positive semidefinite output
//! whatever the parameters are.

use crate::error::{Error, InputError, Result, check_finite};
use linalg::{Real, gemm, matmul};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis, s};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A completely positive map from p x p to q x q matrices, given by r operators A_k.
///
/// ```
/// use kraus::KrausMap;
/// use ndarray::array;
/// // The trace is the Kraus map with q = 1 and A_k = e_k^T.
/// let trace = KrausMap::<f64>::partial_trace(1, 2);
/// let y = trace.apply(array![[3.0, 1.0], [2.0, 4.0]].view()).unwrap();
/// assert_eq!(y, array![[7.0]]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KrausMap<T> {
    ops: Array3<T>,
}

impl<T: Real> KrausMap<T> {
    /// A map from its operators, shape (r, q, p). Refuses rank 0, empty matrices, NaN and infinity.
    pub fn new(ops: Array3<T>) -> Result<Self> {
        let (r, q, p) = ops.dim();
        if r == 0 {
            return Err(Error::RankZero);
        }
        if q == 0 || p == 0 {
            return Err(InputError::empty("Kraus operators").into());
        }
        check_finite("Kraus operators", ops.view())?;
        let ops = if ops.is_standard_layout() { ops } else { ops.as_standard_layout().into_owned() };
        Ok(Self { ops })
    }

    /// Keras' `glorot_uniform` on a weight of shape (r, q, p): uniform in +-sqrt(6 / (r q + r p)).
    pub fn glorot(rank: usize, q: usize, p: usize, seed: u64) -> Result<Self> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        Self::glorot_from(rank, q, p, &mut rng)
    }

    /// [`glorot`](Self::glorot) from a generator, for several layers in a row.
    pub fn glorot_from(rank: usize, q: usize, p: usize, rng: &mut ChaCha8Rng) -> Result<Self> {
        let limit = (6.0 / (rank * q + rank * p).max(1) as f64).sqrt();
        Self::new(Array3::from_shape_simple_fn((rank, q, p), || T::of((2.0 * rng.random::<f64>() - 1.0) * limit)))
    }

    /// The identity map on p x p matrices: rank 1, A_1 = I.
    pub fn identity(p: usize) -> Result<Self> {
        Self::new(Array2::eye(p).insert_axis(Axis(0)))
    }

    /// The partial trace tr_m from (q m) x (q m) to q x q as a Kraus map: A_k = I_q (x) e_k^T, rank m.
    ///
    /// # Panics
    /// If q or m is 0.
    pub fn partial_trace(q: usize, m: usize) -> Self {
        assert!(q > 0 && m > 0, "partial trace of empty blocks");
        let one_at = |(k, a, i): (usize, usize, usize)| if i == a * m + k { T::of(1.0) } else { T::of(0.0) };
        Self { ops: Array3::from_shape_fn((m, q, q * m), one_at) }
    }

    /// The operators, shape (r, q, p), in standard layout.
    pub fn ops(&self) -> ArrayView3<'_, T> {
        self.ops.view()
    }

    /// The operators as one mutable slice in the order (k, a, i), for optimisers.
    pub fn ops_mut(&mut self) -> &mut [T] {
        // Every constructor stores standard layout, which `as_slice_mut` accepts.
        self.ops.as_slice_mut().expect("operators are stored in standard layout")
    }

    /// The operators as one slice in the order (k, a, i).
    pub fn ops_slice(&self) -> &[T] {
        self.ops.as_slice().expect("operators are stored in standard layout") // as in `ops_mut`
    }

    /// The operators, owned.
    pub fn into_ops(self) -> Array3<T> {
        self.ops
    }

    /// The same map with f64 parameters.
    pub fn to_f64(&self) -> KrausMap<f64> {
        // Every finite value of the scalar is a finite f64, so the invariants hold.
        KrausMap { ops: self.ops.mapv(|v| v.as_f64()) }
    }

    /// Number of operators r.
    pub fn rank(&self) -> usize {
        self.ops.dim().0
    }

    /// Rows of the output, q.
    pub fn q(&self) -> usize {
        self.ops.dim().1
    }

    /// Rows of the input, p.
    pub fn p(&self) -> usize {
        self.ops.dim().2
    }

    /// Phi(X) for one p x p matrix.
    pub fn apply(&self, x: ArrayView2<'_, T>) -> Result<Array2<T>> {
        let p = self.p();
        if x.dim() != (p, p) {
            return Err(InputError::shape("input", [p, p], x.shape()).into());
        }
        let mut y = Array2::zeros((self.q(), self.q()));
        for a in self.ops.outer_iter() {
            let ax = matmul(a, x);
            gemm(T::of(1.0), ax.view(), a.t(), T::of(1.0), y.view_mut());
        }
        Ok(y)
    }

    /// Phi(X_s) for a batch (l, p, p); result (l, q, q). Two products per sample, each over all operators at once.
    pub fn apply_batch(&self, x: ArrayView3<'_, T>) -> Result<Array3<T>> {
        let (r, q, p) = self.ops.dim();
        let l = x.dim().0;
        if x.dim() != (l, p, p) {
            return Err(InputError::shape("inputs", [l, p, p], x.shape()).into());
        }
        let rows = self.ops.to_shape((r * q, p)).expect("standard layout"); // `new` stores standard layout
        let wide = wide(self.ops.view());
        let mut y = Array3::zeros((l, q, q));
        let mut t = Array2::zeros((r * q, p));
        let mut side = Array3::zeros((q, r, p));
        for (xs, ys) in x.outer_iter().zip(y.outer_iter_mut()) {
            gemm(T::of(1.0), rows.view(), xs, T::of(0.0), t.view_mut());
            let blocks = t.view().into_shape_with_order((r, q, p)).expect("t is standard layout of that size");
            side.assign(&blocks.permuted_axes([1, 0, 2]));
            let side2 = side.view().into_shape_with_order((q, r * p)).expect("side is standard layout of that size");
            gemm(T::of(1.0), side2, wide.t(), T::of(0.0), ys);
        }
        Ok(y)
    }

    /// Phi(E_ij) for a list of matrix units: sum_k a_k^(i) a_k^(j)^T, never forming E_ij. Result (l, q, q).
    pub fn apply_units(&self, units: &[(usize, usize)]) -> Result<Array3<T>> {
        let p = self.p();
        if let Some((index, &(row, col))) = units.iter().enumerate().find(|(_, u)| u.0 >= p || u.1 >= p) {
            return Err(Error::Unit { index, row, col, p });
        }
        let mut y = Array3::zeros((units.len(), self.q(), self.q()));
        for (&(i, j), out) in units.iter().zip(y.outer_iter_mut()) {
            let (left, right) = (self.ops.slice(s![.., .., i]), self.ops.slice(s![.., .., j]));
            gemm(T::of(1.0), left.t(), right, T::of(0.0), out);
        }
        Ok(y)
    }

    /// The adjoint Phi^*(Y) = sum_k A_k^T Y A_k: <Phi(X), Y> = <X, Phi^*(Y)>.
    pub fn adjoint(&self) -> Self {
        Self { ops: self.ops.view().permuted_axes([0, 2, 1]).as_standard_layout().into_owned() }
    }

    /// X -> self(first(X)), with rank r r': the operators are all products A_j B_k.
    pub fn compose(&self, first: &Self) -> Result<Self> {
        if self.p() != first.q() {
            let expected = vec![first.rank(), self.p(), first.p()];
            return Err(InputError::shape("inner map", expected, first.ops.shape()).into());
        }
        let mut ops = Array3::zeros((self.rank() * first.rank(), self.q(), first.p()));
        let pairs = self.ops.outer_iter().flat_map(|a| first.ops.outer_iter().map(move |b| (a, b)));
        for (mut out, (a, b)) in ops.outer_iter_mut().zip(pairs) {
            gemm(T::of(1.0), a, b, T::of(0.0), out.view_mut());
        }
        Ok(Self { ops })
    }
}

/// The operators side by side: (q, r p) with [a, k p + i] = A_k[a, i].
fn wide<T: Real>(ops: ArrayView3<'_, T>) -> Array2<T> {
    let (r, q, p) = ops.dim();
    let side = ops.permuted_axes([1, 0, 2]).as_standard_layout().into_owned();
    side.into_shape_with_order((q, r * p)).expect("standard layout of that size")
}

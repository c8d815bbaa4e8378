//! A symmetric matrix of which only some entries are observed, and its view as a p x p grid of q x q blocks.

use crate::error::{InputError, Result};
use crate::tolerances;
use estimator::Mask;
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis, Ix2, s};

/// A symmetric n x n matrix with missing entries.
///
/// ```
/// use kraus::completion::Partial;
/// use ndarray::array;
/// let nan = f64::NAN;
/// let m = Partial::from_nan(array![[1.0, nan, 2.0], [nan, nan, nan], [2.0, nan, 4.0]].view()).unwrap();
/// assert_eq!(m.observed(), 4);
/// assert_eq!(m.empty_rows(), vec![1]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Partial {
    values: Array2<f64>,
    mask: Mask<Ix2>,
    /// The mask as 1 and 0, by which residuals are multiplied.
    weights: Array2<f64>,
}

impl Partial {
    /// From a matrix and a mask of the same shape. Missing values are ignored and may be NaN.
    ///
    /// An entry observed on one side of the diagonal only counts as observed on both. Two observed mirror entries that
    /// differ by more than rounding are refused.
    pub fn new(matrix: ArrayView2<'_, f64>, mask: &Mask<Ix2>) -> Result<Self> {
        let (n, flags) = (matrix.nrows(), mask.flags());
        if n == 0 {
            return Err(InputError::empty("matrix").into());
        }
        for (what, got) in [("matrix", matrix.shape()), ("mask", flags.shape())] {
            if got != [n, n] {
                return Err(InputError::shape(what, [n, n], got).into());
            }
        }
        let scale = matrix.iter().zip(flags).filter(|(_, m)| **m).fold(0.0f64, |s, (v, _)| s.max(v.abs()));
        let (mut values, mut both) = (Array2::zeros((n, n)), Array2::from_elem((n, n), false));
        for ((i, j), _) in flags.indexed_iter().filter(|(_, m)| **m) {
            let v = matrix[[i, j]];
            if !v.is_finite() {
                return Err(InputError::not_finite("matrix", i).into());
            }
            if mask[[j, i]] && (v - matrix[[j, i]]).abs() > tolerances::MIRROR_ENTRIES * scale {
                return Err(InputError::not_symmetric("matrix", i).into());
            }
            values[[i, j]] = v;
            both[[i, j]] = true;
            if !mask[[j, i]] {
                values[[j, i]] = v;
                both[[j, i]] = true;
            }
        }
        let mask = Mask::new(both);
        if mask.observed() == 0 {
            return Err(InputError::empty("set of observed entries").into());
        }
        Ok(Self { values, weights: mask.zeros_and_ones(), mask })
    }

    /// From a matrix in which NaN marks what is missing.
    pub fn from_nan(matrix: ArrayView2<'_, f64>) -> Result<Self> {
        Self::new(matrix, &Mask::from_nan(matrix))
    }

    /// Rows n.
    pub fn n(&self) -> usize {
        self.values.nrows()
    }

    /// The observed values, 0 where missing.
    pub fn values(&self) -> ArrayView2<'_, f64> {
        self.values.view()
    }

    /// Which entries are observed; symmetric.
    pub fn mask(&self) -> &Mask<Ix2> {
        &self.mask
    }

    /// 1 where observed, 0 where missing.
    pub(crate) fn weights(&self) -> ArrayView2<'_, f64> {
        self.weights.view()
    }

    /// Number of observed entries.
    pub fn observed(&self) -> usize {
        self.mask.observed()
    }

    /// Rows without any observed entry.
    pub fn empty_rows(&self) -> Vec<usize> {
        self.sparse_rows(1)
    }

    /// Rows with fewer than `count` observed entries.
    pub fn sparse_rows(&self, count: usize) -> Vec<usize> {
        let seen = |i: &usize| self.mask.flags().row(*i).iter().filter(|m| **m).count();
        (0..self.n()).filter(|i| seen(i) < count).collect()
    }

    /// Without the entries of `hidden` (and their mirror images), which validation observes instead.
    pub fn without(&self, hidden: &Mask<Ix2>) -> Result<Self> {
        let kept = |(i, j): (usize, usize)| self.mask[[i, j]] && !hidden[[i, j]] && !hidden[[j, i]];
        Self::new(self.values.view(), &Mask::new(Array2::from_shape_fn(self.values.dim(), kept)))
    }

    /// The prediction where missing, the observed values elsewhere, untouched to the bit.
    pub fn filled(&self, prediction: ArrayView2<'_, f64>) -> Array2<f64> {
        Array2::from_shape_fn(self.values.dim(), |at| if self.mask[at] { self.values[at] } else { prediction[at] })
    }
}

/// Refuses sizes that do not cut an n x n matrix into a p x p grid of q x q blocks.
pub(crate) fn check_grid(n: usize, p: usize, q: usize) -> Result<()> {
    if p.checked_mul(q) == Some(n) && n > 0 {
        return Ok(());
    }
    Err(InputError::shape("grid: p blocks of q rows must make n", [n], [p, q]).into())
}

/// The blocks of an n x n matrix, n = p q, for a list of pairs (i, j): (pairs, q, q).
pub fn blocks<A: Copy + Default>(m: ArrayView2<'_, A>, q: usize, pairs: &[(usize, usize)]) -> Array3<A> {
    let mut out = Array3::default((pairs.len(), q, q));
    for (mut block, &(i, j)) in out.outer_iter_mut().zip(pairs) {
        block.assign(&m.slice(s![i * q..(i + 1) * q, j * q..(j + 1) * q]));
    }
    out
}

/// The inverse of [`blocks`] for all p^2 pairs: puts blocks (pairs, q, q) into an n x n matrix.
pub fn assemble(blocks: ArrayView3<'_, f64>, p: usize, pairs: &[(usize, usize)]) -> Array2<f64> {
    let q = blocks.len_of(Axis(1));
    let mut out = Array2::zeros((p * q, p * q));
    for (block, &(i, j)) in blocks.outer_iter().zip(pairs) {
        out.slice_mut(s![i * q..(i + 1) * q, j * q..(j + 1) * q]).assign(&block);
    }
    out
}

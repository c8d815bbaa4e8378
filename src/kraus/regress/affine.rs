//! Differences of two completely positive maps with an intercept: Y = sum_k s_k A_k X A_k^T + B, s_k = +-1.
//!
//! Every linear map that keeps symmetry has this form. All signs +1 and B positive semidefinite: the map is completely positive and keeps the cone.
//! With both signs it need not; [`Positivity::Output`] projects what leaves it.

use crate::error::{InputError, Result, check_finite};
use crate::map::KrausMap;
use linalg::{eigh, matmul};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis};
use rayon::prelude::*;

/// What is promised about the outputs for positive semidefinite inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Positivity {
    /// The map itself is completely positive: the paper's model, perhaps with a positive semidefinite intercept.
    Complete,
    /// Any map that keeps symmetry; an output with negative eigenvalues is replaced by the nearest matrix without.
    Output,
    /// Any map that keeps symmetry, outputs as they come.
    None,
}

impl Positivity {
    /// The word used in files and options.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Output => "output",
            Self::None => "none",
        }
    }

    /// The inverse of [`as_str`](Self::as_str).
    pub fn of(word: &str) -> Option<Self> {
        [Self::Complete, Self::Output, Self::None].into_iter().find(|p| p.as_str() == word)
    }
}

/// Y = sum_k s_k A_k X A_k^T + B.
///
/// ```
/// use kraus::regress::{AffineMap, Positivity};
/// use ndarray::{arr3, array};
/// // X -> X - e1 e1^T X e1 e1^T: zeroes the first diagonal entry, which is no completely positive map.
/// let ops = arr3(&[[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]]]);
/// let map = AffineMap::new(ops, vec![1.0, -1.0], None, Positivity::None).unwrap();
/// let y = map.apply(arr3(&[[[3.0, 1.0], [1.0, 2.0]]]).view()).unwrap();
/// assert_eq!(y.matrices, arr3(&[[[0.0, 1.0], [1.0, 2.0]]]));
/// assert_eq!(y.outside, 1); // [[0, 1], [1, 2]] has a negative eigenvalue
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct AffineMap {
    map: KrausMap<f64>,
    signs: Vec<f64>,
    intercept: Option<Array2<f64>>,
    positivity: Positivity,
}

/// Outputs of a map.
#[derive(Debug, Clone)]
pub struct Applied {
    /// (l, q, q).
    pub matrices: Array3<f64>,
    /// How many outputs had an eigenvalue below -1e-9 of their largest before any projection.
    pub outside: usize,
}

impl AffineMap {
    /// Refuses signs other than +-1, shapes that do not fit, and a map called completely positive that is not.
    pub fn new(
        ops: Array3<f64>,
        signs: Vec<f64>,
        intercept: Option<Array2<f64>>,
        positivity: Positivity,
    ) -> Result<Self> {
        let map = KrausMap::new(ops)?;
        if signs.len() != map.rank() {
            return Err(InputError::shape("signs", [map.rank()], [signs.len()]).into());
        }
        if let Some(&value) = signs.iter().find(|s| **s != 1.0 && **s != -1.0) {
            return Err(InputError::parameter("sign", value, "+1 or -1").into());
        }
        if positivity == Positivity::Complete && signs.contains(&-1.0) {
            return Err(InputError::parameter("sign", -1.0, "+1 in a completely positive map").into());
        }
        if let Some(b) = &intercept {
            let q = map.q();
            if b.dim() != (q, q) {
                return Err(InputError::shape("intercept", [q, q], b.shape()).into());
            }
            check_finite("intercept", b.view().insert_axis(Axis(0)))?;
        }
        Ok(Self { map, signs, intercept, positivity })
    }

    /// The operators.
    pub fn map(&self) -> &KrausMap<f64> {
        &self.map
    }

    /// One sign per operator.
    pub fn signs(&self) -> &[f64] {
        &self.signs
    }

    /// B, if there is one.
    pub fn intercept(&self) -> Option<ArrayView2<'_, f64>> {
        self.intercept.as_ref().map(|b| b.view())
    }

    /// What is promised about outputs.
    pub fn positivity(&self) -> Positivity {
        self.positivity
    }

    /// The outputs for matrices (l, p, p).
    pub fn apply(&self, x: ArrayView3<'_, f64>) -> Result<Applied> {
        let part = |sign: f64| -> Result<Option<KrausMap<f64>>> {
            let these: Vec<usize> = (0..self.signs.len()).filter(|k| self.signs[*k] == sign).collect();
            if these.is_empty() { Ok(None) } else { KrausMap::new(self.map.ops().select(Axis(0), &these)).map(Some) }
        };
        let (plus, minus) = (part(1.0)?, part(-1.0)?);
        let one = |x: ArrayView3<'_, f64>| -> Result<Applied> {
            let (l, q) = (x.len_of(Axis(0)), self.map.q());
            let mut y = match &plus {
                Some(map) => map.apply_batch(x)?,
                None => Array3::zeros((l, q, q)),
            };
            if let Some(map) = &minus {
                y -= &map.apply_batch(x)?;
            }
            if let Some(b) = &self.intercept {
                y += b;
            }
            let mut outside = 0;
            if self.positivity != Positivity::Complete {
                for mut m in y.axis_iter_mut(Axis(0)) {
                    if linalg::is_symmetric(m.view(), 1e-9) && !project(&mut m, self.positivity)? {
                        outside += 1;
                    }
                }
            }
            Ok(Applied { matrices: y, outside })
        };
        // Samples in blocks of a fixed size: the number of threads changes no bit.
        let parts: Vec<Applied> = x.axis_chunks_iter(Axis(0), 32).into_par_iter().map(one).collect::<Result<_>>()?;
        let views: Vec<_> = parts.iter().map(|p| p.matrices.view()).collect();
        let matrices = if views.is_empty() {
            self.map.apply_batch(x)?
        } else {
            ndarray::concatenate(Axis(0), &views).expect("blocks of equal width")
        };
        Ok(Applied { matrices, outside: parts.iter().map(|p| p.outside).sum() })
    }
}

/// Whether a symmetric matrix is in the cone; if not and outputs are to be, replaces it by the nearest that is.
fn project(m: &mut ndarray::ArrayViewMut2<'_, f64>, positivity: Positivity) -> Result<bool> {
    let e = eigh(m.view())?;
    let top = e.values.iter().fold(0.0f64, |t, v| t.max(v.abs()));
    let inside = e.values[0] >= -1e-9 * top;
    if positivity == Positivity::Output && e.values[0] < 0.0 {
        let scaled = &e.vectors * &e.values.mapv(|v| v.max(0.0));
        m.assign(&linalg::symmetrise(matmul(scaled.view(), e.vectors.t()).view()));
    }
    Ok(inside)
}

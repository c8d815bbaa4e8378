//! Sufficient statistics of the square loss, accumulated in one pass over the samples.
//!
//! With x = svec(X) (length p(p+1)/2) and y = svec(Y) where the inputs are symmetric, vec otherwise,
//! G = sum_s x_s x_s^T, C = sum_s y_s x_s^T, yy = sum_s ||Y_s||_F^2 and l determine the loss of every linear map.
//! The samples are needed once and may come in pieces from a file that does not fit in memory: they are gathered into
//! blocks of [`BLOCK`] rows whatever the pieces were, so the result depends neither on the pieces nor on the threads.
//! Sums are in `f64` for every scalar type.
//!
//! | file | what |
//! |---|---|
//! | mod.rs | [`Moments`] and their least squares map |
//! | builder.rs | how they are accumulated: [`MomentsBuilder`] |
//! | objective.rs | the square loss of a Kraus map and its gradient from the moments |
//! | choice.rs | whether a fit uses the samples or the moments |

mod builder;
pub(crate) mod choice;
pub(crate) mod objective;

pub(crate) use builder::add_gram;
pub use builder::{BLOCK, MomentsBuilder};
pub use choice::LossSource;
pub use objective::MomentObjective;

use crate::error::{FitError, InputError, Result};
use crate::tolerances;
use linalg::{Real, gemm, solve_spd};
use ndarray::{Array2, ArrayView2, ArrayView3, s};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// Which coordinates of X and Y the moments are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// X is symmetric: svec on both sides. A Kraus map's output is then symmetric too, so the skew part of Y, if any,
    /// only adds a constant to the loss.
    Symmetric,
    /// Any X and Y: vec (row by row) on both sides.
    Full,
}

impl Basis {
    /// Coordinates of an n x n matrix.
    pub fn len(self, n: usize) -> usize {
        match self {
            Self::Symmetric => n * (n + 1) / 2,
            Self::Full => n * n,
        }
    }

    pub(crate) fn pack<T: Real>(self, a: ArrayView2<'_, T>, out: &mut [f64]) {
        match self {
            Self::Full => out.iter_mut().zip(a).for_each(|(o, v)| *o = v.as_f64()),
            Self::Symmetric => {
                let a = a.as_standard_layout();
                let (n, a) = (a.nrows(), a.as_slice().expect("standard layout"));
                let mut rest = out;
                for i in 0..n {
                    let (to, after) = rest.split_at_mut(n - i);
                    let (row, column) = (&a[i * n + i..(i + 1) * n], a[i * n + i..].iter().step_by(n));
                    for (to, (v, w)) in to.iter_mut().zip(row.iter().zip(column)) {
                        *to = (v.as_f64() + w.as_f64()) * FRAC_1_SQRT_2;
                    }
                    to[0] = row[0].as_f64();
                    rest = after;
                }
            }
        }
    }
}

/// G, C, yy and l of a sample: all that the square loss of a linear map depends on.
#[derive(Debug, Clone)]
pub struct Moments {
    pub(crate) p: usize,
    pub(crate) q: usize,
    pub(crate) basis: Basis,
    pub(crate) l: usize,
    pub(crate) yy: f64,
    pub(crate) g: Array2<f64>,
    pub(crate) c: Array2<f64>,
}

/// The unconstrained least squares map and how well the data determine it.
#[derive(Debug, Clone)]
pub struct LeastSquares {
    /// Coefficients, (coordinates of Y, coordinates of X): y = coefficients x.
    pub coefficients: Array2<f64>,
    /// Residual sum of squares of that map; the part of the loss that no linear map removes.
    pub rss: f64,
    /// Relative error with which a known map is recovered through G: about machine epsilon times its condition.
    pub recovery: f64,
}

impl Moments {
    /// Moments of samples in memory, X (l, p, p) and Y (l, q, q).
    ///
    /// ```
    /// use kraus::{Basis, Moments};
    /// use ndarray::Array3;
    /// let x = Array3::from_shape_fn((5, 2, 2), |(s, i, j)| (s + i + j) as f64);
    /// let m = Moments::of(x.view(), x.view(), Basis::Symmetric).unwrap();
    /// // The trace of G is the sum of squared norms, since svec keeps inner products.
    /// let norm: f64 = x.iter().map(|v| v * v).sum();
    /// assert!((m.gram().diag().sum() - norm).abs() < 1e-12 * norm);
    /// ```
    pub fn of<T: Real>(x: ArrayView3<'_, T>, y: ArrayView3<'_, T>, basis: Basis) -> Result<Self> {
        if x.dim().0 != y.dim().0 {
            let expected = vec![x.dim().0, y.dim().1, y.dim().2];
            return Err(InputError::shape("Y", expected, y.shape()).into());
        }
        let mut builder = MomentsBuilder::new(x.dim().1, y.dim().1, basis);
        builder.update(x, y)?;
        builder.finish()
    }

    /// The moments of several sets of samples taken together, in the order given: folds of a cross-validation, say.
    ///
    /// Refuses an empty list and sets of other sizes or coordinates.
    pub fn merged(parts: &[&Self]) -> Result<Self> {
        let Some((first, rest)) = parts.split_first() else {
            return Err(InputError::empty("list of moments").into());
        };
        let mut all = (*first).clone();
        for m in rest {
            if (m.p, m.q, m.basis) != (all.p, all.q, all.basis) {
                let (expected, got) = (vec![all.g.nrows(), all.c.nrows()], vec![m.g.nrows(), m.c.nrows()]);
                return Err(InputError::shape("moments (coordinates of X, of Y)", expected, got).into());
            }
            all.l += m.l;
            all.yy += m.yy;
            all.g += &m.g;
            all.c += &m.c;
        }
        Ok(all)
    }

    /// G, (nx, nx) with nx coordinates of X.
    pub fn gram(&self) -> ArrayView2<'_, f64> {
        self.g.view()
    }

    /// C^T, (ny, nx).
    pub fn cross(&self) -> ArrayView2<'_, f64> {
        self.c.view()
    }

    /// Rows of the inputs, p.
    pub fn p(&self) -> usize {
        self.p
    }

    /// Rows of the outputs, q.
    pub fn q(&self) -> usize {
        self.q
    }

    /// Number of samples l.
    pub fn samples(&self) -> usize {
        self.l
    }

    /// The coordinates.
    pub fn basis(&self) -> Basis {
        self.basis
    }

    /// The mean square of the targets: the loss of predicting zero.
    pub fn mean_square(&self) -> f64 {
        self.yy / (self.l * self.q * self.q) as f64
    }

    /// sum of ||Y||_F^2.
    pub fn yy(&self) -> f64 {
        self.yy
    }

    /// Solves the normal equations by Cholesky. An error where the samples do not determine the map: fewer samples than
    /// coordinates, or inputs that span less than the space.
    pub fn least_squares(&self) -> std::result::Result<LeastSquares, FitError> {
        let (nx, ny) = (self.g.nrows(), self.c.nrows());
        let refuse = |why: String| FitError::Unsupported { solver: "least squares", why };
        if self.l < nx {
            let l = self.l;
            return Err(refuse(format!(
                "{l} samples cannot determine {nx} input coordinates; use lbfgs, or more samples"
            )));
        }
        // One more right-hand side with a known answer, a +-1 vector, measures what the conditioning costs.
        let probe = |i: usize| if (i * i + i / 3).is_multiple_of(2) { 1.0 } else { -1.0 };
        let known = Array2::from_shape_fn((nx, 1), |(i, _)| probe(i));
        let mut rhs = Array2::zeros((nx, ny + 1));
        rhs.slice_mut(s![.., ..ny]).assign(&self.c.t());
        gemm(1.0, self.g.view(), known.view(), 0.0, rhs.slice_mut(s![.., ny..]));
        let spans_less =
            || refuse("the inputs span less than the space of p x p matrices; use lbfgs, or more varied inputs".into());
        let solved = match solve_spd(self.g.view(), rhs.view()) {
            Err(linalg::Error::NotPositiveDefinite { .. }) => return Err(spans_less()),
            other => other?,
        };
        let recovery = solved.column(ny).iter().zip(&known).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let recovery = (recovery / nx as f64).sqrt();
        if recovery.is_nan() || recovery > tolerances::RECOVERY {
            return Err(spans_less());
        }
        let coefficients = solved.slice(s![.., ..ny]).t().as_standard_layout().into_owned();
        let explained: f64 = coefficients.rows().into_iter().zip(self.c.rows()).map(|(m, c)| m.dot(&c)).sum();
        Ok(LeastSquares { coefficients, rss: (self.yy - explained).max(0.0), recovery })
    }
}

/// Scale of an off-diagonal pair in svec.
pub(crate) const OFF_DIAGONAL: f64 = SQRT_2;

//! Reduced-rank multivariate regression: y = x W + noise with rank W <= r.
//!
//! The minimiser of ||T - Z W||_F under the rank bound is W_r = W_ls V_r V_r^T, where W_ls is least squares and V_r
//! holds the leading r right singular vectors of the fitted values Z W_ls (A. J. Izenman, *Reduced-rank regression
//! for the multivariate linear model*, J. Multivariate Analysis 1975). One decomposition serves every rank.
//! Cost O(l d (d + m) + l m^2), then O(d m r) per rank.

use super::multivariate::least_norm;
use crate::regressor::check_pair;
use crate::{Error, Fitted, Layout, Regressor, Report, Result};
use linalg::{matmul, svd};
use ndarray::{Array2, ArrayView3, s};

/// Reduced-rank regression of a given rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReducedRank {
    /// Largest rank of W; from min(d, m) on this is least squares.
    pub rank: usize,
}

/// Least squares and the singular vectors of its fitted values: every rank in closed form.
#[derive(Debug, Clone)]
pub struct RankPath {
    input: Layout,
    output: Layout,
    least_squares: Array2<f64>,
    vt: Array2<f64>,
}

impl RankPath {
    /// Decomposes once, for all ranks.
    pub fn fit(x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> Result<Self> {
        check_pair(x, y)?;
        let (input, output) = (Layout::of(x), Layout::of(y));
        let (z, t) = (input.encode(x), output.encode(y));
        let least_squares = least_norm(z.view(), t.view())?;
        let vt = svd(matmul(z.view(), least_squares.view()).view())?.vt;
        Ok(RankPath { input, output, least_squares, vt })
    }

    /// The model of rank at most `rank`.
    pub fn rank(&self, rank: usize) -> Result<Fitted> {
        if rank == 0 {
            return Err(Error::parameter("rank", "must be at least 1"));
        }
        let r = rank.min(self.vt.nrows());
        let v = self.vt.slice(s![..r, ..]);
        let coef = matmul(matmul(self.least_squares.view(), v.t()).view(), v);
        let (d, m) = coef.dim();
        let effective = r.min(d).min(m);
        let report = Report { parameters: effective * (d + m - effective), ..Report::default() };
        Ok(Fitted::linear(self.input, self.output, coef, report))
    }
}

impl Regressor for ReducedRank {
    fn name(&self) -> &'static str {
        "reduced-rank regression"
    }

    fn check_parameters(&self) -> Result<()> {
        if self.rank == 0 { Err(Error::parameter("rank", "must be at least 1")) } else { Ok(()) }
    }

    fn fit(&self, x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> Result<Fitted> {
        RankPath::fit(x, y)?.rank(self.rank)
    }
}

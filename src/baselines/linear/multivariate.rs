//! Multivariate regression, y = x W + noise with x = vec(X), y = vec(Y) and no assumption on W.
//!
//! W = argmin sum_i ||y_i - x_i W||^2 + lambda ||W||_F^2 (T. W. Anderson, *An Introduction to Multivariate
//! Statistical Analysis*, ch. 8; A. E. Hoerl and R. W. Kennard, *Ridge regression*, Technometrics 1970).
//! Least squares (lambda = 0) goes through QR of the samples, not through their moments, so noise-free data are
//! recovered to rounding; with fewer samples than unknowns it is the solution of least norm. Cost O(l d (d + m)),
//! d = p(p+1)/2 and m = q(q+1)/2 for symmetric matrices, p^2 and q^2 otherwise.

use crate::regressor::check_pair;
use crate::{Error, Fitted, Layout, Regressor, Report, Result};
use linalg::{gemm, lstsq, matmul, solve_spd};
use ndarray::{Array2, ArrayView2, ArrayView3};

/// Least squares or ridge regression of vec(Y) on vec(X).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Multivariate {
    /// Weight of ||W||_F^2; zero is least squares.
    pub lambda: f64,
}

impl Multivariate {
    /// No penalty; least norm where the samples do not determine W.
    pub fn least_squares() -> Self {
        Multivariate { lambda: 0.0 }
    }

    /// Penalty lambda ||W||_F^2.
    pub fn ridge(lambda: f64) -> Self {
        Multivariate { lambda }
    }
}

/// argmin ||Z W - T||_F of least norm; singular values below machine precision count as zero.
pub(crate) fn least_norm(z: ArrayView2<'_, f64>, t: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    let rcond = f64::EPSILON * z.nrows().max(z.ncols()) as f64;
    Ok(lstsq(z, t, rcond)?)
}

fn ridge(z: ArrayView2<'_, f64>, t: ArrayView2<'_, f64>, lambda: f64) -> Result<Array2<f64>> {
    // The smaller of the two equivalent systems: (Z^T Z + lambda) W = Z^T T, or W = Z^T (Z Z^T + lambda)^-1 T.
    let primal = z.nrows() >= z.ncols();
    let (a, n) = if primal { (z.t(), z.ncols()) } else { (z.view(), z.nrows()) };
    let mut gram = Array2::eye(n);
    gemm(1.0, a, a.t(), lambda, gram.view_mut());
    if primal {
        Ok(solve_spd(gram.view(), matmul(z.t(), t).view())?)
    } else {
        Ok(matmul(z.t(), solve_spd(gram.view(), t)?.view()))
    }
}

impl Regressor for Multivariate {
    fn name(&self) -> &'static str {
        if self.lambda == 0.0 { "multivariate regression" } else { "ridge regression" }
    }

    fn check_parameters(&self) -> Result<()> {
        if !(self.lambda >= 0.0 && self.lambda.is_finite()) {
            return Err(Error::parameter("lambda", format!("must be finite and at least 0, got {}", self.lambda)));
        }
        Ok(())
    }

    fn fit(&self, x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> Result<Fitted> {
        check_pair(x, y)?;
        self.check_parameters()?;
        let (input, output) = (Layout::of(x), Layout::of(y));
        let (z, t) = (input.encode(x), output.encode(y));
        let coef = match self.lambda {
            0.0 => least_norm(z.view(), t.view())?,
            lambda => ridge(z.view(), t.view(), lambda)?,
        };
        let report = Report { parameters: coef.len(), ..Report::default() };
        Ok(Fitted::linear(input, output, coef, report))
    }
}

//! The optimum of a one-layer tensor network on the whole sample, by L-BFGS.
//!
//! Inputs Z (l, d), targets T (l, m), N = l m. The mean squared error of W depends on the samples only through G = Z^T Z and C = Z^T T.
//! With a least squares map M (G M = C), its residual sum of squares rss and D = W - M, it is (rss + <D, G D>) / N. An evaluation costs
//! d^2 m, whatever l is, and nothing cancels: a format that can represent the truth finds it to rounding.
//! Inputs with a large mean make G ill conditioned. So a first run uses the covariance G - l zbar zbar^T in its place, whose optimum is
//! the same where there is no noise. A format that can compute parameters near M starts there, others from random parameters.

use super::format::Format;
use super::scratch::Scratch;
use crate::{Report, Result};
use kraus::{MinimiseParams, minimise};
use linalg::{eigh, gemm, matmul};
use ndarray::{Array2, ArrayView2, Axis};

/// Eigenvalues of G below this share of the largest count as zero: they are rounding.
const ROUNDING: f64 = 1e-11;
/// A start counts as the optimum when its loss is below this share of the mean square of the fitted values Z M.
const EXACT: f64 = 1e-24;

/// Returns the parameters at the optimum and the report. Its history is the mean squared error after each iteration of the second run.
pub(crate) fn fit(
    format: &dyn Format,
    start: Vec<f64>,
    iterations: usize,
    z: ArrayView2<'_, f64>,
    t: ArrayView2<'_, f64>,
) -> Result<(Vec<f64>, Report)> {
    let entries = t.len() as f64;
    let gram = matmul(z.t(), z);
    let e = eigh(gram.view())?;
    // The least squares map of least norm: V diag(1 / w) V^T C over the eigenvalues that are not rounding.
    let top = e.values.iter().fold(0.0f64, |m, &w| m.max(w));
    let mut in_eigenbasis = matmul(e.vectors.t(), matmul(z.t(), t).view());
    for (mut row, &w) in in_eigenbasis.rows_mut().into_iter().zip(&e.values) {
        row *= if w > ROUNDING * top { 1.0 / w } else { 0.0 };
    }
    let least = matmul(e.vectors.view(), in_eigenbasis.view());
    let rss = (&matmul(z, least.view()) - &t).iter().map(|r| r * r).sum::<f64>();
    let mut covariance = gram.clone();
    if let Some(mean) = z.mean_axis(Axis(0)) {
        let column = mean.view().insert_axis(Axis(1));
        gemm(-(z.nrows() as f64), column, column.t(), 1.0, covariance.view_mut());
    }
    let scratch = Scratch::default();
    let objective = |g: &Array2<f64>, theta: &[f64], gradient: &mut [f64]| {
        let mut d = format.dense(theta, &scratch);
        d -= &least;
        let mut gd = scratch.product(g.view(), d.view());
        let value = d.iter().zip(&gd).map(|(d, gd)| d * gd).sum::<f64>() / entries;
        scratch.give(d);
        gd *= 2.0 / entries;
        format.parameter_gradient(theta, gd, &scratch, gradient);
        value
    };
    let start = format.parameters_near(least.clone())?.unwrap_or(start);
    // A format of full ranks starts at the least squares map itself. Only rounding is left then, and L-BFGS would chase it.
    let (mut gradient, total) =
        (vec![0.0; format.len()], (&least * &matmul(gram.view(), least.view())).sum() / entries);
    if objective(&gram, &start, &mut gradient) <= EXACT * total {
        let history = vec![rss / entries];
        return Ok((start, Report { parameters: format.len(), history, ..Report::default() }));
    }
    // The first run needs no precision: the second run starts from its result on the data with their mean.
    let rough = MinimiseParams { max_iterations: iterations, f_tolerance: 1e-3, ..MinimiseParams::default() };
    let exact = MinimiseParams { max_iterations: iterations, f_tolerance: 1e-5, ..MinimiseParams::default() };
    let first = minimise(|theta, gradient| objective(&covariance, theta, gradient), start, &rough);
    let found = minimise(|theta, gradient| objective(&gram, theta, gradient), first.x, &exact);
    let history = found.values.iter().map(|v| (rss / entries + v).max(0.0)).collect();
    let report = Report {
        parameters: format.len(),
        iterations: first.iterations + found.iterations,
        history,
        convergence: Some(found.convergence(&exact)),
        ..Report::default()
    };
    Ok((found.x, report))
}

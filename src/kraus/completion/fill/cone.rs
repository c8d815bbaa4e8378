//! The cone of positive semidefinite matrices: the nearest one, and the nearest one that keeps the observed entries.
//!
//! Keeping them is a matter of two convex sets, the cone and the matrices with these entries: Dykstra's alternating projections find the point
//! of their intersection nearest to the start, if there is one. The cone is asked a hair inside (eigenvalues at least 1e-9 of the largest), so that a
//! finite number of steps ends inside.

use super::super::partial::Partial;
use super::shrink::HUGE;
use crate::error::Result;
use linalg::{eigh, matmul, symmetrise};
use ndarray::Array2;

/// Eigenvalues are raised to this share of the largest.
const INSIDE: f64 = 1e-9;

/// max(A, floor) on the spectrum, and whether A was inside the cone already.
fn project(a: &Array2<f64>) -> Result<(Array2<f64>, bool)> {
    let e = eigh(a.view())?;
    let top = e.values.last().copied().unwrap_or(0.0).max(0.0);
    if e.values[0] >= -1e-12 * top {
        return Ok((a.clone(), true));
    }
    // Only what is below the floor is added: fewer columns than the whole spectrum.
    let low: Vec<usize> = (0..e.values.len()).filter(|i| e.values[*i] < INSIDE * top).collect();
    let v = e.vectors.select(ndarray::Axis(1), &low);
    let add: Vec<f64> = low.iter().map(|i| INSIDE * top - e.values[*i]).collect();
    let scaled = &v * &ndarray::Array1::from(add);
    Ok((symmetrise((a + &matmul(scaled.view(), v.t())).view()), false))
}

/// The nearest matrix of the cone.
pub(super) fn nearest(a: &Array2<f64>) -> Result<Array2<f64>> {
    Ok(project(a)?.0)
}

/// The matrix near `start` that keeps observed entries and is positive semidefinite, if there is one that moves the missing entries by less than
/// their `expected` relative error: the cone is worth no more than that. Otherwise `always` decides which gives way: the observed entries (the
/// nearest matrix of the cone), or the cone (the start). The budget is about n^3: more steps for smaller matrices.
pub(super) fn keep(partial: &Partial, start: Array2<f64>, always: bool, expected: f64) -> Result<Array2<f64>> {
    let n = partial.n();
    let steps = (1_000_000_000 / (n * n * n).max(1)).clamp(if n > HUGE { 0 } else { 2 }, 60);
    let (mut x, mut correction) = (start.clone(), Array2::<f64>::zeros((n, n)));
    for step in 0..=steps {
        if moved(partial, &start, &x) > expected {
            break;
        }
        if project_done(&x)? {
            return Ok(x);
        }
        if step == steps {
            break;
        }
        let shifted = &x + &correction;
        let (inside, _) = project(&shifted)?;
        correction = &shifted - &inside;
        x = partial.filled(inside.view());
    }
    if always { nearest(&start) } else { Ok(start) }
}

/// ||x - start|| / ||start|| over the missing entries.
fn moved(partial: &Partial, start: &Array2<f64>, x: &Array2<f64>) -> f64 {
    let (mut change, mut size) = (0.0, 0.0);
    for ((m, a), b) in partial.mask().flags().iter().zip(start).zip(x) {
        if !*m {
            change += (a - b).powi(2);
            size += a * a;
        }
    }
    (change / f64::max(size, f64::MIN_POSITIVE)).sqrt()
}

fn project_done(x: &Array2<f64>) -> Result<bool> {
    // Cholesky of x + tiny I: an order of magnitude cheaper than the spectrum.
    let trace: f64 = x.diag().iter().map(|v| v.abs()).sum();
    let mut raised = x.clone();
    raised.diag_mut().mapv_inplace(|v| v + 1e-13 * trace);
    Ok(linalg::cholesky(raised.view()).is_ok())
}

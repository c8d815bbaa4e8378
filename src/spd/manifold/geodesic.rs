//! The affine-invariant manifold around a point: geodesics, and the tangent space as vectors.
//!
//! * Geodesic: A #_t B = A^1/2 (A^-1/2 B A^-1/2)^t A^1/2, from A (t = 0) to B (t = 1).
//! * Tangent vectors at C: svec log(C^-1/2 X C^-1/2), of length n (n + 1) / 2; the off-diagonal entries count sqrt 2, so the
//!   Euclidean norm is the Riemannian distance from C to X.

use crate::manifold::function::{expm, logm, one, powm, sandwich};
use crate::{InputError, Result, check};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis};

/// The point at `t` on the geodesic from `a` to `b`.
///
/// ```
/// let (a, b) = (ndarray::array![[1.0, 0.0], [0.0, 1.0]], ndarray::array![[4.0, 0.0], [0.0, 16.0]]);
/// let m = spd::geodesic(a.view(), b.view(), 0.5).unwrap();
/// assert!((m[[0, 0]] - 2.0).abs() < 1e-13 && (m[[1, 1]] - 4.0).abs() < 1e-13);
/// ```
pub fn geodesic(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>, t: f64) -> Result<Array2<f64>> {
    let (root, inverse) = roots("geodesic", a)?;
    let middle = sandwich("geodesic", inverse.view(), b.insert_axis(Axis(0)))?;
    let power = powm(middle.view(), t)?;
    Ok(sandwich("geodesic", root.view(), power.view())?.index_axis_move(Axis(0), 0))
}

/// Tangent vectors (k, n (n + 1) / 2) of a batch (k, n, n) at the point `at`.
pub fn tangent_space(x: ArrayView3<'_, f64>, at: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    let n = check::symmetric("tangent_space", &x)?;
    let (_, inverse) = roots("tangent_space", at)?;
    let logs = logm(sandwich("tangent_space", inverse.view(), x)?.view())?;
    let mut out = Array2::zeros((x.len_of(Axis(0)), n * (n + 1) / 2));
    for (mut row, log) in out.rows_mut().into_iter().zip(logs.axis_iter(Axis(0))) {
        row.assign(&linalg::svec(log));
    }
    Ok(out)
}

/// The matrices (k, n, n) with the given tangent vectors at `at`: the inverse of [`tangent_space`].
pub fn from_tangent_space(v: ArrayView2<'_, f64>, at: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
    check::finite("from_tangent_space", &v)?;
    let (root, _) = roots("from_tangent_space", at)?;
    let n = at.nrows();
    if v.nrows() == 0 {
        return Err(InputError::empty("from_tangent_space").into());
    }
    let mut logs = Array3::zeros((v.nrows(), n, n));
    for (mut log, row) in logs.axis_iter_mut(Axis(0)).zip(v.rows()) {
        log.assign(&linalg::smat(row, n)?);
    }
    sandwich("from_tangent_space", root.view(), expm(logs.view())?.view())
}

/// C^1/2 and C^-1/2.
pub(crate) fn roots(what: &'static str, c: ArrayView2<'_, f64>) -> Result<(Array2<f64>, Array2<f64>)> {
    Ok((one(what, c, f64::sqrt)?, one(what, c, |v| 1.0 / v.sqrt())?))
}

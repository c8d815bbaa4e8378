//! Functions of symmetric matrices, in batches: f(A) = Z diag(f(d)) Z^T.
//!
//! Batches are (k, n, n). Groups of eight run side by side (see `linalg::batch`); blocks of groups go to the threads, each with
//! one workspace. Logarithms need no eigenvalues (`logarithm.rs`).

use crate::batch::eigen::{Eigen, Fault, positive};
use crate::batch::logarithm::Logarithm;
use crate::batch::{LANES, V, pack, unpack_lane};
use crate::check;
use crate::{InputError, Result};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis, Zip};
use rayon::prelude::*;

/// Groups of eight matrices per task.
const GROUPS: usize = 4;

/// f applied to the eigenvalues of every symmetric matrix of the batch.
///
/// ```
/// let a = ndarray::arr3(&[[[2.0, 1.0], [1.0, 2.0]]]);
/// let square = spd::map_eigenvalues(a.view(), |x| x * x).unwrap();
/// assert!((square[[0, 0, 0]] - 5.0).abs() < 1e-14 && (square[[0, 0, 1]] - 4.0).abs() < 1e-14);
/// ```
pub fn map_eigenvalues(x: ArrayView3<'_, f64>, f: impl Fn(f64) -> f64 + Sync) -> Result<Array3<f64>> {
    apply("map_eigenvalues", x, f, false)
}

/// The matrix logarithm of every matrix.
pub fn logm(x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
    logarithms("logm", x)
}

/// The matrix exponential of every symmetric matrix.
pub fn expm(x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
    apply("expm", x, linalg::math::exp, false)
}

/// The symmetric positive definite square root of every matrix.
pub fn sqrtm(x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
    apply("sqrtm", x, f64::sqrt, true)
}

/// The inverse square root of every matrix.
pub fn invsqrtm(x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
    apply("invsqrtm", x, |v| 1.0 / v.sqrt(), true)
}

/// Every matrix to the real power `alpha`.
pub fn powm(x: ArrayView3<'_, f64>, alpha: f64) -> Result<Array3<f64>> {
    if !alpha.is_finite() {
        return Err(InputError::parameter("alpha", alpha, "finite").into());
    }
    apply("powm", x, |v| linalg::math::pow(v, alpha), true)
}

/// f on the eigenvalues; with `must_be_positive` a matrix with another eigenvalue is refused.
pub(crate) fn apply(
    what: &'static str,
    x: ArrayView3<'_, f64>,
    f: impl Fn(f64) -> f64 + Sync,
    must_be_positive: bool,
) -> Result<Array3<f64>> {
    each(
        what,
        x,
        |n| Eigen::new(n, true),
        |work, a, out| {
            work.vectors(a)?;
            if must_be_positive {
                positive(&work.d)?;
            }
            let g: Vec<V> = work.d.iter().map(|d| d.map(&f)).collect();
            work.rebuild(&g, out);
            Ok(())
        },
    )
}

/// As [`logm`]; errors name `what`.
pub(crate) fn logarithms(what: &'static str, x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
    each(what, x, Logarithm::new, |work, a, out| work.solve(a, out).map(|_| ()))
}

/// A function of groups of eight: `solve` turns lower triangles (by columns) into others, with one workspace per task.
fn each<W>(
    what: &'static str,
    x: ArrayView3<'_, f64>,
    workspace: impl Fn(usize) -> W + Sync,
    solve: impl Fn(&mut W, &mut [V], &mut [V]) -> std::result::Result<(), Fault> + Sync,
) -> Result<Array3<f64>> {
    let n = check::symmetric(what, &x)?;
    let mut out = Array3::zeros(x.dim());
    let block = LANES * GROUPS;
    let results = out
        .axis_chunks_iter_mut(Axis(0), block)
        .into_par_iter()
        .enumerate()
        .map(|(b, mut chunk)| {
            let mut work = workspace(n);
            let (mut a, mut image) = (vec![V::ZERO; n * n], vec![V::ZERO; n * n]);
            let mut flat = vec![0.0; n * n];
            for first in (0..chunk.len_of(Axis(0))).step_by(LANES) {
                pack(x, b * block + first, false, &mut a);
                let index = |lane: usize| (b * block + first + lane).min(x.len_of(Axis(0)) - 1);
                solve(&mut work, &mut a, &mut image).map_err(|fault: Fault| fault.error(what, index))?;
                for (lane, mut to) in chunk.axis_iter_mut(Axis(0)).skip(first).take(LANES).enumerate() {
                    unpack_lane(n, &image, lane, &mut flat);
                    to.iter_mut().zip(&flat).for_each(|(t, v)| *t = *v);
                }
            }
            Ok(())
        })
        .collect::<Vec<Result<()>>>();
    // The first error in the order of the batch, whichever thread met one first.
    results.into_iter().collect::<Result<Vec<()>>>()?;
    Ok(out)
}

/// f(A) for one symmetric positive definite matrix.
pub(crate) fn one(what: &'static str, a: ArrayView2<'_, f64>, f: impl Fn(f64) -> f64 + Sync) -> Result<Array2<f64>> {
    Ok(apply(what, a.insert_axis(Axis(0)), f, true)?.index_axis_move(Axis(0), 0))
}

/// S X S^T for every X of the batch, symmetric to the last bit. S is (m, n), the results are (m, m).
pub(crate) fn sandwich(what: &'static str, s: ArrayView2<'_, f64>, x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
    let (m, n) = s.dim();
    let k = x.dim().0;
    if x.dim().1 != n || x.dim().2 != n {
        return Err(InputError::shape(what, [k, n, n], x.shape()).into());
    }
    let mut out = Array3::zeros((k, m, m));
    Zip::from(out.outer_iter_mut()).and(x.outer_iter()).par_for_each(|mut to, x| {
        let product = linalg::matmul(linalg::matmul(s, x).view(), s.t());
        to.assign(&linalg::symmetrise(product.view()));
    });
    Ok(out)
}

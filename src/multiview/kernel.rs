//! Kernels between rows of feature matrices: RBF on Euclidean distances, and three forms of chi^2 on histograms.
//!
//! Distances are (l, l) between the l rows. A bandwidth that is not given is the mean of the full distance matrix, zero
//! diagonal included, as in the published kernels of Multiple Features.

use crate::{Error, InputError, Result, check};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use rayon::prelude::*;

/// Euclidean distances between rows.
pub fn euclidean_distances(x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    check::finite("euclidean_distances", &x)?;
    pairs(x, |a, b| a.iter().zip(&b).map(|(u, v)| (u - v) * (u - v)).sum::<f64>().sqrt())
}

/// The general chi^2 distance 1/2 sum_k (x_k - y_k)^2 / (x_k + y_k) between rows; terms with x_k + y_k = 0 count zero.
pub fn chi2_distances(x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    non_negative(x)?;
    let term = |u: f64, v: f64| if u + v == 0.0 { 0.0 } else { (u - v) * (u - v) / (u + v) };
    pairs(x, move |a, b| 0.5 * a.iter().zip(&b).map(|(u, v)| term(*u, *v)).sum::<f64>())
}

/// The RBF kernel exp(-d^2 / (2 s^2)) on Euclidean distances d.
///
/// ```
/// let x = ndarray::array![[0.0], [1.0], [3.0]];
/// let k = multiview::rbf_kernel(x.view(), Some(1.0)).unwrap();
/// assert!((k[[0, 1]] - (-0.5f64).exp()).abs() < 1e-15 && k[[2, 2]] == 1.0);
/// ```
pub fn rbf_kernel(x: ArrayView2<'_, f64>, bandwidth: Option<f64>) -> Result<Array2<f64>> {
    let d = euclidean_distances(x)?;
    let s = resolve("rbf_kernel", &d, bandwidth)?;
    Ok(d.mapv(|d| linalg::math::exp(-(d * d) / (2.0 * s * s))))
}

/// The exponential chi^2 kernel exp(-h / (2 s^2)), h the general chi^2 distance.
pub fn chi2_kernel(x: ArrayView2<'_, f64>, bandwidth: Option<f64>) -> Result<Array2<f64>> {
    let h = chi2_distances(x)?;
    let s = resolve("chi2_kernel", &h, bandwidth)?;
    Ok(h.mapv(|h| linalg::math::exp(-h / (2.0 * s * s))))
}

/// The additive chi^2 kernel sum_k 2 x_k y_k / (x_k + y_k): positive semi-definite, |x|_1 on the diagonal.
///
/// It equals (|x|_1 + |y|_1) / 2 minus the general distance.
pub fn chi2_additive_kernel(x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    non_negative(x)?;
    let term = |u: f64, v: f64| if u + v == 0.0 { 0.0 } else { 2.0 * u * v / (u + v) };
    pairs(x, move |a, b| a.iter().zip(&b).map(|(u, v)| term(*u, *v)).sum::<f64>())
}

/// Columns of whole numbers as indicator columns, one per value that occurs, values ascending.
pub fn one_hot(x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    check::finite("one_hot", &x)?;
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for column in x.columns() {
        let mut values = column.to_vec();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        columns.extend(values.iter().map(|v| column.iter().map(|c| f64::from(u8::from(c == v))).collect()));
    }
    Ok(Array2::from_shape_fn((x.nrows(), columns.len()), |(i, j)| columns[j][i]))
}

fn resolve(what: &'static str, d: &Array2<f64>, bandwidth: Option<f64>) -> Result<f64> {
    let s = bandwidth.unwrap_or_else(|| d.sum() / d.len() as f64);
    match bandwidth {
        None if s <= 0.0 => Err(Error::NoSpread { what }),
        _ if !(s > 0.0 && s.is_finite()) => Err(InputError::parameter("bandwidth", s, "positive and finite").into()),
        _ => Ok(s),
    }
}

fn non_negative(x: ArrayView2<'_, f64>) -> Result<()> {
    check::finite("chi^2", &x)?;
    match x.indexed_iter().find(|(_, v)| **v < 0.0) {
        Some(((row, column), &value)) => Err(Error::NegativeFeature { row, column, value }),
        None => Ok(()),
    }
}

/// f of every pair of rows, f symmetric: the lower half is computed and mirrored.
fn pairs(
    x: ArrayView2<'_, f64>,
    f: impl Fn(ArrayView1<'_, f64>, ArrayView1<'_, f64>) -> f64 + Sync,
) -> Result<Array2<f64>> {
    let l = x.nrows();
    if x.is_empty() {
        return Err(InputError::empty("kernel").into());
    }
    let mut out = Array2::zeros((l, l));
    out.axis_iter_mut(Axis(0)).into_par_iter().enumerate().for_each(|(i, mut row)| {
        for j in 0..=i {
            row[j] = f(x.row(i), x.row(j));
        }
    });
    for i in 0..l {
        for j in 0..i {
            out[[j, i]] = out[[i, j]];
        }
    }
    Ok(out)
}

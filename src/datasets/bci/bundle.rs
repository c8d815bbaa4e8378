//! A bundle: covariances that the user computed before, as a `.npz` file with the arrays `covariances` (n, c, c) and `labels` (n).

use std::io::Cursor;

use ndarray::{Axis, Ix3};
use npy::{Array, NpzReader};

use super::Bundle;
use crate::{Error, Result};

/// Reads and checks a bundle: finite symmetric matrices, a class from 1 to 4 for each.
pub fn read_bundle(name: &str, bytes: Vec<u8>) -> Result<Bundle> {
    let bad = |what: String| Error::dataset(name, what);
    let mut arrays = NpzReader::open(name, Cursor::new(bytes))?;
    let mut numbers = |wanted: &str| match arrays.array(wanted)? {
        Array::Numbers { values, .. } => Ok(values),
        Array::Text { .. } => Err(bad(format!("the array `{wanted}` holds text, it should hold numbers"))),
    };
    let covariances = numbers("covariances")?.into_dimensionality::<Ix3>();
    let covariances = covariances.map_err(|_| bad("`covariances` is not (trials, channels, channels)".into()))?;
    let labels = numbers("labels")?;
    let (n, c, d) = covariances.dim();
    if n == 0 || c == 0 || c != d {
        return Err(bad(format!("`covariances` has shape ({n}, {c}, {d})")));
    }
    if labels.len() != n {
        return Err(bad(format!("{n} covariances but {} labels", labels.len())));
    }
    for (i, m) in covariances.axis_iter(Axis(0)).enumerate() {
        let scale = m.iter().fold(0.0f64, |s, x| s.max(x.abs()));
        let symmetric = m.indexed_iter().all(|((a, b), x)| (x - m[(b, a)]).abs() <= 1e-8 * scale);
        if !(scale.is_finite() && m.iter().all(|x| x.is_finite()) && symmetric) {
            return Err(bad(format!("covariance {} is not finite and symmetric", i + 1)));
        }
    }
    let label = |x: &f64| if [1.0, 2.0, 3.0, 4.0].contains(x) { Ok(*x as u8) } else { Err(bad(format!("class {x}"))) };
    let labels = labels.iter().map(label).collect::<Result<_>>()?;
    Ok(Bundle { covariances, labels })
}

//! The matrix to complete, its mask and the views beside it: read and checked.

use crate::cli::own::arrays::ArrayInput;
use crate::cli::own::times;
use anyhow::{Result, bail, ensure};
use estimator::Mask;
use kraus::completion::Partial;
use ndarray::{Array2, Ix2};

/// Another matrix of the same samples.
pub fn view(file: &str, n: usize) -> Result<Partial> {
    let mut source = ArrayInput::open(file)?;
    let m = source.matrix("a view")?;
    ensure!(
        m.dim() == (n, n),
        "{file} is {} and the matrix has {n} rows; a view shows the same samples",
        times(m.shape())
    );
    partial(&source, &m, &Mask::from_nan(m.view()))
}

/// Which entries are observed.
pub fn observed(file: Option<&str>, name: &str, m: &Array2<f64>) -> Result<Mask<Ix2>> {
    let n = m.nrows();
    ensure!(m.dim() == (n, n), "{name} is {}; a matrix to complete is square", times(m.shape()));
    let mask = match file {
        None => Mask::from_nan(m.view()),
        Some(file) => {
            let values = ArrayInput::open(file)?.matrix("the mask")?;
            ensure!(
                values.dim() == (n, n),
                "{file} is {} and {name} is {}; both must agree",
                times(values.shape()),
                times(&[n, n])
            );
            if let Some(((i, j), v)) = values.indexed_iter().find(|(_, v)| **v != 0.0 && **v != 1.0) {
                bail!("{file}: entry ({i}, {j}) is {v}; a mask has 1 where observed and 0 where missing");
            }
            Mask::from_zeros_and_ones(values.view())?
        }
    };
    for ((i, j), v) in m.indexed_iter().filter(|(at, _)| mask[*at]) {
        ensure!(v.is_finite(), "{name}: entry ({i}, {j}) is {v} although it counts as observed; repair it or mask it");
        ensure!(
            i != j || *v >= 0.0,
            "{name}: diagonal entry {i} is {v}, so no completion is positive semidefinite; check that M is a kernel or a covariance"
        );
    }
    Ok(mask)
}

/// The matrix with its mask; what is symmetric up to the rounding of the file counts as symmetric.
pub fn partial(source: &ArrayInput, m: &Array2<f64>, mask: &Mask<Ix2>) -> Result<Partial> {
    let scale = m.iter().zip(mask.flags()).filter(|(_, w)| **w).fold(0.0f64, |s, (v, _)| s.max(v.abs()));
    let mut even = m.clone();
    for ((i, j), v) in m.indexed_iter().filter(|((i, j), _)| i > j && mask[[*i, *j]] && mask[[*j, *i]]) {
        let mirror = m[[j, i]];
        ensure!(
            (v - mirror).abs() <= source.tolerance() * scale,
            "{}: entries ({i}, {j}) = {v} and ({j}, {i}) = {mirror} differ; a matrix to complete is symmetric",
            source.name
        );
        (even[[i, j]], even[[j, i]]) = (0.5 * (v + mirror), 0.5 * (v + mirror));
    }
    Ok(Partial::new(even.view(), mask)?)
}

//! Zero and mean imputation of a kernel matrix whose missing samples are missing rows and columns.
//!
//! An entry is observed when both of its samples are. Observed entries are kept; every other entry becomes 0, or the mean of the
//! observed entries. Missing entries of the input are never read, so they may be NaN.

use crate::{Error, Result};
use estimator::Mask;
use ndarray::{Array2, ArrayView1, ArrayView2, Ix1};

/// The indices of the observed samples. Refuses a kernel that does not fit the mask, a mask with nothing observed, and observed entries
/// that are not finite.
pub(crate) fn check(kernel: ArrayView2<'_, f64>, observed: ArrayView1<'_, bool>) -> Result<Vec<usize>> {
    let n = observed.len();
    if kernel.dim() != (n, n) {
        let expected = format!("({n}, {n}) as the mask has {n} samples");
        return Err(Error::Input(estimator::Error::Shape { what: "kernel", expected, got: kernel.shape().to_vec() }));
    }
    let seen: Vec<usize> = (0..n).filter(|&i| observed[i]).collect();
    if seen.is_empty() {
        return Err(Error::Input(estimator::Error::Empty { what: "the observed part of the kernel" }));
    }
    match seen.iter().find(|&&i| seen.iter().any(|&j| !kernel[[i, j]].is_finite())) {
        Some(&sample) => {
            Err(Error::Input(estimator::Error::NotFinite { what: "the observed part of the kernel", sample }))
        }
        None => Ok(seen),
    }
}

fn fill(kernel: ArrayView2<'_, f64>, observed: &Mask<Ix1>, value: f64) -> Array2<f64> {
    let entry = |(i, j): (usize, usize)| if observed[i] && observed[j] { kernel[[i, j]] } else { value };
    Array2::from_shape_fn(kernel.dim(), entry)
}

/// Missing rows and columns become 0.
///
/// ```
/// use estimator::Mask;
/// use ndarray::array;
/// let k = array![[2.0, f64::NAN], [f64::NAN, f64::NAN]];
/// let observed = Mask::new(array![true, false]);
/// assert_eq!(baselines::imputation::zero(k.view(), &observed)?, array![[2.0, 0.0], [0.0, 0.0]]);
/// # Ok::<(), baselines::Error>(())
/// ```
pub fn zero(kernel: ArrayView2<'_, f64>, observed: &Mask<Ix1>) -> Result<Array2<f64>> {
    check(kernel, observed.flags())?;
    Ok(fill(kernel, observed, 0.0))
}

/// Missing rows and columns become the mean of the observed entries.
///
/// ```
/// use estimator::Mask;
/// use ndarray::array;
/// let k = array![[2.0, 1.0, 9.0], [1.0, 2.0, 9.0], [9.0, 9.0, 9.0]];
/// let filled = baselines::imputation::mean(k.view(), &Mask::new(array![true, true, false]))?;
/// assert_eq!(filled, array![[2.0, 1.0, 1.5], [1.0, 2.0, 1.5], [1.5, 1.5, 1.5]]);
/// # Ok::<(), baselines::Error>(())
/// ```
pub fn mean(kernel: ArrayView2<'_, f64>, observed: &Mask<Ix1>) -> Result<Array2<f64>> {
    let seen = check(kernel, observed.flags())?;
    let total: f64 = seen.iter().flat_map(|&i| seen.iter().map(move |&j| kernel[[i, j]])).sum();
    Ok(fill(kernel, observed, total / (seen.len() * seen.len()) as f64))
}

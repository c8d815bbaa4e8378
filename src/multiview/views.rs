//! The six kernels of Multiple Features, from the raw views to (l, l) matrices.
//!
//! `Published` follows the kernels that the authors released: RBF on fou, fac, kar, pix and zer, and on mor the sum of an RBF
//! kernel on its three real features and an exponential chi^2 kernel on its three integer features, one-hot encoded (the
//! distance then counts the features that differ; the diagonal is 2). `PaperText` follows the paper's sentence "chi^2 for
//! views in Z^d": the same, with the exponential chi^2 kernel on the integer views fac and pix.

use crate::{Error, InputError, Result, chi2_kernel, one_hot, rbf_kernel};
use ndarray::{Array2, ArrayView2, s};

/// The views in the order of the published kernels.
pub const VIEWS: [&str; 6] = ["fou", "fac", "kar", "pix", "zer", "mor"];

/// Features of each view, in the order of [`VIEWS`].
pub const VIEW_FEATURES: [usize; 6] = [76, 216, 64, 240, 47, 6];

/// Which recipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KernelPreset {
    /// As in the released kernels.
    #[default]
    Published,
    /// As the paper's text says.
    PaperText,
}

impl KernelPreset {
    /// `published` or `paper-text`.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "published" => Some(Self::Published),
            "paper-text" => Some(Self::PaperText),
            _ => None,
        }
    }
}

/// The kernels of all six views, in the order of [`VIEWS`]; `views` may come in any order, all with the same samples.
pub fn multiple_features_kernels(
    views: &[(&str, ArrayView2<'_, f64>)],
    preset: KernelPreset,
) -> Result<Vec<Array2<f64>>> {
    let find =
        |name: &'static str| views.iter().find(|(n, _)| *n == name).map(|(_, v)| *v).ok_or(Error::MissingView { name });
    let samples = find(VIEWS[0])?.nrows();
    let mut kernels = Vec::with_capacity(VIEWS.len());
    for (name, features) in VIEWS.into_iter().zip(VIEW_FEATURES) {
        let x = find(name)?;
        if x.dim() != (samples, features) {
            return Err(InputError::shape(name, [samples, features], x.shape()).into());
        }
        kernels.push(view_kernel(name, x, preset)?);
    }
    Ok(kernels)
}

/// The kernel of one view (l, features).
pub fn view_kernel(name: &str, x: ArrayView2<'_, f64>, preset: KernelPreset) -> Result<Array2<f64>> {
    match (name, preset) {
        ("mor", _) => morphology(x),
        ("fac" | "pix", KernelPreset::PaperText) => chi2_kernel(x, None),
        _ => rbf_kernel(x, None),
    }
}

/// mor: columns 0..3 are whole numbers, 3..6 are real.
fn morphology(x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    if x.ncols() != 6 {
        return Err(InputError::shape("mor", [x.nrows(), 6], x.shape()).into());
    }
    let real = rbf_kernel(x.slice(s![.., 3..]), None)?;
    Ok(real + chi2_kernel(one_hot(x.slice(s![.., ..3]))?.view(), None)?)
}

//! Matrices as points in the plane: tangent vectors at one matrix, on the first two principal axes of a reference set.

use crate::{InputError, Result, tangent_space};
use linalg::matmul;
use ndarray::{Array1, Array2, ArrayView2, ArrayView3, Axis, concatenate, s};

/// The plane of a reference set.
#[derive(Debug, Clone, PartialEq)]
pub struct Plane {
    at: Array2<f64>,
    centre: Array1<f64>,
    axes: Array2<f64>,
}

impl Plane {
    /// The first two principal axes of all matrices of the sets, in the tangent space at `at`. The largest entry of each axis is
    /// positive.
    pub fn fit(sets: &[ArrayView3<'_, f64>], at: ArrayView2<'_, f64>) -> Result<Self> {
        let what = "plane";
        let vectors = sets.iter().map(|x| tangent_space(*x, at)).collect::<Result<Vec<_>>>()?;
        let views: Vec<_> = vectors.iter().map(|v| v.view()).collect();
        let together = concatenate(Axis(0), &views).map_err(|_| InputError::empty(what))?;
        let centre = together.mean_axis(Axis(0)).ok_or(InputError::empty(what))?;
        let centred = &together - &centre;
        let gram = linalg::eigh(matmul(centred.t(), centred.view()).view())?;
        let d = gram.vectors.ncols();
        if d < 2 {
            return Err(InputError::parameter("channels", at.nrows() as f64, "at least 2 for a plane").into());
        }
        let mut axes = gram.vectors.slice(s![.., d - 2..;-1]).to_owned();
        for mut axis in axes.columns_mut() {
            let largest = axis.iter().copied().fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
            axis *= largest.signum();
        }
        Ok(Plane { at: at.to_owned(), centre, axes })
    }

    /// The points of matrices.
    pub fn points(&self, x: ArrayView3<'_, f64>) -> Result<Vec<(f64, f64)>> {
        let centred = &tangent_space(x, self.at.view())? - &self.centre;
        let points = matmul(centred.view(), self.axes.view());
        Ok(points.rows().into_iter().map(|r| (r[0], r[1])).collect())
    }
}

//! Matrices as points in the plane: tangent vectors at one matrix, on the first two principal axes of a reference set.

use crate::{InputError, Result, tangent_space};
use linalg::matmul;
use ndarray::{Array1, Array2, ArrayView2, ArrayView3, Axis, concatenate, s};

/// Number of coordinates above which axes are found by iteration, with this many vectors and steps.
const LARGE: usize = 600;
const BLOCK: usize = 8;
const STEPS: usize = 40;

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
        if centred.ncols() < 2 {
            return Err(InputError::parameter("channels", at.nrows() as f64, "at least 2 for a plane").into());
        }
        let mut axes = leading(matmul(centred.t(), centred.view()).view())?;
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

/// The two eigenvectors of the largest eigenvalues, the largest first. Of a large matrix by orthogonal iteration: exact enough for a
/// picture, and a decomposition of 2080 x 2080 numbers (64 channels) would take a minute.
fn leading(gram: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    let d = gram.nrows();
    if d <= LARGE {
        return Ok(linalg::eigh(gram)?.vectors.slice(s![.., d - 2..;-1]).to_owned());
    }
    let mut basis = Array2::from_shape_fn((d, BLOCK), |(i, j)| linalg::math::sin((1 + i * BLOCK + j) as f64));
    for _ in 0..STEPS {
        basis = linalg::svd(matmul(gram, basis.view()).view())?.u;
    }
    let small = matmul(basis.t(), matmul(gram, basis.view()).view());
    let turn = linalg::eigh(linalg::symmetrise(small.view()).view())?.vectors;
    Ok(matmul(basis.view(), turn.slice(s![.., BLOCK - 2..;-1])))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 36 channels have 666 coordinates; two of them vary far more than the others.
    #[test]
    fn axes_of_many_coordinates() {
        let d = 666;
        let spread = |i: usize| if i == 100 { 9.0 } else { f64::from(u8::from(i == 7)) * 4.0 + 1.0 / (2.0 + i as f64) };
        let axes = leading(Array2::from_diag(&(0..d).map(spread).collect::<Array1<f64>>()).view()).unwrap();
        assert!(axes[[100, 0]].abs() > 1.0 - 1e-9 && axes[[7, 1]].abs() > 1.0 - 1e-9);
    }
}

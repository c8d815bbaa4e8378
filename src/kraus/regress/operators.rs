//! A linear map as few operators: the Choi matrix J = sum_k s_k w_k w_k^T by its eigenpairs, those of largest absolute value first.
//!
//! Keeping r of them is the best approximation of rank r in the coordinates where both means are the identity. How many are kept is chosen by
//! cross-validation: the fewest whose error is within one standard error and one percent of the least.

use super::folds::{Folds, Score};
use super::layout::{Layout, svecs};
use super::ridge::{self, Ridge, Setting, squares};
use super::whiten::Coordinates;
use crate::error::Result;
use linalg::{eigh, gemm, matmul};
use ndarray::{Array1, Array2, Array3, ArrayView2, ArrayView3, Axis, s};
use rayon::prelude::*;

/// Numbers of operators that are tried.
const COUNTS: [usize; 8] = [5, 10, 20, 40, 80, 160, 320, 640];

/// The numbers tried for a Choi matrix of this size, all of them last.
pub(super) fn counts(size: usize) -> Vec<usize> {
    COUNTS.into_iter().filter(|r| *r < size).chain([size]).collect()
}

/// Eigenpairs of the Choi matrix of a fitted map.
pub(super) struct Spectrum {
    /// Eigenvalues, largest absolute value first.
    values: Vec<f64>,
    /// Eigenvectors times the inverse of the coordinates of Y, one per row: w_k up to its size.
    rows: Array2<f64>,
    layout: Layout,
}

impl Spectrum {
    pub fn of(ridge: &Ridge, y: ArrayView3<'_, f64>) -> Result<Self> {
        let (p, q) = (ridge.coordinates.forward.nrows(), y.dim().1);
        let layout = Layout::new(p, q);
        // Outputs without a definite mean keep their own coordinates.
        let target = match Coordinates::of(y, 0.5)? {
            Some(c) => c,
            None => Coordinates::of(y, 0.0)?.expect("power 0 is always defined"),
        };
        let j = on_outputs(layout.spread(ridge.map.view()), target.forward.view(), p);
        let e = eigh(j.view())?;
        let mut order: Vec<usize> = (0..e.values.len()).collect();
        order.sort_by(|a, b| e.values[*b].abs().total_cmp(&e.values[*a].abs()));
        let values: Vec<f64> = order.iter().map(|k| e.values[*k]).collect();
        let mut rows = Array2::zeros((order.len(), p * q));
        for (mut row, k) in rows.rows_mut().into_iter().zip(&order) {
            let column = e.vectors.column(*k).to_owned().into_shape_with_order((q, p)).expect("q p entries");
            let turned = matmul(target.back.view(), column.view());
            row.assign(&turned.into_shape_with_order(p * q).expect("q p entries"));
        }
        Ok(Self { values, rows, layout })
    }

    /// The map of the first operators, from r to r: adds the pairs `from..to` to a Choi matrix.
    fn add(&self, j: &mut Array2<f64>, from: usize, to: usize) {
        let rows = self.rows.slice(s![from..to, ..]);
        let scaled = &rows * &Array1::from(self.values[from..to].to_vec()).insert_axis(Axis(1));
        gemm(1.0, scaled.t(), rows, 1.0, j.view_mut());
    }

    /// Operators (r, q, p) and signs of the map between matrices as given.
    pub fn operators(&self, count: usize, input: &Coordinates) -> (Array3<f64>, Vec<f64>) {
        let (p, q) = (self.layout.p, self.layout.q);
        let top = self.values.first().map_or(0.0, |v| v.abs());
        let kept = self.values.iter().take(count).take_while(|v| v.abs() > 1e-14 * top).count().max(1);
        let mut ops = Array3::zeros((kept, q, p));
        for (k, mut op) in ops.axis_iter_mut(Axis(0)).enumerate() {
            let row = self.rows.row(k).to_owned().into_shape_with_order((q, p)).expect("q p entries");
            op.assign(&(matmul(row.view(), input.forward.view()) * self.values[k].abs().sqrt()));
        }
        (ops, self.values[..kept].iter().map(|v| if *v < 0.0 { -1.0 } else { 1.0 }).collect())
    }
}

/// (W (x) I) J (W (x) I) with W on the output index.
fn on_outputs(j: Array2<f64>, w: ArrayView2<'_, f64>, p: usize) -> Array2<f64> {
    let (n, q) = (j.nrows(), w.nrows());
    let left = |j: Array2<f64>| {
        let wide = j.into_shape_with_order((q, p * n)).expect("q p rows of n");
        matmul(w, wide.view()).into_shape_with_order((n, n)).expect("q p rows of n")
    };
    let half = left(j);
    linalg::symmetrise(left(half.reversed_axes().as_standard_layout().into_owned()).view())
}

/// Errors of every number of operators on every fold.
pub(super) fn curve(
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
    choice: &Setting,
    folds: &Folds,
) -> Result<Vec<Score>> {
    let counts = counts(x.dim().1 * y.dim().1);
    let per_fold: Vec<Vec<f64>> = (0..folds.count())
        .into_par_iter()
        .map(|fold| -> Result<Vec<f64>> {
            let (out, inn) = (folds.outside(fold), folds.inside(fold));
            let (xa, ya) = (x.select(Axis(0), &out), y.select(Axis(0), &out));
            let (xb, yb) = (x.select(Axis(0), &inn), svecs(y.select(Axis(0), &inn).view()));
            let targets = svecs(ya.view());
            let ridge = ridge::fit(xa.view(), &targets, choice)?;
            let spectrum = Spectrum::of(&ridge, ya.view())?;
            let (mean_x, mean_y) = (
                svecs(ridge.coordinates.apply(xa.view()).view()).mean_axis(Axis(0)).expect("folds leave samples"),
                targets.mean_axis(Axis(0)).expect("folds leave samples"),
            );
            let test = svecs(ridge.coordinates.apply(xb.view()).view()) - &mean_x;
            let size = spectrum.values.len();
            let (mut j, mut done) = (Array2::zeros((size, size)), 0);
            let mut errors = Vec::with_capacity(counts.len());
            for &count in &counts {
                let error = if count == size {
                    squares(ridge.predict(xb.view()).view(), yb.view())
                } else {
                    spectrum.add(&mut j, done, count);
                    done = count;
                    let l = spectrum.layout.gather(j.view());
                    squares((matmul(test.view(), l.t()) + &mean_y).view(), yb.view())
                };
                errors.push(error / yb.nrows() as f64);
            }
            Ok(errors)
        })
        .collect::<Result<_>>()?;
    Ok(counts.iter().enumerate().map(|(k, r)| Score::new(*r, per_fold.iter().map(|f| f[k]).collect())).collect())
}

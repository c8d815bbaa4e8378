//! linfa's traits for our estimators: each matrix is a row, so that linfa can split, cross-validate and pipe them.
//!
//! linfa's datasets hold one row per sample. A p x p matrix is the row of its p^2 entries, row by row, and the size of the
//! matrix follows from the length of the row. linfa's `predict` cannot return an error: there, and only there, input of
//! the wrong shape is a panic with the message that [`MatrixModel::predict_matrices`](crate::MatrixModel) would return.

use crate::{Error, Result};
use ndarray::{Array2, Array3, ArrayView2, Axis};

/// Square matrices from rows (l, n^2): (l, n, n). Refuses rows whose length is no square.
pub fn from_rows(what: &'static str, rows: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
    let (l, width) = rows.dim();
    let n = width.isqrt();
    if n * n != width {
        let expected = format!("({l}, n^2), one square matrix per row");
        return Err(Error::Shape { what, expected, got: rows.shape().to_vec() });
    }
    let data = rows.iter().copied().collect();
    // The vector has l n n entries, because the width is n n.
    Ok(Array3::from_shape_vec((l, n, n), data).expect("l n n entries"))
}

/// Matrices (l, p, q) as rows (l, p q).
pub fn to_rows(matrices: Array3<f64>) -> Array2<f64> {
    let l = matrices.len_of(Axis(0));
    let width = matrices.len() / l.max(1);
    // Iteration is in logical order, which is row by row.
    Array2::from_shape_vec((l, width), matrices.into_iter().collect()).expect("as many entries as before")
}

/// linfa's `Fit` for an estimator that is a [`Regression`](crate::Regression), and `PredictInplace` for its model.
///
/// Where several estimators share one type of model use [`regression_fit_by_rows!`](crate::regression_fit_by_rows) for each of
/// them and [`regression_predict_by_rows!`](crate::regression_predict_by_rows) once.
#[macro_export]
macro_rules! regression_by_rows {
    ($estimator:ty, $model:ty) => {
        $crate::regression_fit_by_rows!($estimator, $model);
        $crate::regression_predict_by_rows!($model);
    };
}

/// linfa's `Fit` for an estimator that is a [`Regression`](crate::Regression).
#[macro_export]
macro_rules! regression_fit_by_rows {
    ($estimator:ty, $model:ty) => {
        impl<D, E>
            $crate::linfa::traits::Fit<
                $crate::ndarray::ArrayBase<D, $crate::ndarray::Ix2>,
                $crate::ndarray::ArrayBase<E, $crate::ndarray::Ix2>,
                $crate::Error,
            > for $estimator
        where
            D: $crate::ndarray::Data<Elem = f64>,
            E: $crate::ndarray::Data<Elem = f64>,
        {
            type Object = $model;

            fn fit(
                &self,
                dataset: &$crate::linfa::DatasetBase<
                    $crate::ndarray::ArrayBase<D, $crate::ndarray::Ix2>,
                    $crate::ndarray::ArrayBase<E, $crate::ndarray::Ix2>,
                >,
            ) -> $crate::Result<$model> {
                let x = $crate::from_rows("records", dataset.records.view())?;
                let y = $crate::from_rows("targets", dataset.targets.view())?;
                $crate::Regression::fit_matrices(self, x.view(), y.view())
            }
        }
    };
}

/// linfa's `PredictInplace` for a [`MatrixModel`](crate::MatrixModel).
#[macro_export]
macro_rules! regression_predict_by_rows {
    ($model:ty) => {
        impl<D: $crate::ndarray::Data<Elem = f64>>
            $crate::linfa::traits::PredictInplace<
                $crate::ndarray::ArrayBase<D, $crate::ndarray::Ix2>,
                $crate::ndarray::Array2<f64>,
            > for $model
        {
            /// # Panics
            /// On rows that are no matrices of the model's input size: linfa's trait has no error to return.
            fn predict_inplace<'a>(
                &'a self,
                x: &'a $crate::ndarray::ArrayBase<D, $crate::ndarray::Ix2>,
                y: &mut $crate::ndarray::Array2<f64>,
            ) {
                let predicted = $crate::from_rows("records", x.view())
                    .and_then(|x| $crate::MatrixModel::predict_matrices(self, x.view()));
                match predicted {
                    Ok(predicted) => *y = $crate::to_rows(predicted),
                    Err(wrong) => panic!("{wrong}"),
                }
            }

            fn default_target(
                &self,
                x: &$crate::ndarray::ArrayBase<D, $crate::ndarray::Ix2>,
            ) -> $crate::ndarray::Array2<f64> {
                let (_, (rows, cols)) = $crate::MatrixModel::sizes(self);
                $crate::ndarray::Array2::zeros((x.nrows(), rows * cols))
            }
        }
    };
}

/// linfa's `Fit` for an estimator that is a [`Classification`](crate::Classification) of matrices (`Ix3`, one per row of the
/// dataset) or of rows (`Ix2`), and `PredictInplace` for its model. Targets are integers.
#[macro_export]
macro_rules! classification_by_rows {
    (@ $estimator:ty, $model:ty, |$rows:ident| $samples:expr) => {
        impl<D, E>
            $crate::linfa::traits::Fit<
                $crate::ndarray::ArrayBase<D, $crate::ndarray::Ix2>,
                $crate::ndarray::ArrayBase<E, $crate::ndarray::Ix1>,
                $crate::Error,
            > for $estimator
        where
            D: $crate::ndarray::Data<Elem = f64>,
            E: $crate::ndarray::Data<Elem = i64>,
        {
            type Object = $model;

            fn fit(
                &self,
                dataset: &$crate::linfa::DatasetBase<
                    $crate::ndarray::ArrayBase<D, $crate::ndarray::Ix2>,
                    $crate::ndarray::ArrayBase<E, $crate::ndarray::Ix1>,
                >,
            ) -> $crate::Result<$model> {
                let $rows = dataset.records.view();
                let x = $samples?;
                let labels = $crate::Labels::new(&dataset.targets.to_vec())?;
                $crate::Classification::fit_labels(self, x.view(), &labels)
            }
        }

        impl<D: $crate::ndarray::Data<Elem = f64>>
            $crate::linfa::traits::PredictInplace<
                $crate::ndarray::ArrayBase<D, $crate::ndarray::Ix2>,
                $crate::ndarray::Array1<i64>,
            > for $model
        {
            /// # Panics
            /// On rows that do not fit the model: linfa's trait has no error to return.
            fn predict_inplace<'a>(
                &'a self,
                x: &'a $crate::ndarray::ArrayBase<D, $crate::ndarray::Ix2>,
                y: &mut $crate::ndarray::Array1<i64>,
            ) {
                let $rows = x.view();
                let predicted = $samples.and_then(|x| $crate::LabelModel::predict_labels(self, x.view()));
                match predicted {
                    Ok(predicted) => *y = $crate::ndarray::Array1::from(predicted),
                    Err(wrong) => panic!("{wrong}"),
                }
            }

            fn default_target(
                &self,
                x: &$crate::ndarray::ArrayBase<D, $crate::ndarray::Ix2>,
            ) -> $crate::ndarray::Array1<i64> {
                $crate::ndarray::Array1::zeros(x.nrows())
            }
        }
    };
    ($estimator:ty, $model:ty, Ix3) => {
        $crate::classification_by_rows!(@ $estimator, $model, |rows| $crate::from_rows("records", rows));
    };
    ($estimator:ty, $model:ty, Ix2) => {
        $crate::classification_by_rows!(@ $estimator, $model, |rows| $crate::Result::Ok(rows.to_owned()));
    };
}

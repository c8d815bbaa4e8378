//! Exact transport of tangent vectors, with POT's rule for matrices that were not transported.
//!
//! Both domains are whitened by their own mean and become tangent vectors s = svec log X at the identity. The exact plan P
//! between them, under squared Euclidean distances and uniform weights, sends vector s_i to the barycentre
//! sum_j P_ij t_j / sum_j P_ij (POT's `EMDTransport`). A new vector moves as the nearest transported one does: s + (image of s_i) - s_i.
//! The images are matrices around the identity again; target matrices must be whitened likewise ([`TangentTransport::target`]).

use crate::manifold::function::{one, sandwich};
use crate::manifold::mean::mean;
use crate::{CheckedMeanParams, Metric, Result, check, emd, from_tangent_space, tangent_space};
use ndarray::{Array1, Array2, Array3, ArrayView3, Axis};

/// A fitted transport.
#[derive(Debug, Clone)]
pub struct TangentTransport {
    /// M_s^-1/2 and M_t^-1/2.
    whiten: (Array2<f64>, Array2<f64>),
    vectors: Array2<f64>,
    images: Array2<f64>,
}

impl TangentTransport {
    /// The exact plan between all matrices of the source (k, n, n) and of the target (m, n, n).
    pub fn fit(source: ArrayView3<'_, f64>, target: ArrayView3<'_, f64>, params: &CheckedMeanParams) -> Result<Self> {
        let n = check::symmetric_pair("tangent transport", &source, &target)?;
        let whitener = |x: ArrayView3<'_, f64>| -> Result<Array2<f64>> {
            let centre = mean(x, None, Metric::AffineInvariant, params)?.matrix;
            one("tangent transport", centre.view(), |v| 1.0 / v.sqrt())
        };
        let whiten = (whitener(source)?, whitener(target)?);
        let eye = Array2::<f64>::eye(n);
        let tangent = |w: &Array2<f64>, x: ArrayView3<'_, f64>| {
            tangent_space(sandwich("tangent transport", w.view(), x)?.view(), eye.view())
        };
        let (vectors, to) = (tangent(&whiten.0, source)?, tangent(&whiten.1, target)?);
        let cost = squared_distances(&vectors, &to);
        let uniform = |k: usize| Array1::from_elem(k, 1.0 / k as f64);
        let plan = emd(cost.view(), uniform(vectors.nrows()).view(), uniform(to.nrows()).view())?.plan;
        let mut images = linalg::matmul(plan.view(), to.view());
        for (mut image, row) in images.rows_mut().into_iter().zip(plan.rows()) {
            image /= row.sum();
        }
        Ok(TangentTransport { whiten, vectors, images })
    }

    /// The images of the source itself, around the identity.
    pub fn images(&self) -> Result<Array3<f64>> {
        from_tangent_space(self.images.view(), Array2::eye(self.whiten.0.nrows()).view())
    }

    /// The images of new matrices of the source, around the identity.
    pub fn apply(&self, x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
        let eye = Array2::<f64>::eye(self.whiten.0.nrows());
        let mut v = tangent_space(sandwich("tangent transport", self.whiten.0.view(), x)?.view(), eye.view())?;
        let nearest = squared_distances(&v, &self.vectors);
        for (mut row, d) in v.rows_mut().into_iter().zip(nearest.rows()) {
            let i = (1..d.len()).fold(0, |best, k| if d[k] < d[best] { k } else { best });
            row += &(&self.images.row(i) - &self.vectors.row(i));
        }
        from_tangent_space(v.view(), eye.view())
    }

    /// Matrices of the target around the identity.
    pub fn target(&self, x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
        sandwich("tangent transport", self.whiten.1.view(), x)
    }
}

fn squared_distances(a: &Array2<f64>, b: &Array2<f64>) -> Array2<f64> {
    let mut d = Array2::zeros((a.nrows(), b.nrows()));
    for (mut row, x) in d.axis_iter_mut(Axis(0)).zip(a.rows()) {
        for (d, y) in row.iter_mut().zip(b.rows()) {
            *d = x.iter().zip(y).map(|(u, v)| (u - v) * (u - v)).sum();
        }
    }
    d
}

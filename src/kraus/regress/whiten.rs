//! Coordinates in which matrices have equal scale: X' = W X W with W = (mean of X)^-t.
//!
//! t = 1/2 makes the mean the identity, t = 0 leaves X as it is, and powers between weigh strong directions partly. A penalty on a map depends on
//! the coordinates it is written in, and which are best depends on the data; the map itself does not change, since A X A^T = (A W^-1) X' (A W^-1)^T.

use crate::error::Result;
use linalg::{eigh, matmul};
use ndarray::{Array2, Array3, ArrayView3, Axis};

/// W and its inverse.
#[derive(Debug, Clone)]
pub(super) struct Coordinates {
    pub forward: Array2<f64>,
    pub back: Array2<f64>,
}

impl Coordinates {
    /// Powers -t and t of the mean of a batch, scaled to mean eigenvalue one. None where the mean is not positive definite and t > 0.
    pub fn of(x: ArrayView3<'_, f64>, t: f64) -> Result<Option<Self>> {
        let (l, n, _) = x.dim();
        let mean = x.sum_axis(Axis(0)) / l.max(1) as f64;
        if t == 0.0 {
            let level = (mean.diag().sum() / n as f64).abs().max(f64::MIN_POSITIVE);
            let (eye, root) = (Array2::<f64>::eye(n), level.sqrt());
            return Ok(Some(Self { forward: &eye / root, back: &eye * root }));
        }
        let e = eigh(linalg::symmetrise(mean.view()).view())?;
        let top = e.values[n - 1];
        if e.values[0] <= 1e-10 * top {
            return Ok(None);
        }
        let level = e.values.sum() / n as f64;
        let power = |t: f64| {
            let scaled = &e.vectors
                * &e.values.mapv(|v| {
                    linalg::math::pow(v / level, t) * if t < 0.0 { 1.0 / level.sqrt() } else { level.sqrt() }
                });
            linalg::symmetrise(matmul(scaled.view(), e.vectors.t()).view())
        };
        Ok(Some(Self { forward: power(-t), back: power(t) }))
    }

    /// W X W for a batch.
    pub fn apply(&self, x: ArrayView3<'_, f64>) -> Array3<f64> {
        let mut out = Array3::zeros(x.dim());
        for (mut o, m) in out.axis_iter_mut(Axis(0)).zip(x.axis_iter(Axis(0))) {
            o.assign(&matmul(matmul(self.forward.view(), m).view(), self.forward.view()));
        }
        out
    }
}

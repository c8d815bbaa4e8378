//! Proximal maps of spectral functions on vectorised matrices: singular-value thresholding and the PSD cone.
//!
//! prox of t ||.||_*: soft-threshold the singular values by t (J.-F. Cai, E. J. Candes, Z. Shen, *A singular value
//! thresholding algorithm for matrix completion*, SIAM J. Optimization 2010); on symmetric matrices that
//! soft-thresholds the eigenvalues, sign kept. Projection on the PSD cone: clamp the eigenvalues at zero.

use crate::{Layout, Result};
use linalg::{eigh, matmul, smat, svd, svec};
use ndarray::{Array2, ArrayView1, ArrayViewMut1};

/// What is asked of the regression matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spectral {
    /// A nuclear-norm penalty.
    Nuclear,
    /// Positive semidefinite, no penalty.
    Psd,
}

fn unpack(layout: Layout, v: ArrayView1<'_, f64>) -> Result<Array2<f64>> {
    if layout.half {
        return Ok(smat(v, layout.rows)?);
    }
    let entries = v.iter().copied();
    Ok(Array2::from_shape_fn((layout.rows, layout.cols), {
        let entries: Vec<f64> = entries.collect();
        move |(i, j)| entries[i * layout.cols + j]
    }))
}

fn soft(value: f64, threshold: f64) -> f64 {
    value.signum() * (value.abs() - threshold).max(0.0)
}

impl Spectral {
    /// v <- prox(v) with this threshold, in place.
    pub(crate) fn prox(self, layout: Layout, threshold: f64, mut v: ArrayViewMut1<'_, f64>) -> Result<()> {
        let a = unpack(layout, v.view())?;
        if layout.half {
            let e = eigh(a.view())?;
            let shrunk = e.values.mapv(|w| match self {
                Spectral::Nuclear => soft(w, threshold),
                Spectral::Psd => w.max(0.0),
            });
            let b = matmul((&e.vectors * &shrunk).view(), e.vectors.t());
            v.assign(&svec(b.view()));
        } else {
            let d = svd(a.view())?;
            let b = matmul((&d.u * &d.s.mapv(|s| soft(s, threshold))).view(), d.vt.view());
            v.iter_mut().zip(b.iter()).for_each(|(out, &e)| *out = e);
        }
        Ok(())
    }
}

/// Nuclear norm (sum of singular values) and operator norm (the largest) of a vectorised matrix.
pub(crate) fn norms(layout: Layout, v: ArrayView1<'_, f64>) -> Result<(f64, f64)> {
    let a = unpack(layout, v)?;
    let s = if layout.half { eigh(a.view())?.values.mapv(f64::abs) } else { svd(a.view())?.s };
    Ok((s.sum(), s.iter().fold(0.0, |m, &e| m.max(e))))
}

//! Proximal maps of spectral functions on vectorised matrices: singular-value thresholding and the PSD cone.
//!
//! prox of t ||.||_*: soft-threshold the singular values by t (J.-F. Cai, E. J. Candes, Z. Shen, *A singular value
//! thresholding algorithm for matrix completion*, SIAM J. Optimization 2010); on symmetric matrices that
//! soft-thresholds the eigenvalues, sign kept. Projection on the PSD cone: clamp the eigenvalues at zero.
//!
//! For symmetric n x n matrices the norm may be ||B||_M^2 = ||B||_F^2 + kappa (tr B)^2 / n instead, in which the trace weighs more.
//! It depends on the eigenvalues only, so the prox keeps the eigenvectors of its argument and maps the eigenvalues v to
//! z = shrink(v - kappa s / n). The number s = sum z - sum v is the root of a decreasing piecewise linear function.

use crate::{Layout, Result};
use linalg::{eigh, matmul, smat, svd, svec};
use ndarray::{Array2, ArrayView1, ArrayViewMut1};

/// The penalty or constraint on the regression matrix.
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
    fn shrink(self, value: f64, threshold: f64) -> f64 {
        match self {
            Spectral::Nuclear => soft(value, threshold),
            Spectral::Psd => value.max(0.0),
        }
    }

    /// The shift kappa s / n of the eigenvalues, see the first lines of this file.
    fn shift(self, values: &[f64], threshold: f64, kappa: f64) -> f64 {
        if kappa == 0.0 {
            return 0.0;
        }
        let factor = kappa / values.len() as f64;
        // excess(x) is the shift that follows from a shift x, minus x. It falls by at least 1 per unit of x, so it has one root.
        let excess = |x: f64| factor * values.iter().map(|&v| self.shrink(v - x, threshold) - v).sum::<f64>() - x;
        let edges = match self {
            Spectral::Nuclear => threshold,
            Spectral::Psd => 0.0,
        };
        let mut kinks: Vec<f64> = values.iter().flat_map(|&v| [v - edges, v + edges]).collect();
        kinks.sort_by(f64::total_cmp);
        let after = kinks.partition_point(|&x| excess(x) > 0.0);
        // The function is a line between two kinks, before the first and after the last one. Two points on that line give the root.
        let (a, b) = match after {
            0 => (kinks[0] - 1.0, kinks[0]),
            k if k == kinks.len() => (kinks[k - 1], kinks[k - 1] + 1.0),
            k => (kinks[k - 1], kinks[k]),
        };
        let (fa, fb) = (excess(a), excess(b));
        if fa > fb { a + (b - a) * fa / (fa - fb) } else { b }
    }

    /// v <- prox(v) with this threshold, in place. `kappa` is that of the norm above; it is zero for matrices that are not symmetric.
    pub(crate) fn prox(self, layout: Layout, threshold: f64, kappa: f64, mut v: ArrayViewMut1<'_, f64>) -> Result<()> {
        let a = unpack(layout, v.view())?;
        if layout.half {
            let e = eigh(a.view())?;
            let shift = self.shift(&e.values.to_vec(), threshold, kappa);
            let shrunk = e.values.mapv(|w| self.shrink(w - shift, threshold));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The optimality condition of the prox in the metric: M (v - z) lies in the subdifferential at z.
    #[test]
    fn the_prox_in_the_metric_of_the_trace_is_optimal() {
        let n = 6;
        for (kappa, t, lift) in
            [(0.0, 0.4, 0.0), (7.0, 0.4, 1.0), (200.0, 0.4, -3.0), (200.0, 1e-9, 0.2), (50.0, 9.0, 0.1)]
        {
            let v: Vec<f64> = (0..n).map(|k| (1.7 * k as f64).sin() + lift).collect();
            for kind in [Spectral::Nuclear, Spectral::Psd] {
                let shift = kind.shift(&v, t, kappa);
                let z: Vec<f64> = v.iter().map(|v| kind.shrink(v - shift, t)).collect();
                let s: f64 = z.iter().zip(&v).map(|(z, v)| z - v).sum();
                assert!((shift - kappa * s / n as f64).abs() < 1e-12 * (1.0 + kappa), "{kind:?}: {shift}");
                for (z, v) in z.iter().zip(&v) {
                    let slope = v - z - kappa * s / n as f64;
                    let fits = match kind {
                        Spectral::Nuclear if *z != 0.0 => (slope - t * z.signum()).abs() < 1e-10,
                        Spectral::Nuclear => slope.abs() <= t + 1e-10,
                        Spectral::Psd if *z > 0.0 => slope.abs() < 1e-10,
                        Spectral::Psd => slope <= 1e-10,
                    };
                    assert!(fits, "{kind:?} kappa {kappa}: z {z}, slope {slope}");
                }
            }
        }
    }
}

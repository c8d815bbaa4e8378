//! Riemannian Procrustes analysis (RPA): recentring, scaling and rotation of the source onto the target.
//!
//! Both domains are whitened by their mean and raised to the power 1 / sigma, sigma^2 the mean squared distance to the mean.
//! Then Q in O(n) minimises sum_c \|\|T_c - Q S_c Q^T\|\|_F^2 over the classes c, S_c and T_c the class means of source and target
//! (P. Rodrigues, C. Jutten, M. Congedo, *Riemannian Procrustes analysis: transfer learning for brain-computer interfaces*, IEEE
//! Transactions on Biomedical Engineering 2019; pyRiemann's `TLCenter`, `TLScale` and `TLRotate`).
//!
//! The problem has many local minima. Descent starts at the best of: the identity, and for each class the rotation that maps the
//! eigenvectors of S_c to those of T_c in order. pyRiemann leaves the signs of these eigenvectors to LAPACK; here each pair of
//! eigenvectors points to one side, so the result does not depend on the library.

use super::mdwm::means_of_both;
use crate::manifold::function::{one, sandwich};
use crate::manifold::mean::mean;
use crate::{CheckedMeanParams, Error, Metric, Result, check, powm};
use estimator::Labels;
use linalg::matmul;
use ndarray::{Array2, Array3, ArrayView3, Axis};

/// Descent stops when a step is shorter than this.
const SHORTEST_STEP: f64 = 1e-9;
/// Most steps of the descent.
const STEPS: usize = 10_000;
/// Halvings of a step in the line search.
const HALVINGS: usize = 32;

/// One domain's way to the common space: whitening, then a power.
#[derive(Debug, Clone)]
struct Standard {
    whiten: Array2<f64>,
    power: f64,
}

impl Standard {
    fn fit(x: ArrayView3<'_, f64>, params: &CheckedMeanParams) -> Result<Self> {
        let centre = mean(x, None, Metric::AffineInvariant, params)?.matrix;
        let whiten = one("procrustes", centre.view(), |v| 1.0 / v.sqrt())?;
        let d = crate::pairwise_distances(centre.view().insert_axis(Axis(0)), x, Metric::AffineInvariant)?;
        let dispersion = d.iter().map(|d| d * d).sum::<f64>() / d.len() as f64;
        if dispersion.is_nan() || dispersion <= 0.0 {
            return Err(Error::NoSpread { what: "procrustes" });
        }
        Ok(Standard { whiten, power: (1.0 / dispersion).sqrt() })
    }

    fn apply(&self, x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
        powm(sandwich("procrustes", self.whiten.view(), x)?.view(), self.power)
    }
}

/// A fitted analysis. Its common space has both means at the identity and both dispersions at one.
#[derive(Debug, Clone)]
pub struct Procrustes {
    source: Standard,
    target: Standard,
    rotation: Array2<f64>,
    loss: f64,
    converged: bool,
}

impl Procrustes {
    /// From labelled matrices of the source and labelled calibration matrices of the target, with the same classes.
    ///
    /// `target` sets the target's mean and dispersion, so it may hold more matrices than are labelled: labels are those of its
    /// first matrices.
    pub fn fit(
        (source, source_labels): (ArrayView3<'_, f64>, &Labels),
        (target, target_labels): (ArrayView3<'_, f64>, &Labels),
        params: &CheckedMeanParams,
    ) -> Result<Self> {
        check::symmetric_pair("procrustes", &source, &target)?;
        let (from, to) = (Standard::fit(source, params)?, Standard::fit(target, params)?);
        let labelled = target_labels.len().min(target.dim().0);
        let calibration = to.apply(target.slice(ndarray::s![..labelled, .., ..]))?;
        let common = from.apply(source)?;
        let (_, s, t) = means_of_both((common.view(), source_labels), (calibration.view(), target_labels), params)?;
        let start = best_start(&s, &t)?;
        let (rotation, loss, converged) = descend(start, &s, &t)?;
        Ok(Procrustes { source: from, target: to, rotation, loss, converged })
    }

    /// Matrices of the source in the common space.
    pub fn source(&self, x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
        sandwich("procrustes", self.rotation.view(), self.source.apply(x)?.view())
    }

    /// Matrices of the target in the common space.
    pub fn target(&self, x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
        self.target.apply(x)
    }

    /// The rotation Q.
    pub fn rotation(&self) -> &Array2<f64> {
        &self.rotation
    }

    /// Mean over the classes of the squared Frobenius distance between rotated source mean and target mean.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// Whether the descent ended with a short step rather than with its last one.
    pub fn converged(&self) -> bool {
        self.converged
    }
}

fn loss(q: &Array2<f64>, s: &Array3<f64>, t: &Array3<f64>) -> f64 {
    let terms = s.outer_iter().zip(t.outer_iter()).map(|(s, t)| {
        let image = matmul(matmul(q.view(), s).view(), q.t());
        (&t - &image).iter().map(|v| v * v).sum::<f64>()
    });
    terms.sum::<f64>() / s.dim().0 as f64
}

/// The candidate of least loss: the identity, or the eigenvectors of one class aligned in order.
fn best_start(s: &Array3<f64>, t: &Array3<f64>) -> Result<Array2<f64>> {
    let mut best = Array2::eye(s.dim().1);
    let mut least = loss(&best, s, t);
    for (s_c, t_c) in s.outer_iter().zip(t.outer_iter()) {
        let (mut from, to) = (linalg::eigh(s_c)?.vectors, linalg::eigh(t_c)?.vectors);
        for (mut a, b) in from.columns_mut().into_iter().zip(to.columns()) {
            if a.dot(&b) < 0.0 {
                a.mapv_inplace(|v| -v);
            }
        }
        let candidate = matmul(to.view(), from.t());
        let value = loss(&candidate, s, t);
        if value < least {
            (best, least) = (candidate, value);
        }
    }
    Ok(best)
}

/// Steepest descent on O(n) with halved steps: the rotation, its loss, and whether it converged.
fn descend(mut q: Array2<f64>, s: &Array3<f64>, t: &Array3<f64>) -> Result<(Array2<f64>, f64, bool)> {
    let mut value = loss(&q, s, t);
    for _ in 0..STEPS {
        let mut slope = Array2::<f64>::zeros(q.dim());
        for (s, t) in s.outer_iter().zip(t.outer_iter()) {
            let qs = matmul(q.view(), s);
            let residual = &t - &matmul(qs.view(), q.t());
            slope.scaled_add(-4.0, &matmul(residual.view(), qs.view()));
        }
        slope /= s.dim().0 as f64;
        // The part of the gradient that is tangent to O(n): Q times the skew part of Q^T G.
        let inner = matmul(q.t(), slope.view());
        let tangent = matmul(q.view(), ((&inner - &inner.t()) * 0.5).view());
        let length = tangent.iter().map(|v| v * v).sum::<f64>().sqrt();
        let mut step = 1.0;
        let mut next = retract(&q, -step, &tangent)?;
        let mut lower = loss(&next, s, t);
        for _ in 0..HALVINGS {
            if value - lower > 1e-4 * step * length * length {
                break;
            }
            step *= 0.5;
            next = retract(&q, -step, &tangent)?;
            lower = loss(&next, s, t);
        }
        if step * length <= SHORTEST_STEP || lower >= value {
            return Ok((q, value, true));
        }
        (q, value) = (next, lower);
    }
    Ok((q, value, false))
}

/// The orthogonal matrix nearest to Q + step * tangent.
fn retract(q: &Array2<f64>, step: f64, tangent: &Array2<f64>) -> Result<Array2<f64>> {
    let d = linalg::svd((q + &(tangent * step)).view())?;
    Ok(matmul(d.u.view(), d.vt.view()))
}

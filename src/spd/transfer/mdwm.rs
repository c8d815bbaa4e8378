//! Minimum distance to weighted mean: class means of source and target, mixed along their geodesic.
//!
//! The mean of class c is M_s #_t M_t, the point at `tradeoff` t on the geodesic from the source's mean to the target's:
//! t = 0 uses the source alone, t = 1 the calibration matrices of the target alone (E. Kalunga, S. Chevallier, Q. Barthelemy,
//! *Transfer learning for SSVEP-based BCI using Riemannian similarities between users*, EUSIPCO 2018; pyRiemann's `MDWM`).

use crate::manifold::mdm::class_means;
use crate::{CheckedMeanParams, InputError, Mdm, Metric, Result, check, geodesic};
use estimator::Labels;
use ndarray::{Array3, ArrayView3, Axis};

/// A fitted classifier; predictions are those of an [`Mdm`] with the mixed means.
#[derive(Debug, Clone, PartialEq)]
pub struct Mdwm {
    mdm: Mdm,
}

impl Mdwm {
    /// From labelled matrices of the source (k, n, n) and labelled calibration matrices of the target (m, n, n).
    pub fn fit(
        (source, source_labels): (ArrayView3<'_, f64>, &Labels),
        (target, target_labels): (ArrayView3<'_, f64>, &Labels),
        tradeoff: f64,
        params: &CheckedMeanParams,
    ) -> Result<Self> {
        if !(0.0..=1.0).contains(&tradeoff) {
            return Err(InputError::parameter("tradeoff", tradeoff, "in [0, 1]").into());
        }
        let (classes, from, to) = means_of_both((source, source_labels), (target, target_labels), params)?;
        let mut mixed = Array3::zeros(from.dim());
        for (mut out, (a, b)) in mixed.outer_iter_mut().zip(from.outer_iter().zip(to.outer_iter())) {
            out.assign(&geodesic(a, b, tradeoff)?);
        }
        Ok(Mdwm { mdm: Mdm::from_means(classes, mixed, Metric::AffineInvariant)? })
    }

    /// The classifier with the mixed means.
    pub fn mdm(&self) -> &Mdm {
        &self.mdm
    }
}

/// The labels, ascending, and the mean of each class in the source and in the target. Refuses domains of different classes.
pub(crate) fn means_of_both(
    (source, source_labels): (ArrayView3<'_, f64>, &Labels),
    (target, target_labels): (ArrayView3<'_, f64>, &Labels),
    params: &CheckedMeanParams,
) -> Result<(Vec<i64>, Array3<f64>, Array3<f64>)> {
    let means = |x: ArrayView3<'_, f64>, labels: &Labels| -> Result<(Vec<i64>, Array3<f64>)> {
        let labels = check::labels(x.len_of(Axis(0)), labels)?;
        let (_, stacked) = class_means(x, &labels, Metric::AffineInvariant, params)?;
        Ok((labels.classes().to_vec(), stacked))
    };
    let (classes, from) = means(source, source_labels)?;
    let (others, to) = means(target, target_labels)?;
    if classes != others {
        return Err(InputError::shape("classes of the target", [classes.len()], [others.len()]).into());
    }
    Ok((classes, from, to))
}

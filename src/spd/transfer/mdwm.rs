//! Minimum distance to weighted mean: class means of source and target, mixed along their geodesic.
//!
//! The mean of class c is M_s #_t M_t, the point at `tradeoff` t on the geodesic from the source's mean to the target's:
//! t = 0 uses the source alone, t = 1 the calibration matrices of the target alone (E. Kalunga, S. Chevallier, Q. Barthelemy,
//! *Transfer learning for SSVEP-based BCI using Riemannian similarities between users*, EUSIPCO 2018; pyRiemann's `MDWM`).

use crate::manifold::mean::{Selection, means};
use crate::{CheckedMeanParams, InputError, Mdm, Metric, Result, geodesic};
use ndarray::{Array3, ArrayView3, Axis};

/// A fitted classifier; predictions are those of an [`Mdm`] with the mixed means.
#[derive(Debug, Clone, PartialEq)]
pub struct Mdwm {
    mdm: Mdm,
}

impl Mdwm {
    /// From labelled matrices of the source (k, n, n) and labelled calibration matrices of the target (m, n, n).
    pub fn fit(
        (source, source_labels): (ArrayView3<'_, f64>, &[i64]),
        (target, target_labels): (ArrayView3<'_, f64>, &[i64]),
        tradeoff: f64,
        params: &CheckedMeanParams,
    ) -> Result<Self> {
        if !(0.0..=1.0).contains(&tradeoff) {
            return Err(InputError::parameter("tradeoff", tradeoff, "in [0, 1]").into());
        }
        let (classes, from) = class_means(source, source_labels, params)?;
        let (others, to) = class_means(target, target_labels, params)?;
        if classes != others {
            let (expected, got) = (vec![classes.len()], vec![others.len()]);
            return Err(InputError::shape("classes of the target", expected, got).into());
        }
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

/// The labels, ascending, and the mean of each class.
pub(crate) fn class_means(
    x: ArrayView3<'_, f64>,
    labels: &[i64],
    params: &CheckedMeanParams,
) -> Result<(Vec<i64>, Array3<f64>)> {
    let k = x.len_of(Axis(0));
    if labels.len() != k {
        return Err(InputError::shape("labels", [k], [labels.len()]).into());
    }
    let mut classes = labels.to_vec();
    classes.sort_unstable();
    classes.dedup();
    let members = |c: &i64| -> Selection { (0..k).filter(|&i| labels[i] == *c).map(|i| (i, 1.0)).collect() };
    let found = means(x, &classes.iter().map(members).collect::<Vec<_>>(), Metric::AffineInvariant, params)?;
    let n = x.dim().1;
    let stacked = Array3::from_shape_fn((found.len(), n, n), |(c, i, j)| found[c].matrix[[i, j]]);
    Ok((classes, stacked))
}

//! Minimum distance to mean behind the interface that all estimators of this project share (crate `estimator`).

use crate::{CheckedMeanParams, Error, InputError, Mdm, MeanParams, Metric};
use estimator::{Classification, Convergence, LabelModel, Labels, ParamGuard};
use ndarray::{ArrayView3, Ix3};

/// Minimum distance to mean with checked parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct MdmClassifier {
    metric: Metric,
    mean: MeanParams,
}

/// The parameters of [`MdmClassifier`] before they are checked.
///
/// ```
/// use estimator::{Classification, LabelModel, Labels, ParamGuard};
/// use spd::Metric;
/// use spd::estimators::MdmClassifier;
/// let x = ndarray::arr3(&[[[1.0, 0.0], [0.0, 1.0]], [[9.0, 0.0], [0.0, 9.0]]]);
/// let labels = Labels::new(&[1, 2])?;
/// let model = MdmClassifier::params().metric(Metric::AffineInvariant).check()?.fit_labels(x.view(), &labels)?;
/// let near_nine = ndarray::arr3(&[[[8.0, 0.5], [0.5, 8.0]]]);
/// assert_eq!(model.predict_labels(near_nine.view())?, [2]);
/// assert_eq!(model.accuracy(x.view(), &labels)?, 1.0);
/// // All matrices of one class teach nothing.
/// assert!(MdmClassifier::params().check()?.fit_labels(x.view(), &Labels::new(&[1, 1])?).is_err());
/// # Ok::<(), estimator::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MdmClassifierParams(MdmClassifier);

impl MdmClassifier {
    /// The affine-invariant metric and the default stopping rule of the means.
    pub fn params() -> MdmClassifierParams {
        MdmClassifierParams(MdmClassifier { metric: Metric::AffineInvariant, mean: MeanParams::default() })
    }

    fn mean_params(&self) -> crate::Result<CheckedMeanParams> {
        self.mean.check()
    }
}

impl MdmClassifierParams {
    /// The metric of means and distances.
    pub fn metric(mut self, metric: Metric) -> Self {
        self.0.metric = metric;
        self
    }

    /// When the iteration of a mean stops.
    pub fn mean(mut self, mean: MeanParams) -> Self {
        self.0.mean = mean;
        self
    }
}

impl ParamGuard for MdmClassifierParams {
    type Checked = MdmClassifier;
    type Error = estimator::Error;

    fn check_ref(&self) -> estimator::Result<&MdmClassifier> {
        self.0.mean_params()?;
        Ok(&self.0)
    }

    fn check(self) -> estimator::Result<MdmClassifier> {
        self.check_ref()?;
        Ok(self.0)
    }
}

/// A fitted classifier.
#[derive(Debug, Clone, PartialEq)]
pub struct MdmModel {
    mdm: Mdm,
    convergence: Option<Convergence>,
}

impl MdmModel {
    /// The class means, distances and probabilities.
    pub fn mdm(&self) -> &Mdm {
        &self.mdm
    }
}

impl Classification<Ix3> for MdmClassifier {
    type Model = MdmModel;

    fn name(&self) -> &'static str {
        "minimum distance to mean"
    }

    fn fit_labels(&self, x: ArrayView3<'_, f64>, labels: &Labels) -> estimator::Result<MdmModel> {
        labels.check_for(x.dim().0)?;
        let mdm = Mdm::fit(x, labels, self.metric, &self.mean_params()?)?;
        let ended = mdm.means().iter().map(|mean| {
            Convergence::judge("gradient of a class mean", mean.gradient, self.mean.tolerance, mean.iterations)
        });
        let convergence = Convergence::worst(ended);
        Ok(MdmModel { mdm, convergence })
    }
}

impl LabelModel<Ix3> for MdmModel {
    fn classes(&self) -> &[i64] {
        self.mdm.classes()
    }

    fn predict_labels(&self, x: ArrayView3<'_, f64>) -> estimator::Result<Vec<i64>> {
        Ok(self.mdm.predict(x)?)
    }

    fn convergence(&self) -> Option<Convergence> {
        self.convergence
    }
}

impl From<Error> for estimator::Error {
    fn from(e: Error) -> Self {
        match e {
            Error::Input(InputError::Shape { what, expected, got }) => {
                Self::Shape { what, expected: format!("{expected:?}"), got }
            }
            other => Self::method("SPD matrices", other),
        }
    }
}

estimator::classification_by_rows!(MdmClassifier, MdmModel, Ix3);

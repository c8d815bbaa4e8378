//! Trace regression, one matrix B per entry of the output: y = tr(B^T X) + noise.
//!
//! - nuclear norm (the paper's eq. 2): B = argmin sum_i (y_i - tr(B^T X_i))^2 + lambda ||B||_*
//!   (V. Koltchinskii, K. Lounici, A. Tsybakov, *Nuclear-norm penalization and optimal rates for noisy low-rank
//!   matrix completion*, Annals of Statistics 2011);
//! - positive semidefinite (eq. 3): B = argmin over B >= 0 of sum_i (y_i - tr(B X_i))^2 (M. Slawski, P. Li, M. Hein,
//!   *Regularization-free estimation in trace regression with symmetric positive semidefinite matrices*, NIPS 2015).
//!
//! Both problems are convex. ADMM with singular-value thresholding solves them on the shared moments until their optimality conditions
//! hold; [`Report::kkt`] and [`Report::gap`] say how well. On symmetric inputs B is symmetric: an antisymmetric part would change no
//! prediction and only add to the norm. `admm` is the solver, `spectral` the proximal maps. Cost O(l d (d + m)) once, then
//! O(d^2 m + m p^3) per iteration.

mod admm;
mod spectral;

use self::admm::{RegressionMoments, Solved, StopRule};
use self::spectral::Spectral;
use crate::regressor::{check_pair, split};
use crate::{Error, Fitted, Layout, Regressor, Report, Result};
use estimator::Convergence;
use linalg::matmul;
use ndarray::{Array1, Array2, ArrayView2, ArrayView3, s};

/// How the weight of the nuclear norm is set, for each output on its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Lambda {
    /// This lambda of the paper's eq. 2 for every output.
    Fixed(f64),
    /// This share of the smallest lambda at which B = 0 is the solution, per output.
    Ratio(f64),
    /// As `Ratio`, with the ratio of least error on the last `holdout` share of the samples, per output; then fitted again on all samples.
    Validated {
        /// Ratios to try.
        ratios: Vec<f64>,
        /// Share of the samples that validates.
        holdout: f64,
    },
}

/// The penalty on each B, or its constraint.
#[derive(Debug, Clone, PartialEq)]
pub enum Penalty {
    /// Low rank by a nuclear-norm penalty (eq. 2).
    Nuclear(Lambda),
    /// Positive semidefinite, no penalty (eq. 3). Only the symmetric part of X matters then.
    Psd,
}

/// Trace regression with its stopping rule.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceRegression {
    /// Penalty or constraint.
    pub penalty: Penalty,
    /// Stop when the KKT residual of every output is below this share of its gradient at B = 0.
    pub tolerance: f64,
    /// Most iterations per lambda.
    pub max_iterations: usize,
}

impl TraceRegression {
    /// Nuclear norm. Validation on a fifth of the samples chooses lambda for each output among seven powers of ten.
    pub fn nuclear() -> Self {
        let ratios = (1..=7).map(|k| 10f64.powi(-k)).collect();
        Self::with(Penalty::Nuclear(Lambda::Validated { ratios, holdout: 0.2 }))
    }

    /// Positive semidefinite.
    pub fn psd() -> Self {
        Self::with(Penalty::Psd)
    }

    /// Any penalty with the default stopping rule.
    pub fn with(penalty: Penalty) -> Self {
        TraceRegression { penalty, tolerance: 1e-8, max_iterations: 5000 }
    }

    fn check(&self) -> Result<StopRule> {
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return Err(Error::parameter("tolerance", format!("must lie in ]0, 1[, got {}", self.tolerance)));
        }
        if self.max_iterations == 0 {
            return Err(Error::parameter("max_iterations", "must be at least 1"));
        }
        let bad = |v: f64| !(v >= 0.0 && v.is_finite());
        match &self.penalty {
            Penalty::Nuclear(Lambda::Fixed(v) | Lambda::Ratio(v)) if bad(*v) => {
                return Err(Error::parameter("lambda", format!("must be finite and at least 0, got {v}")));
            }
            Penalty::Nuclear(Lambda::Validated { ratios, .. })
                if ratios.is_empty() || ratios.iter().any(|&v| bad(v)) =>
            {
                return Err(Error::parameter("ratios", "must hold at least one value, all finite and at least 0"));
            }
            _ => {}
        }
        Ok(StopRule { tolerance: self.tolerance, max_iterations: self.max_iterations })
    }
}

/// The ratio of least error per output, on the last `holdout` share of the samples.
fn validate(
    input: Layout,
    z: ArrayView2<'_, f64>,
    t: ArrayView2<'_, f64>,
    ratios: &[f64],
    holdout: f64,
    stop: StopRule,
) -> Result<Array1<f64>> {
    let train = split(z.nrows(), holdout)?;
    let (zv, tv) = (z.slice(s![train.., ..]), t.slice(s![train.., ..]));
    let moments = RegressionMoments::new(input, z.slice(s![..train, ..]), t.slice(s![..train, ..]))?;
    let mut b = Array2::zeros((moments.outputs(), moments.inputs()));
    let mut best = vec![(f64::INFINITY, 0.0); moments.outputs()];
    let least = Array1::zeros(moments.outputs());
    path(&moments, ratios, &least, &mut b, &mut moments.rho(), stop, |ratio, b| {
        let residual = &tv - &matmul(zv, b.t());
        for (column, best) in residual.columns().into_iter().zip(&mut best) {
            let error = column.dot(&column);
            if error < best.0 {
                *best = (error, ratio);
            }
        }
    })?;
    Ok(best.into_iter().map(|(_, ratio)| ratio).collect())
}

/// Solves from large to small ratios, each from the last solution, and calls `show` with every solution. The ratio of an output does not
/// fall below its entry in `least`.
///
/// The starts matter: where no sample determines some entries of B, a penalty below the tolerance leaves them at their start.
fn path(
    moments: &RegressionMoments,
    ratios: &[f64],
    least: &Array1<f64>,
    b: &mut Array2<f64>,
    rho: &mut [f64],
    stop: StopRule,
    mut show: impl FnMut(f64, &Array2<f64>),
) -> Result<()> {
    // A coarse solution is enough to compare errors and to start the next problem.
    let stop = StopRule { tolerance: stop.tolerance.max(1e-6), ..stop };
    let mu_max = moments.mu_max()?;
    let mut order = ratios.to_vec();
    order.sort_by(|a, b| b.total_cmp(a));
    let end = least.iter().fold(f64::INFINITY, |a, &b| a.min(b));
    for &ratio in order.iter().filter(|&&ratio| ratio >= end) {
        moments.solve(Spectral::Nuclear, &(&mu_max * &least.mapv(|l| l.max(ratio))), b, rho, stop)?;
        show(ratio, b);
    }
    Ok(())
}

impl Regressor for TraceRegression {
    fn name(&self) -> &'static str {
        match self.penalty {
            Penalty::Nuclear(_) => "trace regression",
            Penalty::Psd => "PSD trace regression",
        }
    }

    fn check_parameters(&self) -> Result<()> {
        self.check().map(drop)
    }

    fn fit(&self, x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> Result<Fitted> {
        check_pair(x, y)?;
        let stop = self.check()?;
        let output = Layout::of(y);
        let mut input = Layout::of(x);
        if self.penalty == Penalty::Psd {
            if input.rows != input.cols {
                let expected = "square matrices, since B is positive semidefinite".to_owned();
                return Err(Error::Input(estimator::Error::Shape { what: "X", expected, got: x.shape().to_vec() }));
            }
            input.half = true;
        }
        let (z, t) = (input.encode(x), output.encode(y));
        let moments = RegressionMoments::new(input, z.view(), t.view())?;
        let mut b = Array2::zeros((moments.outputs(), moments.inputs()));
        let mut report = Report { parameters: b.len(), ..Report::default() };
        let solved: Solved = match &self.penalty {
            Penalty::Psd => {
                moments.solve(Spectral::Psd, &Array1::zeros(moments.outputs()), &mut b, &mut moments.rho(), stop)?
            }
            Penalty::Nuclear(lambda) => {
                // The solver minimises half of eq. 2, so mu is half of lambda. A coordinate of `svec` that is sqrt 2 times an entry of Y has
                // twice the loss of that entry, so its lambda is sqrt 2 times as large.
                let mut rho = moments.rho();
                let mu = match lambda {
                    Lambda::Fixed(v) => output.weights() * (0.5 * v),
                    Lambda::Ratio(v) => moments.mu_max()? * *v,
                    Lambda::Validated { ratios, holdout } => {
                        let chosen = validate(input, z.view(), t.view(), ratios, *holdout, stop)?;
                        let log = chosen.mapv(|r| linalg::math::ln(r.max(f64::MIN_POSITIVE))).mean().unwrap_or(0.0);
                        report.chosen.push(("lambda ratio (geometric mean)", linalg::math::exp(log)));
                        path(&moments, ratios, &chosen, &mut b, &mut rho, stop, |_, _| {})?;
                        moments.mu_max()? * &chosen
                    }
                };
                let solved = moments.solve(Spectral::Nuclear, &mu, &mut b, &mut rho, stop)?;
                report.gap = Some(moments.gap(&mu, &b)?);
                solved
            }
        };
        (report.iterations, report.kkt) = (solved.iterations, Some(solved.kkt));
        report.convergence = Some(Convergence::judge("KKT residual", solved.kkt, stop.tolerance, solved.iterations));
        Ok(Fitted::linear(input, output, b.reversed_axes(), report))
    }
}

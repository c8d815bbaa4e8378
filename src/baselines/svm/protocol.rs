//! The paper's protocol: repeated stratified splits, C chosen by cross-validation inside each.

use super::machine::OneVsRest;
use super::psd_kernel::PsdKernel;
use super::stratified::{folds, train_and_test};
use crate::{Error, Result};
use estimator::Labels;
use linalg::pivoted_cholesky;
use linfa::metrics::ToConfusionMatrix;
use linfa_svm::SvmError;
use ndarray::{Array1, Array2, ArrayView2, Axis};
use rayon::prelude::*;

/// Who trains the machine whose accuracy is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reported {
    /// linfa-svm, on the rows of the factor of the kernel: [`OneVsRest::fit_linfa`].
    #[default]
    Linfa,
    /// Our own solver, on the kernel: [`OneVsRest::fit`].
    Smo,
}

/// Repeated stratified splits. Inside each split, cross-validation with our own solver chooses C.
#[derive(Debug, Clone, PartialEq)]
pub struct Protocol {
    /// Who trains the machine whose accuracy is reported.
    pub reported: Reported,
    /// A value of C whose accuracy is reported beside that of the chosen one.
    pub fixed_c: Option<f64>,
    /// Values of C to try, ascending; the first of the best is taken.
    pub c: Vec<f64>,
    /// Folds of the inner cross-validation.
    pub folds: usize,
    /// Number of splits.
    pub splits: usize,
    /// Share of each class that trains.
    pub train: f64,
    /// KKT violation at which the solver stops while C is chosen (libsvm's default is 1e-3).
    pub tolerance: f64,
    /// KKT violation at which the solver of the reported machine stops. At 1e-3 a sample whose two largest decision values are that close
    /// may get either class: on imputed kernels of the digits the two solvers then differ by one or two test samples of a thousand.
    pub reported_tolerance: f64,
    /// Seed of splits and folds.
    pub seed: u64,
}

impl Default for Protocol {
    fn default() -> Self {
        Protocol {
            reported: Reported::default(),
            fixed_c: None,
            c: vec![0.1, 1.0, 10.0, 100.0],
            folds: 3,
            splits: 20,
            train: 0.5,
            tolerance: 1e-3,
            reported_tolerance: 1e-6,
            seed: 0,
        }
    }
}

/// Accuracies over the splits.
#[derive(Debug, Clone)]
pub struct SvmReport {
    /// Mean test accuracy.
    pub mean: f64,
    /// Standard deviation over the splits (n - 1).
    pub deviation: f64,
    /// Test accuracy of each split.
    pub accuracies: Vec<f64>,
    /// Mean test accuracy at [`Protocol::fixed_c`].
    pub fixed_mean: Option<f64>,
    /// C chosen in each split.
    pub chosen: Vec<f64>,
    /// Number of negative eigenvalues of the kernel that were set to zero.
    pub negative: usize,
    /// Their share of the sum of all absolute eigenvalues.
    pub negative_mass: f64,
    /// Machines of the final fits, one per class and split, whose solver used up its steps before it met the tolerance.
    pub unconverged: usize,
}

fn block(k: &Array2<f64>, rows: &[usize], cols: &[usize]) -> Array2<f64> {
    k.select(Axis(0), rows).select(Axis(1), cols)
}

/// Number of test samples that the machine puts into their class, by linfa's confusion matrix. linfa gives only their share, in f32.
/// The share times the number of samples rounds to the right whole number, as long as there are fewer than 2^23 samples.
fn hits(machine: &OneVsRest, k: &Array2<f64>, labels: &[usize], test: &[usize], train: &[usize]) -> Result<usize> {
    let predicted = Array1::from_vec(machine.predict(block(k, test, train).view())?);
    let truth: Array1<usize> = test.iter().map(|&i| labels[i]).collect();
    let share = predicted.confusion_matrix(&truth).map_err(SvmError::from)?.accuracy();
    Ok((f64::from(share) * test.len() as f64).round() as usize)
}

/// The result of one split.
struct Split {
    accuracy: f64,
    c: f64,
    /// Accuracy at the fixed C.
    fixed: Option<f64>,
    unconverged: usize,
}

impl Protocol {
    fn check(&self) -> Result<()> {
        if self.c.is_empty() || self.c.iter().any(|&c| !(c > 0.0 && c.is_finite())) {
            return Err(Error::parameter("c", "must hold at least one value, all positive and finite"));
        }
        if self.folds < 2 || self.splits == 0 {
            return Err(Error::parameter("folds", "at least 2 folds and 1 split are needed"));
        }
        for (name, tolerance) in [("tolerance", self.tolerance), ("reported_tolerance", self.reported_tolerance)] {
            if !(tolerance > 0.0 && tolerance < 1.0) {
                return Err(Error::parameter(name, format!("must lie in ]0, 1[, got {tolerance}")));
            }
        }
        Ok(())
    }

    fn one(&self, k: &Array2<f64>, labels: &[usize], classes: usize, split: u64) -> Result<Split> {
        let (train, test) = train_and_test(labels, self.train, self.seed, split)?;
        let labels_of = |samples: &[usize]| samples.iter().map(|&i| labels[i]).collect::<Vec<_>>();
        let mut best = (0, self.c[0]);
        if self.c.len() > 1 {
            let mut scores = vec![0; self.c.len()];
            for (inner, held) in folds(labels, &train, self.folds, self.seed, split) {
                let among = block(k, &inner, &inner);
                let machines = OneVsRest::path(among.view(), &labels_of(&inner), classes, &self.c, self.tolerance);
                for (score, machine) in scores.iter_mut().zip(machines) {
                    *score += hits(&machine, k, labels, &held, &inner)?;
                }
            }
            for (score, &c) in scores.iter().zip(&self.c) {
                if *score > best.0 {
                    best = (*score, c);
                }
            }
        }
        let (among, own) = (block(k, &train, &train), labels_of(&train));
        // The kernel is factored once, for the machines of all classes and for both values of C.
        let factor = (self.reported == Reported::Linfa).then(|| pivoted_cholesky(among.view())).transpose()?;
        let known = Labels::from_indices(&own, classes)?;
        let fit = |c: f64| match &factor {
            Some(l) => OneVsRest::fit_factor(l.view(), &own, classes, c, self.reported_tolerance),
            None => OneVsRest::fit(among.view(), &known, c, self.reported_tolerance),
        };
        let machine = fit(best.1)?;
        let accuracy_of = |machine: &OneVsRest| -> Result<f64> {
            Ok(hits(machine, k, labels, &test, &train)? as f64 / test.len() as f64)
        };
        let found = accuracy_of(&machine)?;
        let fixed = match self.fixed_c {
            Some(c) if c == best.1 => Some(found),
            Some(c) => Some(accuracy_of(&fit(c)?)?),
            None => None,
        };
        Ok(Split { accuracy: found, c: best.1, fixed, unconverged: machine.unconverged() })
    }

    /// Runs the protocol on a kernel (n, n) and n labels.
    pub fn evaluate(&self, kernel: ArrayView2<'_, f64>, labels: &Labels) -> Result<SvmReport> {
        self.check()?;
        if kernel.nrows() != labels.len() {
            let expected = format!("({0}, {0}) as there are {0} labels", labels.len());
            return Err(Error::Input(estimator::Error::Shape {
                what: "kernel",
                expected,
                got: kernel.shape().to_vec(),
            }));
        }
        let psd = PsdKernel::project(kernel)?;
        let (indices, classes) = (labels.indices(), labels.classes().len());
        let runs = (0..self.splits as u64)
            .into_par_iter()
            .map(|split| self.one(&psd.kernel, indices, classes, split))
            .collect::<Result<Vec<Split>>>()?;
        let unconverged = runs.iter().map(|run| run.unconverged).sum();
        let accuracies: Vec<f64> = runs.iter().map(|run| run.accuracy).collect();
        let chosen: Vec<f64> = runs.iter().map(|run| run.c).collect();
        let fixed: Option<Vec<f64>> = runs.iter().map(|run| run.fixed).collect();
        let n = accuracies.len() as f64;
        let mean = accuracies.iter().sum::<f64>() / n;
        let squares: f64 = accuracies.iter().map(|a| (a - mean) * (a - mean)).sum();
        let deviation = if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        let fixed_mean = fixed.map(|fixed| fixed.iter().sum::<f64>() / n);
        let PsdKernel { negative, negative_mass, .. } = psd;
        Ok(SvmReport { mean, deviation, accuracies, fixed_mean, chosen, negative, negative_mass, unconverged })
    }
}

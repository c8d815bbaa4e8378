//! One machine per class against the rest, on a precomputed kernel.

use super::smo::{Dual, Solution};
use crate::{Error, Result};
use estimator::{Convergence, Labels};
use linalg::{matmul, pivoted_cholesky};
use linfa::DatasetBase;
use linfa::traits::Fit;
use linfa_svm::{Svm, SvmError};
use ndarray::{Array1, Array2, ArrayView2};

fn check_kernel(kernel: ArrayView2<'_, f64>, labels: &Labels) -> Result<()> {
    let n = labels.len();
    if kernel.dim() != (n, n) {
        let expected = format!("({n}, {n}), as there are {n} labels");
        return Err(Error::Input(estimator::Error::Shape { what: "kernel", expected, got: kernel.shape().to_vec() }));
    }
    Ok(())
}

/// A trained machine: one column of dual coefficients and one threshold per class.
#[derive(Debug, Clone)]
pub struct OneVsRest {
    alpha: Array2<f64>,
    rho: Array1<f64>,
    /// How the solver of each class ended; empty for linfa-svm, which does not report it.
    ended: Vec<Convergence>,
}

impl OneVsRest {
    /// Trains on a PSD kernel (n, n) of the training samples. The machine of a class without samples decides -1 for all.
    pub fn fit(kernel: ArrayView2<'_, f64>, labels: &Labels, c: f64, tolerance: f64) -> Result<Self> {
        check_kernel(kernel, labels)?;
        if !(c > 0.0 && c.is_finite() && tolerance > 0.0) {
            return Err(Error::parameter(
                "c",
                format!("it and the tolerance must be positive, they are {c} and {tolerance}"),
            ));
        }
        let mut machines = Self::path(kernel, labels.indices(), labels.classes().len(), &[c], tolerance);
        // `path` returns one machine per C, and there is one C, so index 0 exists.
        Ok(machines.swap_remove(0))
    }

    /// As [`OneVsRest::fit`], by linfa-svm.
    pub fn fit_linfa(kernel: ArrayView2<'_, f64>, labels: &Labels, c: f64, tolerance: f64) -> Result<Self> {
        check_kernel(kernel, labels)?;
        let factor = pivoted_cholesky(kernel)?;
        Self::fit_factor(factor.view(), labels.indices(), labels.classes().len(), c, tolerance)
    }

    /// As [`OneVsRest::fit_linfa`], on the factor (n, rank) of a kernel, which all machines of a split share.
    pub(super) fn fit_factor(
        l: ArrayView2<'_, f64>,
        labels: &[usize],
        classes: usize,
        c: f64,
        tolerance: f64,
    ) -> Result<Self> {
        let mut machine = OneVsRest::constant(labels.len(), classes);
        let samples = DatasetBase::new(l, Array1::from_vec(labels.to_vec()));
        let parts = samples.one_vs_all().map_err(SvmError::from)?;
        if let [(only, _)] = parts.as_slice() {
            // With a single class there is nothing to separate: the machine always decides for it.
            machine.rho[*only] = -1.0;
            return Ok(machine);
        }
        // linfa lists the classes in any order; each fills its own column.
        for (class, against_rest) in parts {
            let params = Svm::<f64, bool>::params().linear_kernel().pos_neg_weights(c, c).eps(tolerance);
            let fitted = params.fit(&against_rest)?;
            machine.alpha.column_mut(class).assign(&Array1::from_vec(fitted.alpha));
            machine.rho[class] = fitted.rho;
        }
        Ok(machine)
    }

    /// One machine per value of C, solved by [`Dual`]. Each starts from the solution of the C before it, so C should ascend.
    pub(super) fn path(
        kernel: ArrayView2<'_, f64>,
        labels: &[usize],
        classes: usize,
        c: &[f64],
        tolerance: f64,
    ) -> Vec<Self> {
        let empty = OneVsRest::constant(labels.len(), classes);
        let mut machines = vec![empty; c.len()];
        let entries: Vec<f64> = kernel.iter().copied().collect();
        for class in 0..classes {
            let targets: Vec<bool> = labels.iter().map(|&label| label == class).collect();
            let mut dual = Dual::new(&entries, &targets);
            for (machine, &c) in machines.iter_mut().zip(c) {
                let solved = match targets.iter().filter(|&&t| t).count() {
                    0 => continue,
                    all if all == labels.len() => {
                        Solution { signed: Array1::zeros(all), rho: -1.0, violation: 0.0, steps: 0 }
                    }
                    _ => dual.solve(c, tolerance),
                };
                machine.alpha.column_mut(class).assign(&solved.signed);
                machine.rho[class] = solved.rho;
                machine.ended.push(Convergence::judge("KKT violation", solved.violation, tolerance, solved.steps));
            }
        }
        machines
    }

    /// A machine that decides against every class.
    fn constant(samples: usize, classes: usize) -> Self {
        OneVsRest { alpha: Array2::zeros((samples, classes)), rho: Array1::ones(classes), ended: Vec::new() }
    }

    /// Number of classes whose solver used up its steps before it met the tolerance. Zero for [`OneVsRest::fit_linfa`], because linfa-svm
    /// does not report it.
    pub fn unconverged(&self) -> usize {
        self.ended.iter().filter(|ended| !ended.converged()).count()
    }

    /// The worst of the ways in which the solvers of the classes ended; none for [`OneVsRest::fit_linfa`].
    pub fn convergence(&self) -> Option<Convergence> {
        Convergence::worst(self.ended.iter().copied())
    }

    /// Decision values (tests, classes) from the kernel between test and training samples (tests, n).
    pub fn decide(&self, cross: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        if cross.ncols() != self.alpha.nrows() {
            let expected = format!("(tests, {})", self.alpha.nrows());
            return Err(Error::Input(estimator::Error::Shape {
                what: "cross kernel",
                expected,
                got: cross.shape().to_vec(),
            }));
        }
        Ok(matmul(cross, self.alpha.view()) - &self.rho)
    }

    /// The class of largest decision value, the first of them on a tie.
    pub fn predict(&self, cross: ArrayView2<'_, f64>) -> Result<Vec<usize>> {
        let largest =
            |row: ndarray::ArrayView1<'_, f64>| (0..row.len()).fold(0, |b, k| if row[k] > row[b] { k } else { b });
        Ok(self.decide(cross)?.rows().into_iter().map(largest).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Overlapping classes in a made-up kernel: the path and linfa-svm must give the same decisions at every C.
    #[test]
    fn the_path_agrees_with_linfa() {
        let x = Array2::from_shape_fn((45, 3), |(i, j)| {
            (1.7 * i as f64 + 0.9 * (j * j) as f64).sin() + if i % 3 == j { 0.7 } else { 0.0 }
        });
        let near = |i: usize, j: usize| (&x.row(i) - &x.row(j)).mapv(|d| d * d).sum();
        let k = Array2::from_shape_fn((45, 45), |(i, j)| (-near(i, j) / 2.0).exp());
        let labels: Vec<usize> = (0..45).map(|i| i % 3).collect();
        let cs = [0.1, 1.0, 10.0, 100.0, 5.0];
        let path = OneVsRest::path(k.view(), &labels, 4, &cs, 1e-9);
        for (machine, c) in path.iter().zip(cs) {
            let known = Labels::from_indices(&labels, 4).unwrap();
            let linfa = OneVsRest::fit_linfa(k.view(), &known, c, 1e-9).unwrap();
            let (a, b) = (machine.decide(k.view()).unwrap(), linfa.decide(k.view()).unwrap());
            let worst = (&a - &b).iter().fold(0.0f64, |m, d| m.max(d.abs()));
            assert!(worst < 1e-6, "C = {c}: {worst:e}");
            assert!(machine.alpha.iter().all(|v| v.abs() <= c));
        }
    }
}

//! Multiclass support vector machine on a precomputed kernel.
//!
//! The dual min 1/2 a^T Q a - 1^T a, 0 <= a <= C, y^T a = 0, Q_ij = y_i y_j K_ij, with decision values
//! f(x) = sum_i a_i y_i K(x_i, x) - rho. Classes one against the rest, largest f wins.
//!
//! Two solvers of that one problem, with the same choice of pairs and the same stopping rule:
//!
//! * [`OneVsRest::fit`] works on the kernel itself (`smo`). It is what the protocol runs, a dozen machines a split to choose C and
//!   one to test.
//! * [`OneVsRest::fit_linfa`] is linfa-svm's. linfa-svm takes features, not kernel matrices, so the kernel is factored, K = L L^T
//!   by pivoted Cholesky, and a linear machine is trained on the rows of L; each machine multiplies L L^T out again, entry by
//!   entry, which costs ten times the optimisation. It is the reference: tests hold the two together to 1e-6 in every decision
//!   value, and both to scikit-learn's.
//!
//! A completed kernel can be indefinite; it is projected on the PSD cone first and the report counts what was cut.
//! Splits run in parallel.

use crate::smo::Dual;
use crate::splits::{folds, halves};
use crate::{Error, Result};
use linalg::{eigh, matmul, symmetrise};
use linfa::DatasetBase;
use linfa::traits::Fit;
use linfa_svm::Svm;
use ndarray::{Array1, Array2, ArrayView2, Axis};
use rayon::prelude::*;

/// A positive semidefinite kernel and what it took to make it so.
#[derive(Debug, Clone)]
pub struct PsdKernel {
    /// The nearest PSD matrix in Frobenius norm; the input itself when that was PSD up to rounding.
    pub kernel: Array2<f64>,
    /// Number of eigenvalues that were cut.
    pub negative: usize,
    /// Their share of the sum of all absolute eigenvalues.
    pub negative_mass: f64,
}

impl PsdKernel {
    /// Cuts the negative eigenvalues of the symmetric part.
    ///
    /// ```
    /// let cut = baselines::svm::PsdKernel::project(ndarray::array![[0.0, 1.0], [1.0, 0.0]].view())?;
    /// assert_eq!((cut.negative, cut.negative_mass), (1, 0.5));
    /// assert!((cut.kernel[[0, 1]] - 0.5).abs() < 1e-14);
    /// # Ok::<(), baselines::Error>(())
    /// ```
    pub fn project(kernel: ArrayView2<'_, f64>) -> Result<Self> {
        let (n, cols) = kernel.dim();
        if n == 0 {
            return Err(Error::Empty { what: "kernel" });
        }
        if n != cols {
            return Err(Error::Shape { what: "kernel", expected: format!("({n}, {n})"), got: kernel.shape().to_vec() });
        }
        if let Some(sample) = kernel.rows().into_iter().position(|row| row.iter().any(|v| !v.is_finite())) {
            return Err(Error::NotFinite { what: "kernel", sample });
        }
        let sym = symmetrise(kernel);
        let e = eigh(sym.view())?;
        let total: f64 = e.values.iter().map(|w| w.abs()).sum();
        let cut: Vec<f64> = e.values.iter().copied().filter(|&w| w < -1e-12 * total).collect();
        if cut.is_empty() {
            return Ok(PsdKernel { kernel: sym, negative: 0, negative_mass: 0.0 });
        }
        let scaled = &e.vectors * &e.values.mapv(|w| w.max(0.0));
        let kernel = symmetrise(matmul(scaled.view(), e.vectors.t()).view());
        Ok(PsdKernel { kernel, negative: cut.len(), negative_mass: -cut.iter().sum::<f64>() / total })
    }
}

/// L (n, rank) with K = L L^T for a PSD matrix, by Cholesky with diagonal pivoting; stops where rounding begins.
pub(crate) fn pivoted_cholesky(k: ArrayView2<'_, f64>) -> Array2<f64> {
    let n = k.nrows();
    let mut rest = k.diag().to_owned();
    let stop = 1e-13 * rest.iter().fold(0.0f64, |m, &v| m.max(v));
    let mut l = Array2::<f64>::zeros((n, n));
    let mut rank = 0;
    while rank < n {
        let pivot = (0..n).fold(0, |best, i| if rest[i] > rest[best] { i } else { best });
        if rest[pivot] <= stop {
            break;
        }
        let root = rest[pivot].sqrt();
        let lead = l.row(pivot).to_owned();
        for i in 0..n {
            let known: f64 = (0..rank).map(|c| l[[i, c]] * lead[c]).sum();
            let value = (k[[i, pivot]] - known) / root;
            l[[i, rank]] = value;
            rest[i] -= value * value;
        }
        rest[pivot] = f64::NEG_INFINITY;
        rank += 1;
    }
    l.slice(ndarray::s![.., ..rank.max(1)]).to_owned()
}

fn check_kernel(kernel: ArrayView2<'_, f64>, labels: &[usize]) -> Result<()> {
    let n = labels.len();
    if n == 0 || kernel.dim() != (n, n) {
        let expected = format!("({n}, {n}), n >= 1, as there are {n} labels");
        return Err(Error::Shape { what: "kernel", expected, got: kernel.shape().to_vec() });
    }
    Ok(())
}

/// A trained machine: one column of dual coefficients and one threshold per class.
#[derive(Debug, Clone)]
pub struct OneVsRest {
    alpha: Array2<f64>,
    rho: Array1<f64>,
}

impl OneVsRest {
    /// Trains on a PSD kernel (n, n) of the training samples with classes 0 .. `classes`.
    pub fn fit(kernel: ArrayView2<'_, f64>, labels: &[usize], classes: usize, c: f64, tolerance: f64) -> Result<Self> {
        check_kernel(kernel, labels)?;
        if !(c > 0.0 && c.is_finite() && tolerance > 0.0) {
            return Err(Error::parameter("c", format!("and the tolerance must be positive, got {c} and {tolerance}")));
        }
        let mut machines = Self::path(kernel, labels, classes, &[c], tolerance);
        // One machine for one C.
        Ok(machines.swap_remove(0))
    }

    /// As [`OneVsRest::fit`], by linfa-svm.
    pub fn fit_linfa(
        kernel: ArrayView2<'_, f64>,
        labels: &[usize],
        classes: usize,
        c: f64,
        tolerance: f64,
    ) -> Result<Self> {
        check_kernel(kernel, labels)?;
        let l = pivoted_cholesky(kernel);
        let mut machine = OneVsRest { alpha: Array2::zeros((labels.len(), classes)), rho: Array1::ones(classes) };
        for class in 0..classes {
            let targets: Array1<bool> = labels.iter().map(|&label| label == class).collect();
            // A class with no sample here, or no other, has nothing to separate: its decision is constant.
            let members = targets.iter().filter(|&&t| t).count();
            if members == 0 || members == labels.len() {
                machine.rho[class] = if members == 0 { 1.0 } else { -1.0 };
                continue;
            }
            let params = Svm::<f64, bool>::params().linear_kernel().pos_neg_weights(c, c).eps(tolerance);
            let fitted = params.fit(&DatasetBase::new(l.view(), targets.view()))?;
            machine.alpha.column_mut(class).assign(&Array1::from_vec(fitted.alpha));
            machine.rho[class] = fitted.rho;
        }
        Ok(machine)
    }

    /// One machine per value of C, ascending, by [`Dual`].
    fn path(kernel: ArrayView2<'_, f64>, labels: &[usize], classes: usize, c: &[f64], tolerance: f64) -> Vec<Self> {
        let empty = OneVsRest { alpha: Array2::zeros((labels.len(), classes)), rho: Array1::ones(classes) };
        let mut machines = vec![empty; c.len()];
        let entries: Vec<f64> = kernel.iter().copied().collect();
        for class in 0..classes {
            let targets: Vec<bool> = labels.iter().map(|&label| label == class).collect();
            let mut dual = Dual::new(&entries, &targets);
            for (machine, &c) in machines.iter_mut().zip(c) {
                let (alpha, rho) = match targets.iter().filter(|&&t| t).count() {
                    0 => continue,
                    all if all == labels.len() => (Array1::zeros(all), -1.0),
                    _ => dual.solve(c, tolerance),
                };
                machine.alpha.column_mut(class).assign(&alpha);
                machine.rho[class] = rho;
            }
        }
        machines
    }

    /// Decision values (tests, classes) from the kernel between test and training samples (tests, n).
    pub fn decide(&self, cross: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        if cross.ncols() != self.alpha.nrows() {
            let expected = format!("(tests, {})", self.alpha.nrows());
            return Err(Error::Shape { what: "cross kernel", expected, got: cross.shape().to_vec() });
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

/// Repeated stratified splits with C chosen inside each.
#[derive(Debug, Clone, PartialEq)]
pub struct Protocol {
    /// Values of C to try, ascending; the first of the best is taken.
    pub c: Vec<f64>,
    /// Folds of the inner cross-validation.
    pub folds: usize,
    /// Number of splits.
    pub splits: usize,
    /// Share of each class that trains.
    pub train: f64,
    /// Stopping tolerance of the solver on the KKT violation (libsvm's default is 1e-3).
    pub tolerance: f64,
    /// Seed of splits and folds.
    pub seed: u64,
}

impl Default for Protocol {
    fn default() -> Self {
        Protocol { c: vec![0.1, 1.0, 10.0, 100.0], folds: 3, splits: 20, train: 0.5, tolerance: 1e-3, seed: 0 }
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
    /// C chosen in each split.
    pub chosen: Vec<f64>,
    /// Negative eigenvalues cut from the kernel.
    pub negative: usize,
    /// Their share of the sum of all absolute eigenvalues.
    pub negative_mass: f64,
}

fn block(k: &Array2<f64>, rows: &[usize], cols: &[usize]) -> Array2<f64> {
    k.select(Axis(0), rows).select(Axis(1), cols)
}

fn accuracy(machine: &OneVsRest, k: &Array2<f64>, labels: &[usize], test: &[usize], train: &[usize]) -> Result<f64> {
    let predicted = machine.predict(block(k, test, train).view())?;
    let right = predicted.iter().zip(test).filter(|&(&p, &i)| p == labels[i]).count();
    Ok(right as f64 / test.len() as f64)
}

impl Protocol {
    fn check(&self) -> Result<()> {
        if self.c.is_empty() || self.c.iter().any(|&c| !(c > 0.0 && c.is_finite())) {
            return Err(Error::parameter("c", "must hold at least one value, all positive and finite"));
        }
        if self.folds < 2 || self.splits == 0 {
            return Err(Error::parameter("folds", "at least 2 folds and 1 split are needed"));
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return Err(Error::parameter("tolerance", format!("must lie in ]0, 1[, got {}", self.tolerance)));
        }
        Ok(())
    }

    fn one(&self, k: &Array2<f64>, labels: &[usize], classes: usize, split: u64) -> Result<(f64, f64)> {
        let (train, test) = halves(labels, self.train, self.seed, split)?;
        let of = |samples: &[usize]| samples.iter().map(|&i| labels[i]).collect::<Vec<_>>();
        let mut best = (f64::NEG_INFINITY, self.c[0]);
        if self.c.len() > 1 {
            let mut scores = vec![0.0; self.c.len()];
            for (inner, held) in folds(labels, &train, self.folds, self.seed, split) {
                let among = block(k, &inner, &inner);
                let machines = OneVsRest::path(among.view(), &of(&inner), classes, &self.c, self.tolerance);
                for (score, machine) in scores.iter_mut().zip(machines) {
                    *score += accuracy(&machine, k, labels, &held, &inner)? * held.len() as f64;
                }
            }
            for (score, &c) in scores.iter().zip(&self.c) {
                if *score > best.0 {
                    best = (*score, c);
                }
            }
        }
        let machine = OneVsRest::fit(block(k, &train, &train).view(), &of(&train), classes, best.1, self.tolerance)?;
        Ok((accuracy(&machine, k, labels, &test, &train)?, best.1))
    }

    /// Runs the protocol on a kernel (n, n) and n labels.
    pub fn evaluate(&self, kernel: ArrayView2<'_, f64>, labels: &[usize]) -> Result<SvmReport> {
        self.check()?;
        if kernel.nrows() != labels.len() {
            let expected = format!("({0}, {0}) as there are {0} labels", labels.len());
            return Err(Error::Shape { what: "kernel", expected, got: kernel.shape().to_vec() });
        }
        let psd = PsdKernel::project(kernel)?;
        // Labels may be any numbers; machines count from 0.
        let mut names = labels.to_vec();
        names.sort_unstable();
        names.dedup();
        let dense: Vec<usize> = labels.iter().map(|l| names.partition_point(|n| n < l)).collect();
        let runs = (0..self.splits as u64)
            .into_par_iter()
            .map(|split| self.one(&psd.kernel, &dense, names.len(), split))
            .collect::<Result<Vec<(f64, f64)>>>()?;
        let (accuracies, chosen): (Vec<f64>, Vec<f64>) = runs.into_iter().unzip();
        let n = accuracies.len() as f64;
        let mean = accuracies.iter().sum::<f64>() / n;
        let squares: f64 = accuracies.iter().map(|a| (a - mean) * (a - mean)).sum();
        let deviation = if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        let PsdKernel { negative, negative_mass, .. } = psd;
        Ok(SvmReport { mean, deviation, accuracies, chosen, negative, negative_mass })
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
            let linfa = OneVsRest::fit_linfa(k.view(), &labels, 4, c, 1e-9).unwrap();
            let (a, b) = (machine.decide(k.view()).unwrap(), linfa.decide(k.view()).unwrap());
            let worst = (&a - &b).iter().fold(0.0f64, |m, d| m.max(d.abs()));
            assert!(worst < 1e-6, "C = {c}: {worst:e}");
            assert!(machine.alpha.iter().all(|v| v.abs() <= c));
        }
    }
}

//! The paper's protocol: repeated stratified splits, C chosen by cross-validation inside each.

use super::machine::OneVsRest;
use super::psd_kernel::PsdKernel;
use super::stratified::{folds, halves};
use crate::{Error, Result};
use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

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

//! Sequential minimal optimisation on a kernel matrix, one class against the rest, for a whole path of C.
//!
//! The same dual as linfa-svm's, min 1/2 a^T Q a - 1^T a with 0 <= a <= C, y^T a = 0, Q_ij = y_i y_j K_ij, by the same pair
//! selection (R.-E. Fan, P.-H. Chen, C.-J. Lin, *Working set selection using second order information for training support
//! vector machines*, JMLR 2005) and the same stopping rule: m - M < tolerance, m the largest -y_t G_t among the samples whose
//! a_t y_t may grow, M the smallest among those where it may fall. The kernel is given, nothing is allocated per step, and each C
//! starts from the solution of the last.

use ndarray::Array1;

/// Most pair steps for one C. A hundred samples typically take a thousand.
const STEPS: usize = 1_000_000;

/// One solved dual problem: f(x) = sum_t signed_t K(x_t, x) - rho with signed_t = a_t y_t.
pub(crate) struct Solution {
    pub signed: Array1<f64>,
    pub rho: f64,
    /// The KKT violation at the end.
    pub violation: f64,
    /// Pair steps done.
    pub steps: usize,
}

/// The state of one dual problem.
pub(crate) struct Dual<'a> {
    kernel: &'a [f64],
    diagonal: Vec<f64>,
    y: Vec<f64>,
    alpha: Vec<f64>,
    /// y_t times the gradient: sum_s y_s a_s K_ts - y_t.
    slope: Vec<f64>,
    /// Zero where a_t y_t may grow, minus infinity elsewhere. It is added to scores: minus infinity excludes the sample.
    grows: Vec<f64>,
    /// The same for falling.
    falls: Vec<f64>,
    bound: f64,
    /// Pair steps allowed for one value of C.
    pub steps: usize,
}

impl<'a> Dual<'a> {
    /// Starts with all a = 0. `kernel` is symmetric, its n x n entries row by row; `positive` says which samples are of the class.
    pub(crate) fn new(kernel: &'a [f64], positive: &[bool]) -> Self {
        let n = positive.len();
        let y: Vec<f64> = positive.iter().map(|p| if *p { 1.0 } else { -1.0 }).collect();
        let slope = y.iter().map(|y| -y).collect();
        let diagonal = (0..n).map(|t| kernel[t * n + t]).collect();
        let zeros = || vec![0.0; n];
        Dual { kernel, diagonal, alpha: zeros(), y, slope, grows: zeros(), falls: zeros(), bound: 0.0, steps: STEPS }
    }

    /// Whether a_t y_t may grow, and whether it may fall.
    fn free(&self, t: usize) -> (bool, bool) {
        let (off_zero, off_bound) = (self.alpha[t] > 0.0, self.alpha[t] < self.bound);
        if self.y[t] > 0.0 { (off_bound, off_zero) } else { (off_zero, off_bound) }
    }

    fn mark(&mut self, t: usize) {
        let penalty = |may: bool| if may { 0.0 } else { f64::NEG_INFINITY };
        let (grows, falls) = self.free(t);
        (self.grows[t], self.falls[t]) = (penalty(grows), penalty(falls));
    }

    fn row(&self, t: usize) -> &'a [f64] {
        &self.kernel[t * self.y.len()..(t + 1) * self.y.len()]
    }

    /// The pair (i, j) that gains most and the length of its step, or none when the KKT violation is below `tolerance`.
    fn pair(&self, tolerance: f64) -> Option<(usize, usize, f64)> {
        let (i, up) = largest(self.slope.iter().zip(&self.grows).map(|(s, open)| open - s));
        if up == f64::NEG_INFINITY {
            return None;
        }
        let (_, down) = largest(self.slope.iter().zip(&self.falls).map(|(s, open)| open + s));
        if up + down < tolerance {
            return None;
        }
        let (row, own) = (self.row(i), self.diagonal[i]);
        // An indefinite kernel or a repeated sample can make the curvature zero or negative. A tiny one keeps the step finite, as in libsvm.
        let curve = |t: usize| (own + self.diagonal[t] - 2.0 * row[t]).max(1e-12);
        let gains = self.slope.iter().zip(&self.falls).enumerate().map(|(t, (s, open))| {
            let gap = (up + s).max(0.0);
            gap * gap / curve(t) + open
        });
        let (j, gain) = largest(gains);
        (gain > 0.0).then(|| (i, j, (up + self.slope[j]) / curve(j)))
    }

    /// Solves for this C, starting from the solution of the last C; from zero when this C is smaller than the last.
    pub(crate) fn solve(&mut self, c: f64, tolerance: f64) -> Solution {
        if c < self.bound {
            self.alpha.fill(0.0);
            self.slope.iter_mut().zip(&self.y).for_each(|(s, y)| *s = -y);
        }
        self.bound = c;
        (0..self.y.len()).for_each(|t| self.mark(t));
        let mut steps = 0;
        while steps < self.steps {
            let Some((i, j, step)) = self.pair(tolerance) else { break };
            steps += 1;
            let margin = |t: usize, grows: bool| if grows { c - self.alpha[t] } else { self.alpha[t] };
            let (up, down) = (margin(i, self.y[i] > 0.0), margin(j, self.y[j] < 0.0));
            let step = step.min(up).min(down);
            // A step that ends at a bound sets exactly the bound, so that the next choice of a pair sees it there.
            let moved = |a: f64, by: f64, all: bool| match (all, by > 0.0) {
                (true, true) => c,
                (true, false) => 0.0,
                _ => a + by,
            };
            self.alpha[i] = moved(self.alpha[i], self.y[i] * step, step >= up);
            self.alpha[j] = moved(self.alpha[j], -self.y[j] * step, step >= down);
            self.mark(i);
            self.mark(j);
            let (a, b) = (self.row(i), self.row(j));
            for ((s, a), b) in self.slope.iter_mut().zip(a).zip(b) {
                *s += (a - b) * step;
            }
        }
        let signed = self.alpha.iter().zip(&self.y).map(|(a, y)| a * y).collect();
        Solution { signed, rho: self.threshold(), violation: self.violation(), steps }
    }

    /// The KKT violation m - M; zero where no pair can move.
    fn violation(&self) -> f64 {
        let (_, up) = largest(self.slope.iter().zip(&self.grows).map(|(s, open)| open - s));
        let (_, down) = largest(self.slope.iter().zip(&self.falls).map(|(s, open)| open + s));
        (up + down).max(0.0)
    }

    /// rho: the mean slope of the samples strictly between the bounds; without any, the middle of the interval that the others allow.
    fn threshold(&self) -> f64 {
        let (mut sum, mut count, mut low, mut high) = (0.0, 0.0, f64::NEG_INFINITY, f64::INFINITY);
        for t in 0..self.y.len() {
            match self.free(t) {
                (true, true) => (sum, count) = (sum + self.slope[t], count + 1.0),
                (true, false) => high = high.min(self.slope[t]),
                _ => low = low.max(self.slope[t]),
            }
        }
        if count > 0.0 { sum / count } else { 0.5 * (low + high) }
    }
}

/// The first largest value and its place; (0, -inf) when there is none above -inf.
fn largest(values: impl Iterator<Item = f64>) -> (usize, f64) {
    values.enumerate().fold((0, f64::NEG_INFINITY), |best, (t, v)| if v > best.1 { (t, v) } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    /// Along a path of C each solution is feasible and violates the KKT conditions by less than the tolerance.
    #[test]
    fn every_solution_on_the_path_meets_the_kkt_conditions() {
        let n = 40;
        let x = |i: usize, j: usize| (2.3 * i as f64 + 1.1 * j as f64).sin();
        let k =
            Array2::from_shape_fn((n, n), |(i, j)| (-(0..3).map(|f| (x(i, f) - x(j, f)).powi(2)).sum::<f64>()).exp());
        let positive: Vec<bool> = (0..n).map(|i| x(i, 0) + 0.5 * x(i, 3) > 0.1).collect();
        let mut dual = Dual::new(k.as_slice().unwrap(), &positive);
        for c in [0.1, 1.0, 10.0, 100.0, 3.0] {
            let tolerance = 1e-6;
            let Solution { signed, rho, violation, .. } = dual.solve(c, tolerance);
            assert!(violation < tolerance, "C = {c}");
            assert!(signed.sum().abs() < 1e-9 * c, "C = {c}: y^T a = {}", signed.sum());
            let f = k.dot(&signed) - rho;
            for (t, own) in positive.iter().enumerate() {
                let y = if *own { 1.0 } else { -1.0 };
                let (a, margin) = (signed[t] * y, y * f[t] - 1.0);
                assert!((0.0..=c).contains(&a));
                assert!(a == c || margin > -tolerance, "C = {c}, sample {t}: inside the margin by {margin:e}");
                assert!(a == 0.0 || margin < tolerance, "C = {c}, sample {t}: beyond the margin by {margin:e}");
            }
        }
    }

    /// A solver that used up its steps reports it.
    #[test]
    fn a_machine_that_ran_out_of_steps_says_so() {
        let n = 30;
        let k = Array2::from_shape_fn((n, n), |(i, j)| (-((i as f64 - j as f64) / 5.0).powi(2)).exp());
        let positive: Vec<bool> = (0..n).map(|i| i % 3 == 0).collect();
        let mut dual = Dual::new(k.as_slice().unwrap(), &positive);
        dual.steps = 2;
        let stopped = dual.solve(10.0, 1e-6);
        assert!(stopped.violation > 1e-6 && stopped.steps == 2);
        dual.steps = STEPS;
        assert!(dual.solve(10.0, 1e-6).violation < 1e-6);
    }
}

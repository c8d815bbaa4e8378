//! Sequential minimal optimisation on a kernel matrix, one class against the rest, for a whole path of C.
//!
//! The same dual as linfa-svm's, min 1/2 a^T Q a - 1^T a with 0 <= a <= C, y^T a = 0, Q_ij = y_i y_j K_ij, by the same pair
//! selection (R.-E. Fan, P.-H. Chen, C.-J. Lin, *Working set selection using second order information for training support
//! vector machines*, JMLR 2005). Choosing C needs many small machines on one kernel: linfa-svm rebuilds the kernel from features
//! in each, which costs four times the optimisation; here it is given, and each C starts from the solution of the last.

use ndarray::{Array1, ArrayView2};

/// Pair steps at most; a thousand are typical for a hundred samples.
const STEPS: usize = 1_000_000;

/// The state of one dual problem.
pub(crate) struct Dual<'a> {
    kernel: ArrayView2<'a, f64>,
    y: Vec<f64>,
    alpha: Vec<f64>,
    /// y_t times the gradient: sum_s y_s a_s K_ts - y_t.
    slope: Vec<f64>,
    bound: f64,
}

impl<'a> Dual<'a> {
    /// All alphas zero. `kernel` (n, n) symmetric, row-major; `positive` says which samples are of the class.
    pub(crate) fn new(kernel: ArrayView2<'a, f64>, positive: &[bool]) -> Self {
        let y: Vec<f64> = positive.iter().map(|p| if *p { 1.0 } else { -1.0 }).collect();
        let slope = y.iter().map(|y| -y).collect();
        Dual { kernel, alpha: vec![0.0; y.len()], y, slope, bound: 0.0 }
    }

    /// Whether a_t y_t may grow, and whether it may fall.
    fn free(&self, t: usize) -> (bool, bool) {
        let (off_zero, off_bound) = (self.alpha[t] > 0.0, self.alpha[t] < self.bound);
        if self.y[t] > 0.0 { (off_bound, off_zero) } else { (off_zero, off_bound) }
    }

    /// The pair that gains most, or none when the KKT violation is below `tolerance`.
    fn pair(&self, tolerance: f64) -> Option<(usize, usize, f64)> {
        let n = self.y.len();
        let (mut i, mut up) = (n, f64::NEG_INFINITY);
        for t in 0..n {
            if -self.slope[t] > up && self.free(t).0 {
                (i, up) = (t, -self.slope[t]);
            }
        }
        if i == n {
            return None;
        }
        let row = self.kernel.row(i);
        let (mut best, mut down) = ((n, 0.0, 0.0), f64::INFINITY);
        for t in 0..n {
            if !self.free(t).1 {
                continue;
            }
            down = down.min(-self.slope[t]);
            let gap = up + self.slope[t];
            if gap > 0.0 {
                // Indefinite or repeated samples: a tiny curvature keeps the step finite, as in libsvm.
                let curve = (row[i] + self.kernel[[t, t]] - 2.0 * row[t]).max(1e-12);
                if gap * gap / curve > best.1 {
                    best = (t, gap * gap / curve, gap / curve);
                }
            }
        }
        (best.0 < n && up - down >= tolerance).then_some((i, best.0, best.2))
    }

    /// Solves for this C, from where the last one ended (from zero when C has fallen): a_t y_t, and the threshold rho of
    /// f(x) = sum_t a_t y_t K(x_t, x) - rho.
    pub(crate) fn solve(&mut self, c: f64, tolerance: f64) -> (Array1<f64>, f64) {
        if c < self.bound {
            self.alpha.fill(0.0);
            self.slope.iter_mut().zip(&self.y).for_each(|(s, y)| *s = -y);
        }
        self.bound = c;
        for _ in 0..STEPS {
            let Some((i, j, step)) = self.pair(tolerance) else { break };
            let room = |t: usize, grows: bool| if grows { c - self.alpha[t] } else { self.alpha[t] };
            let (up, down) = (room(i, self.y[i] > 0.0), room(j, self.y[j] < 0.0));
            let step = step.min(up).min(down);
            // At a bound exactly at it, so that the next choice sees it there.
            let moved = |a: f64, by: f64, all: bool| match (all, by > 0.0) {
                (true, true) => c,
                (true, false) => 0.0,
                _ => a + by,
            };
            self.alpha[i] = moved(self.alpha[i], self.y[i] * step, step >= up);
            self.alpha[j] = moved(self.alpha[j], -self.y[j] * step, step >= down);
            let (a, b) = (self.kernel.row(i), self.kernel.row(j));
            for ((s, a), b) in self.slope.iter_mut().zip(a).zip(b) {
                *s += (a - b) * step;
            }
        }
        let signed = self.alpha.iter().zip(&self.y).map(|(a, y)| a * y).collect();
        (signed, self.threshold())
    }

    /// The mean slope of the free samples; without any, the middle of what the bounds allow.
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

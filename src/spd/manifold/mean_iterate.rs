//! The iterate of one Frechet mean: its factor, its direction, its stopping rule. See `mean.rs` for the equations.

use crate::batch::triangular::{cholesky, flip_transpose, invert_lower};
use crate::manifold::mean::Mean;
use crate::{Error, InputError, Metric, Result};
use linalg::dot;
use ndarray::ArrayView2;

/// Number of past steps that the quasi-Newton direction uses.
const MEMORY: usize = 5;

pub(crate) struct MeanIterate {
    n: usize,
    /// Which of the means it is; for errors.
    number: usize,
    /// R with M = R R^T.
    factor: Vec<f64>,
    /// The matrix S of the congruence S X S^T: R^-1, or J L^T J for Bures-Wasserstein.
    pub root: Vec<f64>,
    /// G, then the step D.
    pub step: Vec<f64>,
    /// G of the current iteration, kept for the next difference of gradients.
    before: Vec<f64>,
    /// (s, y, 1 / <s, y>), oldest first.
    history: Vec<(Vec<f64>, Vec<f64>, f64)>,
    gradient: f64,
    pub iterations: usize,
    pub running: bool,
    converged: bool,
}

fn add(to: &mut [f64], w: f64, x: &[f64]) {
    to.iter_mut().zip(x).for_each(|(t, v)| *t += w * v);
}

impl MeanIterate {
    /// Start at the given matrix.
    pub fn new(number: usize, start: ArrayView2<'_, f64>, metric: Metric) -> Result<Self> {
        let n = start.nrows();
        let square = || vec![0.0; n * n];
        let mut state = MeanIterate {
            n,
            number,
            factor: square(),
            root: square(),
            step: square(),
            before: square(),
            history: Vec::new(),
            gradient: f64::INFINITY,
            iterations: 0,
            running: true,
            converged: false,
        };
        state.factorise(start, metric)?;
        Ok(state)
    }

    fn factorise(&mut self, m: ArrayView2<'_, f64>, metric: Metric) -> Result<()> {
        let flat: Vec<f64> = m.iter().copied().collect();
        if !cholesky(self.n, &flat, &mut self.factor) {
            return Err(Error::MeanFailed { number: self.number });
        }
        match metric {
            Metric::BuresWasserstein => flip_transpose(self.n, &self.factor, &mut self.root),
            _ => invert_lower(self.n, &self.factor, &mut self.root),
        }
        Ok(())
    }

    /// Which of the means it is.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Turn G in `step` into the step D: L-BFGS on the tangent space, whose frame R is transported along with the iterate.
    pub fn direction(&mut self, (typical, bound): (f64, f64), tolerance: f64) {
        let norm = dot(&self.step, &self.step).sqrt();
        let grew = norm > self.gradient;
        if !grew && let Some((step, y, scale)) = self.history.last_mut() {
            // `y` holds the old G until now: y = G_old - G_new.
            add(y, -1.0, &self.step);
            *scale = 1.0 / dot(step, y);
        }
        // After a growing gradient, or a pair without positive curvature, drop the history: the next step is the safe one.
        if grew || self.history.last().is_some_and(|h| !(h.2 > 0.0 && h.2.is_finite())) {
            self.history.clear();
        }
        self.converged = norm <= tolerance;
        self.running = !self.converged;
        self.gradient = norm;
        self.before.copy_from_slice(&self.step);
        let mut alphas = [0.0; MEMORY];
        for (alpha, (step, y, scale)) in alphas.iter_mut().zip(&self.history).rev() {
            *alpha = scale * dot(step, &self.step);
            add(&mut self.step, -*alpha, y);
        }
        let scale = if grew { 2.0 / (1.0 + bound) } else { 1.0 / typical };
        self.step.iter_mut().for_each(|v| *v *= scale);
        for (alpha, (step, y, scale)) in alphas.iter().zip(&self.history) {
            let beta = scale * dot(y, &self.step);
            add(&mut self.step, alpha - beta, step);
        }
        if self.history.len() == MEMORY {
            self.history.remove(0);
        }
        self.history.push((self.step.clone(), self.before.clone(), 0.0));
    }

    /// M <- R exp(D) R^T from exp(D / 2) and exp(-D / 2).
    pub fn advance(&mut self, half: &[f64], inverse_half: &[f64]) -> Result<()> {
        let factor = linalg::matmul(square(&self.factor, self.n)?, square(half, self.n)?);
        let root = linalg::matmul(square(inverse_half, self.n)?, square(&self.root, self.n)?);
        self.factor.iter_mut().zip(&factor).for_each(|(t, v)| *t = *v);
        self.root.iter_mut().zip(&root).for_each(|(t, v)| *t = *v);
        Ok(())
    }

    /// M <- L^-T P^2 L^-1, P the sum in `step`.
    pub fn bures(&mut self, tolerance: f64) -> Result<()> {
        let n = self.n;
        // The images are of J (L^T X L) J: turn them back.
        self.step.reverse();
        let l = square(&self.factor, n)?;
        let p = square(&self.step, n)?;
        let residual = &p - &linalg::matmul(l.t(), l);
        self.gradient = (residual.iter().map(|v| v * v).sum::<f64>() / dot(&self.step, &self.step)).sqrt();
        let mut inverse = vec![0.0; n * n];
        invert_lower(n, &self.factor, &mut inverse);
        let right = linalg::matmul(p, square(&inverse, n)?);
        let next = linalg::matmul(right.t(), right.view());
        self.converged = self.gradient <= tolerance;
        self.running = !self.converged;
        self.factorise(linalg::symmetrise(next.view()).view(), Metric::BuresWasserstein)
    }

    pub fn finish(self) -> Result<Mean> {
        let r = square(&self.factor, self.n)?;
        Ok(Mean {
            matrix: linalg::symmetrise(linalg::matmul(r, r.t()).view()),
            iterations: self.iterations,
            gradient: self.gradient,
            converged: self.converged,
        })
    }
}

fn square(x: &[f64], n: usize) -> Result<ArrayView2<'_, f64>> {
    ArrayView2::from_shape((n, n), x).map_err(|_| InputError::shape("mean", [n, n], [x.len()]).into())
}

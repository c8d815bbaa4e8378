//! L-BFGS: a generic minimiser of a smooth function R^n -> R.
//!
//! x <- x - t H g, where H approximates the inverse Hessian from the last `memory` pairs s = x' - x, y = g' - g by the
//! two-loop recursion (Nocedal and Wright, algorithm 7.4), and t satisfies the strong Wolfe conditions, so that
//! every accepted step decreases f and keeps H positive definite. It knows nothing of maps or samples: the solvers
//! [`Lbfgs`](crate::Lbfgs), [`BlockCoordinate`](crate::BlockCoordinate) and the completion hand it a closure.

use crate::optimise::line_search::{Point, strong_wolfe};
use crate::tolerances::{GRADIENT_TOLERANCE, NO_MORE_FALL, VALUE_TOLERANCE};
use estimator::{Convergence, Outcome};
use linalg::dot;
use std::collections::VecDeque;

/// When L-BFGS stops, and how many curvature pairs it keeps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MinimiseParams {
    /// Pairs kept for the inverse Hessian.
    pub memory: usize,
    /// The largest number of iterations.
    pub max_iterations: usize,
    /// Stop when f falls by less than this share of itself over ten iterations.
    pub f_tolerance: f64,
    /// Stop when max|gradient| <= this times its value at the start. Being relative, it does not depend on the unit of the data.
    pub gradient_tolerance: f64,
    /// Stop where f is at most this value; the start is tested too.
    pub target: f64,
}

impl Default for MinimiseParams {
    fn default() -> Self {
        Self {
            memory: 30,
            max_iterations: 2000,
            f_tolerance: VALUE_TOLERANCE,
            gradient_tolerance: GRADIENT_TOLERANCE,
            target: 0.0,
        }
    }
}

/// Why the iteration ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// f reached its target.
    Target,
    /// The gradient vanished to the tolerance.
    Gradient,
    /// f no longer falls by a share worth the work.
    Value,
    /// No step decreases f any more: the precision of f is exhausted.
    Precision,
    /// The iteration limit was reached first.
    Iterations,
    /// The watcher asked for it.
    Watcher,
    /// f or its gradient was not finite at the start.
    NotFinite,
}

impl Ending {
    /// In words, for a history.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Target => "target reached",
            Self::Gradient => "gradient vanished",
            Self::Value => "objective stopped falling",
            Self::Precision => "precision exhausted",
            Self::Iterations => "iteration limit",
            Self::Watcher => "stopped by its watcher",
            Self::NotFinite => "not finite",
        }
    }
}

/// What [`minimise`] found.
#[derive(Debug, Clone)]
pub struct Minimum {
    /// The last point, which is the best.
    pub x: Vec<f64>,
    /// f there.
    pub f: f64,
    /// Why it stopped.
    pub stop: Ending,
    /// Iterations done.
    pub iterations: usize,
    /// Evaluations of f and its gradient.
    pub evaluations: usize,
    /// f after each iteration, the start first; never rises beyond rounding.
    pub values: Vec<f64>,
    /// max|gradient| at the end, as a share of its value at the start.
    pub gradient: f64,
    /// How far the last quadratic model expected f to fall: half of g^T H g.
    pub expected_fall: f64,
}

impl Minimum {
    /// How the iteration ended, with the measure that ended it.
    pub fn convergence(&self, params: &MinimiseParams) -> Convergence {
        let (n, recent) = (self.iterations, self.values.len().saturating_sub(11));
        let fall = (self.values[recent] - self.f) / self.f.abs().max(f64::MIN_POSITIVE);
        let fell =
            Convergence::judge("relative fall of the objective over ten iterations", fall, params.f_tolerance, n);
        let steep = |tolerance| Convergence::judge("gradient relative to the start", self.gradient, tolerance, n);
        let fall = self.expected_fall / self.f.abs().max(f64::MIN_POSITIVE);
        let expected = Convergence::judge("expected relative fall of the objective", fall, NO_MORE_FALL, n);
        match self.stop {
            Ending::Target => Convergence::judge("objective", self.f, params.target, n),
            Ending::Gradient => steep(params.gradient_tolerance),
            Ending::Value => fell.with_outcome(Outcome::Converged),
            Ending::Precision if self.expected_fall <= NO_MORE_FALL * self.f.abs() => expected,
            Ending::Precision => expected.with_outcome(Outcome::Stalled),
            Ending::Iterations | Ending::Watcher | Ending::NotFinite => fell.with_outcome(Outcome::Stopped),
        }
    }
}

fn max_abs(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |m, v| m.max(v.abs()))
}

/// One pair of the memory.
#[derive(Debug, Clone)]
struct Pair {
    s: Vec<f64>,
    y: Vec<f64>,
    rho: f64,
}

/// The curvature pairs of a run. Another run on a similar function can start with them.
#[derive(Debug, Clone, Default)]
pub struct Memory(VecDeque<Pair>);

/// -H g by the two-loop recursion, into `d`.
fn direction(pairs: &VecDeque<Pair>, g: &[f64], d: &mut [f64]) {
    for (d, g) in d.iter_mut().zip(g) {
        *d = -g;
    }
    let mut alphas = vec![0.0; pairs.len()];
    for (pair, alpha) in pairs.iter().zip(&mut alphas).rev() {
        *alpha = pair.rho * dot(&pair.s, d);
        d.iter_mut().zip(&pair.y).for_each(|(d, y)| *d -= *alpha * y);
    }
    if let Some(last) = pairs.back() {
        let scale = 1.0 / (last.rho * dot(&last.y, &last.y));
        d.iter_mut().for_each(|d| *d *= scale);
    }
    for (pair, alpha) in pairs.iter().zip(&alphas) {
        let beta = pair.rho * dot(&pair.y, d);
        d.iter_mut().zip(&pair.s).for_each(|(d, s)| *d += (alpha - beta) * s);
    }
}

/// Minimises f from `x`. `f(x, g)` returns the value and writes the gradient into `g`.
///
/// ```
/// use kraus::{MinimiseParams, minimise};
/// // Rosenbrock's valley, minimum 0 at (1, 1).
/// let f = |x: &[f64], g: &mut [f64]| {
///     let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
///     g[0] = -2.0 * a - 400.0 * x[0] * b;
///     g[1] = 200.0 * b;
///     a * a + 100.0 * b * b
/// };
/// let m = minimise(f, vec![-1.2, 1.0], &MinimiseParams::default());
/// assert!(m.f < 1e-20 && (m.x[0] - 1.0).abs() < 1e-9);
/// ```
pub fn minimise(f: impl FnMut(&[f64], &mut [f64]) -> f64, x: Vec<f64>, params: &MinimiseParams) -> Minimum {
    minimise_watched(f, x, params, &mut Memory::default(), |_, _| true)
}

/// [`minimise`] that calls `go_on(x, f)` after each iteration and stops when it returns false, and that starts with the
/// curvature in `memory` and leaves there what it has learnt.
pub fn minimise_watched(
    mut f: impl FnMut(&[f64], &mut [f64]) -> f64,
    x: Vec<f64>,
    params: &MinimiseParams,
    Memory(pairs): &mut Memory,
    mut go_on: impl FnMut(&[f64], f64) -> bool,
) -> Minimum {
    let n = x.len();
    let mut g = vec![0.0; n];
    let f0 = f(&x, &mut g);
    let mut m = Minimum {
        x,
        f: f0,
        stop: Ending::Iterations,
        iterations: 0,
        evaluations: 1,
        values: vec![f0],
        gradient: 1.0,
        expected_fall: f64::INFINITY,
    };
    if !f0.is_finite() || !g.iter().all(|v| v.is_finite()) {
        m.stop = Ending::NotFinite;
        return m;
    }
    let steepest = max_abs(&g);
    let vanished = params.gradient_tolerance * steepest;
    let (mut d, mut x_new, mut g_new) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    while m.iterations < params.max_iterations {
        if m.f <= params.target {
            m.stop = Ending::Target;
            break;
        }
        if max_abs(&g) <= vanished {
            m.stop = Ending::Gradient;
            break;
        }
        if m.iterations >= 10 && m.values[m.iterations - 10] - m.f <= params.f_tolerance * m.f.abs() {
            m.stop = Ending::Value;
            break;
        }
        direction(pairs, &g, &mut d);
        let mut slope = dot(&d, &g);
        if slope >= 0.0 {
            // Rounding has made the pairs useless: start again from steepest descent.
            pairs.clear();
            direction(pairs, &g, &mut d);
            slope = dot(&d, &g);
        }
        if !pairs.is_empty() {
            m.expected_fall = -0.5 * slope;
        }
        // Without a memory the scale of f is unknown: move the largest coordinate by a tenth of the largest there is.
        let tenth = 0.1 * if max_abs(&m.x) > 0.0 { max_abs(&m.x) } else { 1.0 };
        let first = if pairs.is_empty() { tenth / max_abs(&g) } else { 1.0 };
        let found = strong_wolfe(Point { t: 0.0, f: m.f, slope }, first, |t| {
            m.evaluations += 1;
            x_new.iter_mut().zip(&m.x).zip(&d).for_each(|((n, x), d)| *n = x + t * d);
            let value = f(&x_new, &mut g_new);
            (value, dot(&g_new, &d))
        });
        let Some(step) = found else {
            if pairs.is_empty() {
                m.stop = Ending::Precision;
                break;
            }
            pairs.clear();
            continue;
        };
        let s: Vec<f64> = d.iter().map(|d| step.t * d).collect();
        let y: Vec<f64> = g_new.iter().zip(&g).map(|(a, b)| a - b).collect();
        let sy = dot(&s, &y);
        if sy > f64::EPSILON * dot(&y, &y).sqrt() * dot(&s, &s).sqrt() {
            if pairs.len() == params.memory.max(1) {
                pairs.pop_front();
            }
            pairs.push_back(Pair { s, y, rho: 1.0 / sy });
        }
        std::mem::swap(&mut m.x, &mut x_new);
        std::mem::swap(&mut g, &mut g_new);
        m.f = step.f;
        m.values.push(step.f);
        m.iterations += 1;
        if !go_on(&m.x, m.f) {
            m.stop = Ending::Watcher;
            break;
        }
    }
    m.gradient = if steepest > 0.0 { max_abs(&g) / steepest } else { 0.0 };
    m
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ill_conditioned_quadratic_never_rises() {
        let f = |x: &[f64], g: &mut [f64]| {
            let mut v = 0.0;
            for (i, (x, g)) in x.iter().zip(g.iter_mut()).enumerate() {
                let w = 10f64.powi(i as i32 % 7);
                *g = 2.0 * w * (x - 1.0);
                v += w * (x - 1.0) * (x - 1.0);
            }
            v
        };
        let m = minimise(f, vec![5.0; 40], &MinimiseParams::default());
        assert!(m.f < 1e-20, "{m:?}");
        assert!(m.values.windows(2).all(|w| w[1] <= w[0] * (1.0 + 1e-12)));
    }

    #[test]
    fn a_value_that_is_not_finite_is_said() {
        let m = minimise(|_, _| f64::NAN, vec![0.0], &MinimiseParams::default());
        assert_eq!(m.stop, Ending::NotFinite);
    }
}

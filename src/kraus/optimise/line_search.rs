//! A step along a descent direction that satisfies the strong Wolfe conditions.
//!
//! With phi(t) = f(x + t d) the accepted t satisfies phi(t) <= phi(0) + c1 t phi'(0) and |phi'(t)| <= c2 |phi'(0)|
//! (Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6, with safeguarded cubic interpolation).
//! Near the optimum phi(t) - phi(0) is smaller than its rounding error; there the approximate Wolfe test of Hager and Zhang (2005),
//! which needs slopes only, takes over. Without it noise-free fits would stop at the square root of what they can reach.

use crate::tolerances::EQUAL_VALUES as ROUNDING;

/// One point of the search: step, value, slope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub t: f64,
    pub f: f64,
    pub slope: f64,
}

const C1: f64 = 1e-4;
const C2: f64 = 0.9;
const MAX_TRIALS: usize = 40;

/// Whether `p` is acceptable when seen from `start`.
fn accepts(start: Point, p: Point) -> bool {
    let curved = p.slope.abs() <= C2 * start.slope.abs();
    let decreased = p.f <= start.f + C1 * p.t * start.slope;
    let level = p.f <= start.f + ROUNDING * start.f.abs();
    let approximate = level && p.slope <= (2.0 * C1 - 1.0) * start.slope && p.slope >= C2 * start.slope;
    (decreased && curved) || (level && approximate)
}

/// The minimiser of the cubic through two points with slopes, kept away from the ends of the interval.
fn interpolate(a: Point, b: Point) -> f64 {
    let (lo, hi) = (a.t.min(b.t), a.t.max(b.t));
    let width = hi - lo;
    let d1 = a.slope + b.slope - 3.0 * (a.f - b.f) / (a.t - b.t);
    let disc = d1 * d1 - a.slope * b.slope;
    let cubic = if disc >= 0.0 {
        let d2 = disc.sqrt() * (b.t - a.t).signum();
        b.t - (b.t - a.t) * (b.slope + d2 - d1) / (b.slope - a.slope + 2.0 * d2)
    } else {
        f64::NAN
    };
    if cubic.is_finite() { cubic.clamp(lo + 0.1 * width, hi - 0.1 * width) } else { lo + 0.5 * width }
}

/// Searches from `start` (t = 0) with first trial `t`. `phi` evaluates a step and remembers its last point, so that on
/// success the caller holds point and gradient of the accepted step. `None`: no acceptable step was found.
pub(crate) fn strong_wolfe(start: Point, mut t: f64, mut phi: impl FnMut(f64) -> (f64, f64)) -> Option<Point> {
    let mut eval = |t: f64| {
        let (f, slope) = phi(t);
        Point { t, f, slope }
    };
    let mut low = start;
    let mut trials = 0;
    // Extend until the interval [low, high] holds an acceptable step.
    let mut high = loop {
        let p = eval(t);
        trials += 1;
        if !p.f.is_finite() || !p.slope.is_finite() {
            // Beyond the domain of f: go back nine tenths of the way to the last good point.
            if trials >= MAX_TRIALS {
                return None;
            }
            t = low.t + 0.1 * (t - low.t);
            continue;
        }
        if accepts(start, p) {
            return Some(p);
        }
        let level = start.f + C1 * p.t * start.slope + ROUNDING * start.f.abs();
        if p.f > level || (low.t > 0.0 && p.f >= low.f) || p.slope >= 0.0 {
            break p;
        }
        if trials >= MAX_TRIALS || !t.is_finite() {
            return None;
        }
        low = p;
        t *= 2.5;
    };
    // Zoom: `low` is the best point so far, the minimiser lies between `low` and `high`.
    while trials < MAX_TRIALS {
        let p = eval(interpolate(low, high));
        trials += 1;
        if accepts(start, p) {
            return Some(p);
        }
        let too_high = !p.f.is_finite() || p.f > start.f + C1 * p.t * start.slope || p.f >= low.f;
        // When values no longer differ only the slopes tell on which side the minimiser lies.
        let flat = (p.f - low.f).abs() <= ROUNDING * low.f.abs() && p.slope.is_finite();
        if too_high && !(flat && p.slope < 0.0) {
            high = p;
        } else {
            if p.slope * (high.t - low.t) >= 0.0 {
                high = low;
            }
            low = p;
        }
        if (high.t - low.t).abs() <= f64::EPSILON * high.t.abs().max(low.t.abs()) {
            break;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_steps_satisfy_strong_wolfe() {
        // A quartic with a far minimiser, started with steps that are far too short and far too long.
        let f = |t: f64| ((t - 3.0).powi(4) + 0.5 * t, 4.0 * (t - 3.0).powi(3) + 0.5);
        let (f0, s0) = f(0.0);
        for first in [1e-4, 1.0, 50.0] {
            let p = strong_wolfe(Point { t: 0.0, f: f0, slope: s0 }, first, f).unwrap();
            assert!(p.f <= f0 + C1 * p.t * s0 && p.slope.abs() <= C2 * s0.abs(), "{p:?}");
        }
    }

    #[test]
    fn comes_back_from_an_infinite_value() {
        let f = |t: f64| {
            if t < 1.0 { (-(1.0 - t).ln() - 2.0 * t, 1.0 / (1.0 - t) - 2.0) } else { (f64::INFINITY, f64::NAN) }
        };
        let p = strong_wolfe(Point { t: 0.0, f: 0.0, slope: -1.0 }, 4.0, f).unwrap();
        assert!(p.t < 1.0 && p.f < 0.0);
    }
}

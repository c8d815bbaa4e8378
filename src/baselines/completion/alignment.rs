//! Centred kernel alignment of Phi U U^T Phi^T with a target kernel, maximised over U on the sphere ||U||_F = 1.
//!
//! A(U) = <C M C, C K C> / (||C M C|| ||C K C||) with M = Phi U U^T Phi^T and C the centring matrix (C. Cortes,
//! M. Mohri, A. Rostamizadeh, *Algorithms for learning kernels based on centered alignment*, JMLR 2012). With Phi
//! centred, K' = C K C and P = Phi U: A = <P, K' P> / (||P^T P|| ||K'||), with gradient
//! 2 Phi^T (K' P / ||P^T P|| - <P, K' P> P P^T P / ||P^T P||^3) / ||K'||.
//!
//! The method is Riemannian gradient ascent with conjugate directions (Polak-Ribiere; projection serves as vector transport). Along a
//! great circle U cos(a) + D sin(a), numerator and denominator of A are trigonometric polynomials whose coefficients cost one product.
//! So the line search is exact at no further cost, and the alignment never falls.

use linalg::{gemm, math, matmul};
use ndarray::{Array2, ArrayView2, Axis, Zip};

/// A point of the ascent: P = Phi U, `kp` = K' P and `gram` = P^T P.
struct Point {
    p: Array2<f64>,
    kp: Array2<f64>,
    gram: Array2<f64>,
}

impl Point {
    /// A on the great circle through this point (P) and `to` (Q), and the product P^T Q.
    fn line(&self, to: &Point) -> (CircleLine, Array2<f64>) {
        let (a, b, d) = (&self.gram, matmul(self.p.t(), to.p.view()), &to.gram);
        let top = [dot(&self.p, &self.kp), 2.0 * dot(&self.p, &to.kp), dot(&to.p, &to.kp)];
        let crossed: f64 = b.iter().zip(b.t().iter()).map(|(x, y)| x * y).sum();
        // The coefficients of the powers of c = cos and s = sin in ||c^2 P P^T + c s (P Q^T + Q P^T) + s^2 Q Q^T||^2.
        let middle = 2.0 * dot(a, d) + 2.0 * crossed + 2.0 * dot(&b, &b);
        let bottom = [dot(a, a), 4.0 * dot(a, &b), middle, 4.0 * dot(d, &b), dot(d, d)];
        (CircleLine { top, bottom }, b)
    }

    /// The point c P + s Q. It is computed from the two points, without another product with the kernel.
    fn between(&self, to: &Point, crossed: &Array2<f64>, (s, c): (f64, f64)) -> Point {
        let mix = |a: &Array2<f64>, b: &Array2<f64>| Zip::from(a).and(b).map_collect(|a, b| c * a + s * b);
        let gram = Zip::from(&self.gram)
            .and(&to.gram)
            .and(crossed)
            .and(crossed.t())
            .map_collect(|a, d, b, t| c * c * a + s * s * d + c * s * (b + t));
        Point { p: mix(&self.p, &to.p), kp: mix(&self.kp, &to.kp), gram }
    }
}

/// The problem: centred features (n, a) and centred target (n, n).
pub(crate) struct Alignment {
    features: Array2<f64>,
    target: Array2<f64>,
    target_norm: f64,
}

/// The inner product of two matrices with the same memory layout.
fn dot(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
    match (a.as_slice(), b.as_slice()) {
        (Some(a), Some(b)) => linalg::dot(a, b),
        _ => a.iter().zip(b).map(|(x, y)| x * y).sum(),
    }
}

fn norm(a: &Array2<f64>) -> f64 {
    dot(a, a).sqrt()
}

/// C K C: rows and columns of mean zero.
pub(crate) fn centred(k: ArrayView2<'_, f64>) -> Array2<f64> {
    let mean = |axis| k.mean_axis(Axis(axis)).unwrap_or_default();
    let (rows, cols) = (mean(1), mean(0));
    let total = rows.mean().unwrap_or(0.0);
    &k - &rows.insert_axis(Axis(1)) - &cols.insert_axis(Axis(0)) + total
}

/// Centred alignment of two kernels of one size: 1 when they agree up to scale and centring.
///
/// ```
/// let k = ndarray::array![[2.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 3.0]];
/// let scaled = &k * 5.0 + 1.0;
/// assert!((baselines::cvkt::centred_alignment(k.view(), scaled.view()) - 1.0).abs() < 1e-14);
/// ```
///
/// # Panics
/// If the shapes differ.
pub fn centred_alignment(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> f64 {
    assert_eq!(a.dim(), b.dim(), "centred_alignment: shapes");
    let (a, b) = (centred(a), centred(b));
    dot(&a, &b) / (norm(&a) * norm(&b)).max(f64::MIN_POSITIVE)
}

/// A along a great circle, up to the factor 1 / ||K'||: the coefficients of <P, K' P> (`top`) and of ||P^T P||^2 (`bottom`) as
/// polynomials in cos and sin.
struct CircleLine {
    top: [f64; 3],
    bottom: [f64; 5],
}

impl CircleLine {
    fn at(&self, angle: f64) -> f64 {
        let (s, c) = (math::sin(angle), math::cos(angle));
        let top = self.top[0] * c * c + self.top[1] * c * s + self.top[2] * s * s;
        let b = &self.bottom;
        let squares = b[0] * c.powi(4) + b[1] * c.powi(3) * s + b[2] * c * c * s * s + b[3] * c * s.powi(3);
        top / (squares + b[4] * s.powi(4)).max(f64::MIN_POSITIVE).sqrt()
    }

    /// The angle of the largest A: a scan of the half circle (A has period pi), then golden-section search around the best angle.
    fn best(&self) -> f64 {
        let step = std::f64::consts::PI / 64.0;
        // Small angles matter most near an optimum, so the scan has them on a geometric scale too.
        let scan = (0..64).map(|k| f64::from(k) * step).chain((1..30).map(|k| step * 0.5f64.powi(k)));
        let (start, value) = scan
            .map(|angle| (angle, self.at(angle)))
            .fold((0.0, self.at(0.0)), |best, next| if next.1 > best.1 { next } else { best });
        let ratio = 0.5 * (5f64.sqrt() - 1.0);
        let (mut lo, mut hi) = if start <= step { (0.0, 2.0 * start.max(1e-9)) } else { (start - step, start + step) };
        for _ in 0..40 {
            let (left, right) = (hi - ratio * (hi - lo), lo + ratio * (hi - lo));
            if self.at(left) >= self.at(right) { hi = right } else { lo = left }
        }
        let fine = 0.5 * (lo + hi);
        if self.at(fine) > value { fine } else { start }
    }
}

impl Alignment {
    /// Features (n, a) and kernel (n, n), centred here.
    pub(crate) fn new(features: ArrayView2<'_, f64>, kernel: ArrayView2<'_, f64>) -> Self {
        let mean = features.mean_axis(Axis(0)).unwrap_or_default();
        let target = centred(kernel);
        let target_norm = norm(&target).max(f64::MIN_POSITIVE);
        Alignment { features: &features - &mean, target, target_norm }
    }

    /// The point P = Phi U with the products that A and its gradient need.
    fn point(&self, p: Array2<f64>) -> Point {
        let (kp, gram) = (matmul(self.target.view(), p.view()), matmul(p.t(), p.view()));
        Point { p, kp, gram }
    }

    /// A and its Euclidean gradient in U.
    fn gradient_at(&self, at: &Point) -> (f64, Array2<f64>) {
        let (top, size) = (dot(&at.p, &at.kp), norm(&at.gram).max(f64::MIN_POSITIVE));
        let mut inner = at.kp.clone();
        gemm(-top / (size * size), at.p.view(), at.gram.view(), 1.0, inner.view_mut());
        let gradient = matmul(self.features.t(), inner.view()) * (2.0 / (size * self.target_norm));
        (top / (size * self.target_norm), gradient)
    }

    /// Improves `u` by at most `iterations` steps, until a step gains less than `tolerance`. Returns the alignment at the start and after
    /// each step.
    pub(crate) fn climb(&self, u: &mut Array2<f64>, iterations: usize, tolerance: f64) -> Vec<f64> {
        *u /= norm(u).max(f64::MIN_POSITIVE);
        let mut here = self.point(matmul(self.features.view(), u.view()));
        // A does not change with the length of U, so its gradient is tangent to the sphere already.
        let (mut value, mut gradient) = self.gradient_at(&here);
        let mut direction = gradient.clone();
        let mut history = vec![value];
        for _ in 0..iterations {
            if dot(&direction, &gradient) <= 0.0 {
                direction.assign(&gradient);
            }
            let length = norm(&direction);
            if length <= f64::MIN_POSITIVE {
                break;
            }
            let unit = &direction / length;
            let there = self.point(matmul(self.features.view(), unit.view()));
            let (line, crossed) = here.line(&there);
            let angle = line.best();
            let (s, c) = (math::sin(angle), math::cos(angle));
            let moved = &*u * c + &unit * s;
            let next_point = here.between(&there, &crossed, (s, c));
            let (next, next_gradient) = self.gradient_at(&next_point);
            // Near the maximum, rounding can make a tiny step look like a loss. Then the ascent ends.
            if next <= value {
                break;
            }
            let along = &unit * c - &*u * s;
            let old = &gradient - &(&moved * dot(&gradient, &moved));
            let beta = (dot(&next_gradient, &next_gradient) - dot(&next_gradient, &old)) / dot(&gradient, &gradient);
            direction = &next_gradient + &(along * (length * beta.max(0.0)));
            let gain = next - value;
            (*u, here, value, gradient) = (moved, next_point, next, next_gradient);
            history.push(value);
            if gain < tolerance {
                break;
            }
        }
        let length = norm(u);
        *u /= length.max(f64::MIN_POSITIVE);
        history
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Alignment {
        fn value_and_gradient(&self, u: &Array2<f64>) -> (f64, Array2<f64>) {
            self.gradient_at(&self.point(self.features.dot(u)))
        }
    }

    fn problem() -> (Alignment, Array2<f64>) {
        let wave =
            |r: usize, c: usize, m: f64| Array2::from_shape_fn((r, c), |(i, j)| (m * (1 + i * c + j) as f64).sin());
        let base = wave(12, 4, 1.9);
        (Alignment::new(wave(12, 6, 1.3).view(), base.dot(&base.t()).view()), wave(6, 3, 0.7))
    }

    #[test]
    fn gradient_agrees_with_central_differences() {
        let (problem, u) = problem();
        let (_, gradient) = problem.value_and_gradient(&u);
        for ((i, j), g) in gradient.indexed_iter() {
            let at = |h: f64| {
                let mut moved = u.clone();
                moved[[i, j]] += h;
                problem.value_and_gradient(&moved).0
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((difference - g).abs() < 1e-9, "({i}, {j}): {difference} against {g}");
        }
        assert!(dot(&gradient, &u).abs() < 1e-14, "the length of U does not matter");
    }

    #[test]
    fn the_line_is_the_alignment_on_the_great_circle() {
        let (problem, mut u) = problem();
        u /= norm(&u);
        let (_, mut d) = problem.value_and_gradient(&u);
        d /= norm(&d);
        let [p, q] = [&u, &d].map(|v| problem.point(problem.features.dot(v)));
        let (line, crossed) = p.line(&q);
        for angle in [0.0f64, 0.3, 1.2, 2.5] {
            let (direct, gradient) = problem.value_and_gradient(&(&u * angle.cos() + &d * angle.sin()));
            assert!((line.at(angle) / problem.target_norm - direct).abs() < 1e-13);
            let (same, slope) = problem.gradient_at(&p.between(&q, &crossed, angle.sin_cos()));
            assert!((same - direct).abs() < 1e-13 && norm(&(slope - gradient)) < 1e-12);
        }
    }

    #[test]
    fn the_alignment_rises_monotonically_to_a_critical_point() {
        let (problem, mut u) = problem();
        let history = problem.climb(&mut u, 500, 1e-15);
        assert!(history.len() > 5 && history.windows(2).all(|a| a[1] >= a[0]), "{history:?}");
        let (value, gradient) = problem.value_and_gradient(&u);
        assert!((value - history[history.len() - 1]).abs() < 1e-12);
        assert!(norm(&gradient) < 1e-5 && (norm(&u) - 1.0).abs() < 1e-14, "{}", norm(&gradient));
    }
}

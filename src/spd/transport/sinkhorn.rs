//! Entropic transport by scaling: P = diag(u) K diag(v), K = exp(-C / reg) (Cuturi 2013).
//!
//! One iteration is v = b / (K^T u), then u = a / (K v). Since u_i needs row i of K only, both products share one pass over K:
//! as soon as u_i is known, u_i K_i is added to the next K^T u. K is read once per iteration instead of twice.

use super::check_problem;
use crate::batch::{LANES, V, vectorised};
use crate::{Error, InputError, Result};
use ndarray::{Array2, ArrayView1, ArrayView2};

/// Rows of K handled together.
const ROWS: usize = 4;

/// Strength of the entropy and when the iteration stops; not yet checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SinkhornParams {
    /// Weight of the entropy: K = exp(-C / regularisation).
    pub regularisation: f64,
    /// Iterations at most.
    pub iterations: usize,
    /// Stop early when the 2-norm of the column marginal's error is below this; zero: never.
    pub tolerance: f64,
}

/// Checked [`SinkhornParams`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CheckedSinkhornParams(SinkhornParams);

impl SinkhornParams {
    /// Positive regularisation, at least one iteration, a tolerance that is not negative.
    pub fn check(self) -> Result<CheckedSinkhornParams> {
        let Self { regularisation, iterations, tolerance } = self;
        if !(regularisation > 0.0 && regularisation.is_finite()) {
            return Err(InputError::parameter("regularisation", regularisation, "positive and finite").into());
        }
        if iterations == 0 {
            return Err(InputError::parameter("iterations", 0.0, "at least 1").into());
        }
        if !(tolerance >= 0.0 && tolerance.is_finite()) {
            return Err(InputError::parameter("tolerance", tolerance, "zero or positive").into());
        }
        Ok(CheckedSinkhornParams(self))
    }
}

impl CheckedSinkhornParams {
    pub(crate) fn get(&self) -> SinkhornParams {
        self.0
    }
}

/// The paper's regularisation: 1 / lambda with lambda = 1 / (2 s^2) and s = 0.05 median(C), so 2 (0.05 median(C))^2.
pub fn regularisation_from_median(cost: ArrayView2<'_, f64>) -> Result<f64> {
    let s = 0.05 * median(cost.iter().copied().collect())?;
    if s > 0.0 { Ok(2.0 * s * s) } else { Err(Error::NoSpread { what: "regularisation_from_median" }) }
}

/// The median, the mean of the middle two for an even count.
pub(crate) fn median(mut x: Vec<f64>) -> Result<f64> {
    if x.is_empty() {
        return Err(InputError::empty("median").into());
    }
    x.sort_unstable_by(f64::total_cmp);
    let m = x.len() / 2;
    Ok(if x.len() % 2 == 1 { x[m] } else { 0.5 * (x[m - 1] + x[m]) })
}

/// A transport plan and how well it meets its marginals.
#[derive(Debug, Clone, PartialEq)]
pub struct TransportPlan {
    /// The plan P, (m, n).
    pub plan: Array2<f64>,
    /// <P, C>.
    pub cost: f64,
    /// Largest absolute error of a row or column sum.
    pub marginal_error: f64,
    /// Iterations made.
    pub iterations: usize,
    /// Whether the plan was computed in the log domain.
    pub log_domain: bool,
}

impl TransportPlan {
    pub(crate) fn measure(
        plan: Array2<f64>,
        cost: &ArrayView2<'_, f64>,
        a: &ArrayView1<'_, f64>,
        b: &ArrayView1<'_, f64>,
        iterations: usize,
    ) -> Result<TransportPlan> {
        if plan.iter().any(|v| !v.is_finite()) {
            return Err(Error::Underflow { iteration: iterations });
        }
        let error = |axis, target: &ArrayView1<'_, f64>| {
            (plan.sum_axis(ndarray::Axis(axis)) - target).iter().fold(0.0, |m: f64, v| m.max(v.abs()))
        };
        let marginal_error = error(1, a).max(error(0, b));
        let total = plan.iter().zip(cost).map(|(p, c)| p * c).sum();
        Ok(TransportPlan { plan, cost: total, marginal_error, iterations, log_domain: false })
    }
}

/// Entropic transport between marginals `a` (m) and `b` (n) under `cost` (m, n), in the plain domain.
///
/// Costs far above the regularisation underflow to zero in K: a row or column that loses all its mass is an
/// [`Error::Underflow`], and [`sinkhorn_log`](crate::sinkhorn_log) still solves it.
///
/// ```
/// use spd::{SinkhornParams, sinkhorn};
/// let cost = ndarray::array![[0.0, 1.0], [1.0, 0.0]];
/// let half = ndarray::array![0.5, 0.5];
/// let params = SinkhornParams { regularisation: 0.05, iterations: 100, tolerance: 0.0 }.check().unwrap();
/// let p = sinkhorn(cost.view(), half.view(), half.view(), &params).unwrap();
/// assert!(p.marginal_error < 1e-12 && p.plan[[0, 0]] > 0.499);
/// ```
pub fn sinkhorn(
    cost: ArrayView2<'_, f64>,
    a: ArrayView1<'_, f64>,
    b: ArrayView1<'_, f64>,
    params: &CheckedSinkhornParams,
) -> Result<TransportPlan> {
    check_problem("sinkhorn", &cost, &a, &b)?;
    let params = params.get();
    let mut scaling = Scaling::new(&a, &b);
    scaling.kernel(|i, j| linalg::math::exp(-cost[[i, j]] / params.regularisation));
    let start = vec![1.0 / a.len() as f64; a.len()];
    scaling.start(&start);
    let mut iterations = 0;
    while iterations < params.iterations {
        iterations += 1;
        scaling.iterate();
        if !scaling.in_range(0.0, f64::MAX) {
            return Err(Error::Underflow { iteration: iterations });
        }
        if params.tolerance > 0.0 && scaling.column_error() < params.tolerance {
            break;
        }
    }
    TransportPlan::measure(scaling.plan(), &cost, &a, &b, iterations)
}

/// K with its scalings u and v, rows padded with zeros to whole tiles: padded entries stay out of every sum.
pub(crate) struct Scaling {
    m: usize,
    n: usize,
    /// Vectors of eight per row.
    width: usize,
    k: Vec<V>,
    a: Vec<f64>,
    b: Vec<f64>,
    pub u: Vec<f64>,
    pub v: Vec<f64>,
    scaled: Vec<V>,
    /// K^T u of the current u.
    next: Vec<V>,
}

impl Scaling {
    pub fn new(a: &ArrayView1<'_, f64>, b: &ArrayView1<'_, f64>) -> Self {
        let (m, n) = (a.len(), b.len());
        let (height, width) = (m.next_multiple_of(ROWS), n.div_ceil(LANES));
        let padded = |x: &ArrayView1<'_, f64>, len: usize| {
            x.iter().copied().chain(std::iter::repeat_n(0.0, len - x.len())).collect::<Vec<_>>()
        };
        let row = || vec![V::ZERO; width];
        let k = vec![V::ZERO; height * width];
        let (u, v) = (vec![0.0; height], vec![0.0; width * LANES]);
        Scaling { m, n, width, k, a: padded(a, height), b: padded(b, width * LANES), u, v, scaled: row(), next: row() }
    }

    pub fn kernel(&mut self, f: impl Fn(usize, usize) -> f64) {
        for (i, row) in self.k.chunks_exact_mut(self.width).enumerate().take(self.m) {
            (0..self.n).for_each(|j| row[j / LANES].0[j % LANES] = f(i, j));
        }
    }

    /// Set u and K^T u.
    pub fn start(&mut self, u: &[f64]) {
        self.u[..self.m].copy_from_slice(u);
        self.next.fill(V::ZERO);
        for (row, u) in self.k.chunks_exact(self.width).zip(&self.u) {
            self.next.iter_mut().zip(row).for_each(|(t, x)| *t = *t + V::splat(*u) * *x);
        }
    }

    /// v = b / K^T u, then u = a / K v.
    pub fn iterate(&mut self) {
        vectorised(
            #[inline(always)]
            || {
                let columns = self.scaled.iter_mut().zip(&mut self.next).zip(self.b.as_chunks::<LANES>().0);
                for ((v, sums), b) in columns {
                    let b = V(*b);
                    *v = b.if_zero(V::ZERO, b / *sums);
                    *sums = V::ZERO;
                }
                pass(&self.k, self.width, &self.a, &self.scaled, &mut self.u, &mut self.next)
            },
        );
        for (v, from) in self.v.as_chunks_mut::<LANES>().0.iter_mut().zip(&self.scaled) {
            *v = from.0;
        }
    }

    /// Whether every scaling that carries mass lies in ]low, high].
    pub fn in_range(&self, low: f64, high: f64) -> bool {
        let within = |x: &[f64], mass: &[f64]| x.iter().zip(mass).all(|(x, w)| *w == 0.0 || (*x > low && *x <= high));
        within(&self.u, &self.a) && within(&self.v, &self.b)
    }

    /// 2-norm of the error of the column sums (those of the rows are exact after u).
    pub fn column_error(&self) -> f64 {
        let terms = self
            .v
            .iter()
            .zip(self.next.iter().flat_map(|s| s.0))
            .zip(&self.b)
            .map(|((v, s), b)| (v * s - b) * (v * s - b));
        terms.sum::<f64>().sqrt()
    }

    pub fn plan(&self) -> Array2<f64> {
        Array2::from_shape_fn((self.m, self.n), |(i, j)| {
            self.u[i] * self.k[i * self.width + j / LANES].0[j % LANES] * self.v[j]
        })
    }
}

/// The sum of the lanes. Not inlined: seeing it, the compiler adds up four rows side by side, and spends most of the loop on
/// shuffling them there.
#[inline(never)]
fn total(v: &V) -> f64 {
    v.sum()
}

/// u_i = a_i / (K_i . v) and next = sum_i u_i K_i, four rows at a time. `width` counts vectors of eight.
///
/// K of a few hundred rows is larger than the second cache, and rows are too short for a prefetcher to learn: the next
/// four are asked for, line by line, while these four are added up.
#[inline(always)]
fn pass(k: &[V], width: usize, a: &[f64], v: &[V], u: &mut [f64], next: &mut [V]) {
    let blocks = k.chunks_exact(ROWS * width).zip(a.chunks_exact(ROWS)).zip(u.chunks_exact_mut(ROWS));
    for (index, ((block, a), u)) in blocks.enumerate() {
        let following = k.get((index + 1) * ROWS * width..(index + 2) * ROWS * width).unwrap_or(&k[..ROWS * width]);
        let (r0, rest) = block.split_at(width);
        let (r1, rest) = rest.split_at(width);
        let (r2, r3) = rest.split_at(width);
        let mut sums = [V::ZERO; ROWS];
        for ((((x0, x1), x2), x3), w) in r0.iter().zip(r1).zip(r2).zip(r3).zip(v) {
            sums[0] = x0.fma(*w, sums[0]);
            sums[1] = x1.fma(*w, sums[1]);
            sums[2] = x2.fma(*w, sums[2]);
            sums[3] = x3.fma(*w, sums[3]);
        }
        for i in 0..ROWS {
            // Padded rows and rows without mass carry nothing.
            u[i] = if a[i] == 0.0 { 0.0 } else { a[i] / total(&sums[i]) };
        }
        let [u0, u1, u2, u3] = [V::splat(u[0]), V::splat(u[1]), V::splat(u[2]), V::splat(u[3])];
        let ahead = following.chunks_exact(ROWS);
        for (((((x0, x1), x2), x3), t), lines) in r0.iter().zip(r1).zip(r2).zip(r3).zip(next.iter_mut()).zip(ahead) {
            linalg::small::prefetch(lines);
            *t = x3.fma(u3, x2.fma(u2, x1.fma(u1, x0.fma(u0, *t))));
        }
    }
}

//! A noise-free map from two rows of its output: the closed form where X has so many coordinates that moments are expensive.
//!
//! The moments of n coordinates take n^2 multiply-adds per sample, and a map 100 -> 40 has n = 5050 and 820 outputs. But
//! three outputs, Y_oo, Y_ot and Y_tt of two rows o and t, determine B_o and B_t (see [`super::closed_form`]), and these
//! determine every other row by linear equations in the p r numbers of that row: Y_oc = <X B_o, B_c> and Y_tc = <X B_t, B_c>. One
//! row is not enough, because Y_oc = 0 for B_c = B_o S with a skew S.
//!
//! Least squares of three outputs needs no moments either: conjugate gradients read the samples once per iteration. Where all
//! coordinates of X - mean X have about the same variance, as for X = G^T G, each iteration multiplies the error by sqrt(n / l).
//! The total cost is then least with e n samples.

use crate::map::KrausMap;
use crate::solvers::closed_form::aligned;
use crate::solvers::moments::{Basis, LeastSquares, OFF_DIAGONAL, add_gram};
use linalg::small::{row_dots, small_gemm};
use linalg::{Real, gemm, solve_spd};
use ndarray::{Array1, Array2, Array3, ArrayView3, Axis, s};
use rayon::prelude::*;

/// Number of outputs that are regressed: those of the row pairs (o, o), (o, t) and (t, t).
const OUTPUTS: usize = 3;
/// Conjugate gradients have converged where the gradient is this share of the first one.
const CONVERGED: f64 = 1e-11;
/// One run of conjugate gradients in single precision lowers the gradient to this share, not further.
const SINGLE: f64 = 3e-6;
/// The method gives up after this many times the expected iterations: the coordinates of X are not alike then.
const PATIENCE: f64 = 3.0;
/// Samples per product: their rows stay in the second-level cache until the second product reads them.
const GROUP: usize = 16;
/// Groups of samples that one task sums. It is fixed, so that sums do not depend on the number of threads.
const TASK: usize = 16;

/// How many of l samples [`from_two_output_rows`] should use. None where l samples are too few, or where moments cost less.
pub(crate) fn samples_needed(l: usize, p: usize, q: usize) -> Option<usize> {
    let n = Basis::Symmetric.len(p);
    let cheapest = (std::f64::consts::E * n as f64) as usize;
    let used = l.min(cheapest) / GROUP * GROUP;
    // With fewer than 1.5 n samples an iteration gains too little, and rounding decides.
    if q <= 2 || 2 * used < 3 * n {
        return None;
    }
    // Multiply-adds. G of 5/4 n samples and its Cholesky factor; two products per iteration, at half the speed of a large one.
    let by_moments = (n as f64).powi(3) * (1.25 + 1.0 / 3.0);
    let by_gradients = expected_iterations(used, n) * (2 * 2 * OUTPUTS) as f64 * used as f64 * n as f64;
    (by_gradients < by_moments).then_some(used)
}

/// Iterations until the error has fallen to [`CONVERGED`], if each multiplies it by sqrt(n / l).
fn expected_iterations(l: usize, n: usize) -> f64 {
    linalg::math::ln(CONVERGED) / (0.5 * linalg::math::ln(n as f64 / l as f64))
}

/// A map of at most this rank that takes the samples `at` of X (l, p, p) to those of Y (l, q, q), if there is one. All
/// matrices are symmetric, and the length of `at` is a multiple of sixteen. Noisy samples give a map too, so the caller
/// checks that the map fits.
pub(crate) fn from_two_output_rows<T: Real>(
    x: ArrayView3<'_, T>,
    y: ArrayView3<'_, T>,
    at: &[usize],
    rank: usize,
) -> Option<KrausMap<f64>> {
    let (l, p, q) = (at.len(), x.dim().1, y.dim().1);
    let output = |a: usize, b: usize| at.iter().map(|&i| y[[i, a, b]].as_f64()).collect::<Array1<f64>>();
    let sizes = (0..q).map(|a| output(a, a).sum()).collect::<Vec<f64>>();
    let mut by_size = (0..q).collect::<Vec<_>>();
    by_size.sort_by(|a, b| sizes[*b].total_cmp(&sizes[*a]));
    let (o, t) = (by_size[0], by_size[1]);
    let mut targets = vec![0.0; l * OUTPUTS];
    for (column, (a, b)) in [(o, o), (o, t), (t, t)].into_iter().enumerate() {
        let values = output(a, b) * if a == b { 1.0 } else { OFF_DIAGONAL };
        let mean = values.sum() / l as f64;
        targets.iter_mut().skip(column).step_by(OUTPUTS).zip(values).for_each(|(to, v)| *to = v - mean);
    }
    let regression = Regression { x, at, targets, n: Basis::Symmetric.len(p) };
    let ls = LeastSquares { coefficients: regression.least_squares()?, rss: 0.0, recovery: 0.0 };
    let two = aligned(&ls, p, 2, rank).ok()?;
    // Operators beyond the rank of the map are zero, and would leave the equations for the other rows singular.
    let used = two.ops().outer_iter().take_while(|op| op.iter().any(|v| *v != 0.0)).count();
    let rows = [0, 1].map(|a| two.ops().slice(s![..used, a, ..]).to_owned());
    let others = &by_size[2..];
    let found = other_rows(x, y, at, (o, t), &rows, others)?;
    let mut ops = Array3::zeros((rank, q, p));
    ops.slice_mut(s![..used, o, ..]).assign(&rows[0]);
    ops.slice_mut(s![..used, t, ..]).assign(&rows[1]);
    for (c, row) in others.iter().zip(found.columns()) {
        // Cannot fail: each column has one entry per operator and column of X.
        let row = row.to_shape((used, p)).expect("used p entries");
        ops.slice_mut(s![..used, *c, ..]).assign(&row);
    }
    KrausMap::new(ops).ok()
}

/// The rows `others` from two known ones (r, p): columns of r p numbers. None where the known ones do not determine them.
fn other_rows<T: Real>(
    x: ArrayView3<'_, T>,
    y: ArrayView3<'_, T>,
    at: &[usize],
    (o, t): (usize, usize),
    rows: &[Array2<f64>; 2],
    others: &[usize],
) -> Option<Array2<f64>> {
    let (r, p) = rows[0].dim();
    // Two equations per sample, a quarter more than unknowns.
    let at = &at[..at.len().min((5 * r * p).div_ceil(8))];
    let n = at.len();
    let mut mean = Array2::<f64>::zeros((p, p));
    for &i in at {
        mean.zip_mut_with(&x.index_axis(Axis(0), i), |s, v| *s += v.as_f64() / n as f64);
    }
    let mut equations = Array2::zeros((2 * n, r * p));
    let mut values = Array2::zeros((2 * n, others.len()));
    for (row, from) in [o, t].into_iter().enumerate() {
        let mut equations = equations.slice_mut(s![row * n..(row + 1) * n, ..]);
        equations.axis_iter_mut(Axis(0)).into_par_iter().zip(at).for_each(|(to, &i)| {
            let centred = ndarray::Zip::from(&x.index_axis(Axis(0), i)).and(&mean).map_collect(|x, m| x.as_f64() - m);
            // Cannot fail: a row of r p numbers.
            let to = to.into_shape_with_order((r, p)).expect("r p entries");
            gemm(1.0, rows[row].view(), centred.view(), 0.0, to);
        });
        for (mut to, &c) in values.slice_mut(s![row * n..(row + 1) * n, ..]).columns_mut().into_iter().zip(others) {
            let all = at.iter().map(|&i| y[[i, from, c]].as_f64()).collect::<Array1<f64>>();
            to.assign(&(&all - all.sum() / n as f64));
        }
    }
    let mut gram = Array2::zeros((r * p, r * p));
    add_gram(equations.view(), &mut gram);
    let right = linalg::matmul(equations.t(), values.view());
    solve_spd(gram.view(), right.view()).ok()
}

/// svec(X) of the samples and the targets of three outputs, both minus their means.
struct Regression<'x, 'a, T> {
    x: ArrayView3<'x, T>,
    at: &'a [usize],
    /// (l, 3).
    targets: Vec<f64>,
    n: usize,
}

/// svec(X - shift) in single precision, a row per sample.
struct SinglePrecision {
    x: Vec<f32>,
    /// Mean of svec(X).
    mean: Array1<f64>,
    /// Mean of svec(X - shift).
    rest: Array1<f64>,
}

impl<T: Real> Regression<'_, '_, T> {
    /// The samples of a group, a row each.
    fn rows(&self, group: usize, rows: &mut Vec<f64>) {
        rows.resize(GROUP * self.n, 0.0);
        for (row, at) in rows.chunks_exact_mut(self.n).zip(&self.at[group * GROUP..]) {
            Basis::Symmetric.pack(self.x.index_axis(Axis(0), *at), row);
        }
    }

    /// The sum of residual x over all samples: minus half the gradient. `residual` turns the rows and targets of a group into
    /// residuals, (16, 3).
    fn gradient<S: Send>(&self, each: &mut [S], residual: impl Fn(&[f64], &mut [f64], &mut S) + Sync) -> Array2<f64> {
        let n = self.n;
        let parts = each.par_chunks_mut(TASK).enumerate().map(|(task, groups)| {
            let (mut sum, mut rows) = (vec![0.0; OUTPUTS * n], Vec::new());
            for (i, group) in groups.iter_mut().enumerate() {
                let at = task * TASK + i;
                self.rows(at, &mut rows);
                let mut r = self.targets[at * GROUP * OUTPUTS..][..GROUP * OUTPUTS].to_vec();
                residual(&rows, &mut r, group);
                small_gemm((OUTPUTS, n, GROUP), &r, (1, OUTPUTS), &rows, n, &mut sum, n, true);
            }
            sum
        });
        total(n, parts)
    }

    /// The samples in single precision, their mean, and the gradient at zero.
    fn begin(&self) -> (SinglePrecision, Array2<f64>) {
        let (l, n) = (self.at.len(), self.n);
        // Any matrix near the mean serves as the shift: single precision then has its digits for the spread around it.
        let mut rows = Vec::new();
        self.rows(0, &mut rows);
        let mut shift = vec![0.0; n];
        for row in rows.chunks_exact(n) {
            shift.iter_mut().zip(row).for_each(|(s, v)| *s += v / GROUP as f64);
        }
        let mut x = vec![0.0f32; l * n];
        let mut groups = x.chunks_exact_mut(GROUP * n).map(|x| (x, vec![0.0; n])).collect::<Vec<_>>();
        let gradient = self.gradient(&mut groups, |rows, _, (single, sum)| {
            for (to, row) in single.chunks_exact_mut(n).zip(rows.chunks_exact(n)) {
                to.iter_mut().zip(row.iter().zip(&shift)).for_each(|(to, (v, s))| *to = (v - s) as f32);
                sum.iter_mut().zip(row).for_each(|(s, v)| *s += v);
            }
        });
        let mut mean = Array1::zeros(n);
        for (_, sum) in groups {
            mean.iter_mut().zip(sum).for_each(|(m, s)| *m += s / l as f64);
        }
        let shift = Array1::from(shift);
        let rest = &mean - &shift;
        (SinglePrecision { x, mean, rest }, gradient)
    }

    /// The gradient at these coefficients (3, n).
    fn gradient_at(&self, coefficients: &Array2<f64>, mean: &Array1<f64>) -> Array2<f64> {
        let n = self.n;
        let (along, way) = (coefficients.dot(mean), coefficients.as_slice().expect("standard layout"));
        self.gradient(&mut vec![(); self.at.len() / GROUP], |rows, r, ()| {
            let mut out = [0.0; GROUP * OUTPUTS];
            row_dots((GROUP, OUTPUTS, n), rows, n, way, n, &mut out, OUTPUTS);
            for (r, out) in r.chunks_exact_mut(OUTPUTS).zip(out.chunks_exact(OUTPUTS)) {
                r.iter_mut().zip(out).zip(&along).for_each(|((r, out), along)| *r -= out - along);
            }
        })
    }

    /// Coefficients (3, n). Conjugate gradients solve the normal equations with samples in single precision. The
    /// remaining gradient, computed in double precision, is solved for again until it has converged. None where it does not
    /// converge, for instance on inputs that span less than the space.
    fn least_squares(&self) -> Option<Array2<f64>> {
        let (single, mut left) = self.begin();
        let first = norms(&left);
        let mut found = Array2::zeros((OUTPUTS, self.n));
        let mut iterations = (PATIENCE * expected_iterations(self.at.len(), self.n)) as usize;
        loop {
            let now = norms(&left);
            let share = (0..OUTPUTS).map(|j| ratio(now[j], first[j])).fold(0.0, f64::max);
            let tolerance = (CONVERGED / share).max(SINGLE);
            found += &single.solve(&left, tolerance, &mut iterations)?;
            if tolerance > SINGLE {
                return Some(found);
            }
            left = self.gradient_at(&found, &single.mean);
        }
    }
}

impl SinglePrecision {
    /// The sum of (x - mean x) (x - mean x)^T times each row of `way` (3, n).
    fn curvature(&self, way: &Array2<f64>) -> Array2<f64> {
        let n = way.ncols();
        let along = way.dot(&self.rest);
        let way = way.iter().map(|v| *v as f32).collect::<Vec<_>>();
        let parts = self.x.par_chunks(TASK * GROUP * n).map(|groups| {
            let mut sum = vec![0.0; OUTPUTS * n];
            let mut out = [0.0; GROUP * OUTPUTS];
            for rows in groups.chunks_exact(GROUP * n) {
                row_dots((GROUP, OUTPUTS, n), rows, n, &way, n, &mut out, OUTPUTS);
                for out in out.chunks_exact_mut(OUTPUTS) {
                    out.iter_mut().zip(&along).for_each(|(v, along)| *v -= *along as f32);
                }
                small_gemm((OUTPUTS, n, GROUP), &out, (1, OUTPUTS), rows, n, &mut sum, n, true);
            }
            sum
        });
        total(n, parts)
    }

    /// Coefficients (3, n) whose curvature is `right`, up to this share of it in every row.
    fn solve(&self, right: &Array2<f64>, tolerance: f64, iterations: &mut usize) -> Option<Array2<f64>> {
        let (mut found, mut way, mut r) = (Array2::zeros(right.raw_dim()), right.clone(), right.clone());
        let first = norms(&r);
        let mut now = first;
        while (0..OUTPUTS).any(|j| now[j] > tolerance * first[j]) {
            *iterations = iterations.checked_sub(1)?;
            let curved = self.curvature(&way);
            let before = now;
            for j in 0..OUTPUTS {
                let step = ratio(now[j] * now[j], way.row(j).dot(&curved.row(j)));
                found.row_mut(j).scaled_add(step, &way.row(j));
                r.row_mut(j).scaled_add(-step, &curved.row(j));
            }
            now = norms(&r);
            for j in 0..OUTPUTS {
                let keep = ratio(now[j], before[j]).powi(2);
                way.row_mut(j).zip_mut_with(&r.row(j), |w, r| *w = r + keep * *w);
            }
        }
        Some(found)
    }
}

/// The sum of the parts (3, n), in their order.
fn total<F: Real>(n: usize, parts: impl IndexedParallelIterator<Item = Vec<F>>) -> Array2<f64> {
    let mut sum = Array2::zeros((OUTPUTS, n));
    for part in parts.collect::<Vec<_>>() {
        sum.iter_mut().zip(part).for_each(|(s, v)| *s += v.as_f64());
    }
    sum
}

fn norms(a: &Array2<f64>) -> [f64; OUTPUTS] {
    [0, 1, 2].map(|j| a.row(j).dot(&a.row(j)).sqrt())
}

/// a / b, or 0 where b is 0: an output that is already solved, or constant.
fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

//! Higher-order partial least squares (HOPLS) of tensors X (l, p1, p2) and Y (l, q1, q2).
//!
//! X = sum_r t_r o G_r x P_r^(1) x P_r^(2) + E and Y = sum_r t_r o D_r x Q_r^(1) x Q_r^(2) + F (Q. Zhao, C. F. Caiafa,
//! D. P. Mandic et al., *Higher order partial least squares (HOPLS): a generalized multilinear regression method*,
//! IEEE TPAMI 2013, arXiv 1207.1230, algorithm 1). For each latent vector: the loadings P, Q are the factors of the
//! rank-(L, L, K, K) orthogonal Tucker decomposition of the cross covariance <E, F>; t is the leading left singular
//! vector of E projected on P; then E and F lose their projections.
//!
//! The algorithm needs the samples only through S = E^T E and C = E^T F: t = E w with w = (P (x) P) v / sigma, where
//! v, sigma^2 is the leading eigenpair of (P (x) P)^T S (P (x) P); and t never has to be formed, since E^T t = S w and
//! F^T t = C^T w. So a latent vector costs O(p^4 + p^2 q^2), whatever l is, and a model of fewer latent vectors is the beginning of a
//! larger one.

use crate::regressor::{check_pair, split};
use crate::tucker_decomposition::{hooi, project_on};
use crate::{Error, Fitted, Layout, Regressor, Report, Result};
use linalg::{eigh, gemm, matmul};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayView3, Axis, s};

/// HOPLS and the values that its validation chooses from.
#[derive(Debug, Clone, PartialEq)]
pub struct Hopls {
    /// Number of latent vectors R. With `holdout` validation chooses the best number up to this one.
    pub latent: usize,
    /// Ranks L of the loadings of X to try, the same for both modes. A rank above a mode's length counts as that length.
    pub x_ranks: Vec<usize>,
    /// Ranks K of the loadings of Y to try. K = q leaves Y unprojected.
    pub y_ranks: Vec<usize>,
    /// Share of the samples (the last ones) that chooses R, L and K; the model is then refitted on all.
    /// `None` takes the first of each grid and all latent vectors.
    pub holdout: Option<f64>,
    /// Subtract the means of X and Y first; the model then has an intercept.
    pub centre: bool,
}

impl Hopls {
    /// Fixed numbers of latent vectors and mode ranks, centred.
    pub fn fixed(latent: usize, x_rank: usize, y_rank: usize) -> Self {
        Hopls { latent, x_ranks: vec![x_rank], y_ranks: vec![y_rank], holdout: None, centre: true }
    }

    /// The best number of latent vectors up to `latent` and the best of these ranks, chosen on a fifth of the samples, centred.
    pub fn validated(latent: usize, x_ranks: Vec<usize>, y_ranks: Vec<usize>) -> Self {
        Hopls { latent, x_ranks, y_ranks, holdout: Some(0.2), centre: true }
    }

    fn check(&self) -> Result<()> {
        if self.latent == 0 {
            return Err(Error::parameter("latent", "must be at least 1"));
        }
        for (name, ranks) in [("x_ranks", &self.x_ranks), ("y_ranks", &self.y_ranks)] {
            if ranks.is_empty() || ranks.contains(&0) {
                return Err(Error::parameter(name, "must hold at least one rank, all at least 1"));
            }
        }
        Ok(())
    }
}

/// Means and moments of vectorised samples.
struct CrossMoments {
    x_mean: Array1<f64>,
    y_mean: Array1<f64>,
    xx: Array2<f64>,
    xy: Array2<f64>,
    yy: f64,
    samples: usize,
}

impl CrossMoments {
    fn new(z: ArrayView2<'_, f64>, t: ArrayView2<'_, f64>, centre: bool) -> Self {
        let mean = |a: ArrayView2<'_, f64>| match a.mean_axis(Axis(0)) {
            Some(mean) if centre => mean,
            _ => Array1::zeros(a.ncols()),
        };
        let (x_mean, y_mean) = (mean(z), mean(t));
        let (z, t) = (&z - &x_mean, &t - &y_mean);
        let yy = t.iter().map(|v| v * v).sum();
        let xy = matmul(z.t(), t.view());
        CrossMoments { xx: matmul(z.t(), z.view()), xy, yy, x_mean, y_mean, samples: z.nrows() }
    }
}

/// One latent vector: t(new) = (x - mean) w_star, and its share of the prediction is t d^T.
struct Latent {
    w_star: Array1<f64>,
    d: Array1<f64>,
    /// ||F||^2 that remains after it.
    residual: f64,
    free: usize,
}

/// The matrix with the two columns a and b.
fn pair(a: &Array1<f64>, b: &Array1<f64>) -> Array2<f64> {
    Array2::from_shape_fn((a.len(), 2), |(i, j)| if j == 0 { a[i] } else { b[i] })
}

fn outer(a: &Array1<f64>, b: &Array1<f64>) -> Array2<f64> {
    let column: ArrayView1<'_, f64> = a.view();
    &column.insert_axis(Axis(1)) * &b.view().insert_axis(Axis(0))
}

/// The projected covariance (P (x) P)^T S (P (x) P).
fn projected(xx: &Array2<f64>, input: Layout, [p1, p2]: [&Array2<f64>; 2]) -> Array2<f64> {
    let (n1, n2) = (input.rows, input.cols);
    let four = xx.view().into_shape_with_order((n1, n2, n1, n2)).expect("row-major and of as many elements");
    let small = project_on(four, &[(0, p1), (1, p2), (2, p1), (3, p2)]).into_owned();
    let n = p1.ncols() * p2.ncols();
    small.into_shape_with_order((n, n)).expect("row-major and of as many elements")
}

/// The latent vectors in order: `latent` of them, or fewer when nothing is left to explain. `l` and `k` are the ranks L and K.
fn extract(m: &CrossMoments, input: Layout, output: Layout, latent: usize, l: usize, k: usize) -> Result<Vec<Latent>> {
    let (mut xx, mut xy, mut yy) = (m.xx.clone(), m.xy.clone(), m.yy);
    let start = (xx.diag().sum(), yy);
    let shape = (input.rows, input.cols, output.rows, output.cols);
    // Without a projection on P, t is the leading singular vector of E, and its removal does not change the other singular vectors. So
    // one decomposition serves all latent vectors.
    let whole = if l >= input.rows.max(input.cols) { Some(eigh(xx.view())?) } else { None };
    let latent = latent.min(input.len());
    let mut found: Vec<Latent> = Vec::with_capacity(latent);
    let mut loadings: Vec<Array1<f64>> = Vec::with_capacity(latent);
    while found.len() < latent {
        // Below these shares of their start, only rounding is left of E or F (the stopping rule of the HOPLS paper with its epsilon).
        if xx.diag().sum() <= 1e-13 * start.0 || yy <= 1e-14 * start.1 || xy.iter().all(|&v| v == 0.0) {
            break;
        }
        let c = xy.view().into_shape_with_order(shape).expect("row-major and of as many elements");
        let [p1, p2, q1, q2] = hooi(c, [l, l, k, k])?;
        let n = p1.ncols() * p2.ncols();
        let (value, v) = match &whole {
            Some(e) => (e.values[n - 1 - found.len()], e.vectors.column(n - 1 - found.len()).to_owned()),
            None => {
                let e = eigh(projected(&xx, input, [&p1, &p2]).view())?;
                (e.values[n - 1], e.vectors.column(n - 1).to_owned())
            }
        };
        let sigma = value.max(0.0).sqrt();
        if sigma == 0.0 {
            break;
        }
        let v = Array2::from_shape_fn((p1.ncols(), p2.ncols()), |(i, j)| v[i * p2.ncols() + j]);
        let g = matmul(matmul(p1.view(), v.view()).view(), p2.t());
        let direction: Array1<f64> = g.iter().copied().collect();
        let (w, g) = (&direction / sigma, direction * sigma);
        let (et, ft) = (xx.dot(&w), xy.t().dot(&w));
        let f = Array2::from_shape_fn((output.rows, output.cols), |(i, j)| ft[i * output.cols + j]);
        let core = matmul(matmul(q1.t(), f.view()).view(), q2.view());
        let d = matmul(matmul(q1.view(), core.view()).view(), q2.t());
        let d: Array1<f64> = d.iter().copied().collect();
        // S <- S - (E^T t) g^T - g (E^T t)^T + g g^T and C <- C - (E^T t) d^T - g (F^T t)^T + g d^T.
        let columns = pair(&et, &g);
        gemm(-1.0, columns.view(), pair(&g, &(&et - &g)).t(), 1.0, xx.view_mut());
        gemm(-1.0, columns.view(), pair(&d, &(&ft - &d)).t(), 1.0, xy.view_mut());
        yy -= d.dot(&d);
        // New samples lose the same projections: w_star includes this deflation.
        let mut w_star = w.clone();
        for (old, g) in found.iter().zip(&loadings) {
            w_star.scaled_add(-g.dot(&w), &old.w_star);
        }
        loadings.push(g);
        let free = n + core.len() + p1.len() + p2.len() + q1.len() + q2.len();
        found.push(Latent { w_star, d, residual: yy.max(0.0), free });
    }
    Ok(found)
}

/// Squared validation error with 1, 2, ... of the latent vectors.
///
/// One product gives all scores. Then each sample in turn loses its latent vectors, so that its residual stays in the cache.
fn errors(found: &[Latent], z: &Array2<f64>, t: &Array2<f64>) -> Vec<f64> {
    let columns: Vec<_> = found.iter().map(|latent| latent.w_star.view()).collect();
    let Ok(w) = ndarray::stack(Axis(1), &columns) else { return Vec::new() };
    let scores = matmul(z.view(), w.view());
    let mut errors = vec![0.0; found.len()];
    for (row, scores) in t.rows().into_iter().zip(scores.rows()) {
        let mut residual = row.to_vec();
        for ((latent, &score), error) in found.iter().zip(scores).zip(&mut errors) {
            residual.iter_mut().zip(&latent.d).for_each(|(r, d)| *r -= score * d);
            *error += sum_of_squares(&residual);
        }
    }
    errors
}

/// The sum of squares in four separate running sums, which the processor can add at the same time.
fn sum_of_squares(values: &[f64]) -> f64 {
    let (fours, rest) = values.as_chunks::<4>();
    let sums = fours.iter().fold([0.0; 4], |sums, v| std::array::from_fn(|k| sums[k] + v[k] * v[k]));
    sums.iter().sum::<f64>() + rest.iter().map(|v| v * v).sum::<f64>()
}

impl Regressor for Hopls {
    fn name(&self) -> &'static str {
        "HOPLS"
    }

    fn check_parameters(&self) -> Result<()> {
        self.check()
    }

    fn fit(&self, x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> Result<Fitted> {
        check_pair(x, y)?;
        self.check()?;
        let (input, output) = (Layout::full(x), Layout::full(y));
        let (z, t) = (input.encode(x), output.encode(y));
        let mut report = Report::default();
        let (mut latent, mut l, mut k) = (self.latent, self.x_ranks[0], self.y_ranks[0]);
        if let Some(holdout) = self.holdout {
            let train = split(z.nrows(), holdout)?;
            let m = CrossMoments::new(z.slice(s![..train, ..]), t.slice(s![..train, ..]), self.centre);
            let (zv, tv) = (&z.slice(s![train.., ..]) - &m.x_mean, &t.slice(s![train.., ..]) - &m.y_mean);
            let mut best = f64::INFINITY;
            for (&xr, &yr) in self.x_ranks.iter().flat_map(|xr| self.y_ranks.iter().map(move |yr| (xr, yr))) {
                let found = extract(&m, input, output, self.latent, xr, yr)?;
                for (r, error) in errors(&found, &zv, &tv).into_iter().enumerate() {
                    if error < best {
                        (best, latent, l, k) = (error, r + 1, xr, yr);
                    }
                }
            }
            let chosen = [("latent vectors", latent), ("rank of X", l), ("rank of Y", k)];
            report.chosen = chosen.into_iter().map(|(name, v)| (name, v as f64)).collect();
        }
        let m = CrossMoments::new(z.view(), t.view(), self.centre);
        let found = extract(&m, input, output, latent, l, k)?;
        let mut coef = Array2::zeros((input.len(), output.len()));
        for latent in &found {
            coef += &outer(&latent.w_star, &latent.d);
        }
        let entries = (m.samples * output.len()) as f64;
        report.history = found.iter().map(|latent| latent.residual / entries).collect();
        report.iterations = found.len();
        report.parameters = found.iter().map(|latent| latent.free).sum();
        let bias = &m.y_mean - &m.x_mean.dot(&coef);
        Ok(Fitted { input, output, coef, bias, report })
    }
}

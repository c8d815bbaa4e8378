//! Many spectral regressions that share their inputs, solved together by the alternating direction method (ADMM).
//!
//! For every output j: minimise F_j(b) = 1/2 b^T G b - c_j^T b + 1/2 y_j^T y_j + mu_j g(b), with G = Z^T Z and
//! c_j = Z^T y_j. The iteration alternates x = (G + rho)^-1 (c + rho (z - u)), z = prox(x + u), u = x + u - z
//! (S. Boyd et al., *Distributed optimization and statistical learning via ADMM*, 2011, section 6.4), over-relaxed, with
//! rho balanced per output. G is decomposed once, so every x costs two products for all outputs together; outputs that
//! have converged leave the batch. Accelerated proximal gradient with the same prox was slower: the paper's inputs are positive
//! semidefinite, and their mean makes G ill conditioned. With fewer samples than unknowns FISTA with restarts still had a residual
//! of 5e-6 after 5000 steps where ADMM reaches 1e-8 in a few hundred.
//!
//! The mean of such inputs is near a multiple of the identity, and along it G is hundreds of times larger than elsewhere: no single rho
//! suits both. So symmetric problems with at least as many samples as unknowns are solved in the metric M = 1 + kappa i i^T, where i is
//! the unit vector along the identity and kappa makes M^-1/2 G M^-1/2 as large along i as it is on average elsewhere. The prox stays a
//! function of eigenvalues (see `spectral`). In the variables M^1/2 b the iteration is the one above. Where its matrix is then well
//! conditioned, the first rho is the best and is not balanced: 20 iterations do what 5000 could not. With fewer samples than unknowns
//! this metric was measured to need two or three times the iterations, so there M = 1.
//!
//! The certificate: rho M u is a subgradient of mu g at z by construction of the prox, so ||G z - c + rho M u|| bounds the
//! distance of 0 from the subdifferential of F_j at z.

use super::spectral::{Spectral, norms};
use crate::{Layout, Result};
use linalg::{eigh, matmul};
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;

/// Over-relaxation; values in [1.5, 1.8] are the usual choice.
const RELAX: f64 = 1.6;
/// Number of iterations between two checks of the certificate, which also balance rho.
const CHECK: usize = 10;
/// After this many iterations rho is no longer changed: the method is known to converge for a fixed rho.
const BALANCE_UNTIL: usize = 1000;
/// When the smallest eigenvalue is above this share of the largest, one rho serves all directions.
const WELL_CONDITIONED: f64 = 1e-2;

/// Sufficient statistics of the regressions.
pub(crate) struct RegressionMoments {
    layout: Layout,
    gram: Array2<f64>,
    metric: TraceMetric,
    /// The eigenvalues w in M^-1/2 G M^-1/2 = V diag(w) V^T.
    values: Array1<f64>,
    /// The eigenvectors V; none where V is the identity.
    vectors: Option<Array2<f64>>,
    /// Row j is c_j = Z^T y_j.
    cross: Array2<f64>,
    yy: Array1<f64>,
}

/// The metric M = 1 + kappa i i^T on half-vectorised matrices; i has entries on the diagonal only.
#[derive(Debug, Clone)]
struct TraceMetric {
    kappa: f64,
    /// Positions of the diagonal entries in the half-vectorisation.
    diagonal: Vec<usize>,
}

impl TraceMetric {
    /// The metric for a Gram matrix of `samples` samples. It is the identity for few samples and for inputs that are not symmetric.
    fn of(layout: Layout, gram: &Array2<f64>, samples: usize) -> Self {
        let n = if layout.half && samples >= layout.len() { layout.rows } else { 0 };
        let diagonal: Vec<usize> = (0..n).scan(0, |at, i| Some(std::mem::replace(at, *at + n - i))).collect();
        let pairs = diagonal.iter().flat_map(|&a| diagonal.iter().map(move |&b| (a, b)));
        let along = pairs.map(|at| gram[at]).sum::<f64>() / n.max(1) as f64;
        let others = (gram.diag().sum() - along) / (gram.nrows().max(2) - 1) as f64;
        let kappa = if along > others && others > 0.0 { along / others - 1.0 } else { 0.0 };
        TraceMetric { kappa, diagonal }
    }

    /// Multiplies every row by M^power.
    fn apply(&self, power: f64, mut rows: ArrayViewMut2<'_, f64>) {
        if self.kappa == 0.0 {
            return;
        }
        let share = (linalg::math::pow(1.0 + self.kappa, power) - 1.0) / self.diagonal.len() as f64;
        for mut row in rows.rows_mut() {
            let more = share * self.diagonal.iter().map(|&k| row[k]).sum::<f64>();
            self.diagonal.iter().for_each(|&k| row[k] += more);
        }
    }

    fn applied(&self, power: f64, rows: ArrayView2<'_, f64>) -> Array2<f64> {
        let mut rows = rows.to_owned();
        self.apply(power, rows.view_mut());
        rows
    }
}

/// When the iteration stops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StopRule {
    /// Bound on dist(0, subdifferential) / ||c_j||.
    pub tolerance: f64,
    pub max_iterations: usize,
}

/// Iterations made and the KKT residual of the worst output.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Solved {
    pub iterations: usize,
    pub kkt: f64,
}

impl RegressionMoments {
    /// From vectorised inputs Z (l, d) and outputs T (l, m).
    pub(crate) fn new(layout: Layout, z: ArrayView2<'_, f64>, t: ArrayView2<'_, f64>) -> Result<Self> {
        let gram = matmul(z.t(), z);
        let metric = TraceMetric::of(layout, &gram, z.nrows());
        let diagonal = metric.kappa == 0.0 && gram.indexed_iter().all(|((i, j), &v)| i == j || v == 0.0);
        let (values, vectors) = if diagonal {
            // Inputs with a single nonzero entry, as in completion, give a diagonal G: there is nothing to decompose.
            (gram.diag().to_owned(), None)
        } else {
            let half = metric.applied(-0.5, gram.view());
            let e = eigh(metric.applied(-0.5, half.t()).view())?;
            (e.values, Some(e.vectors))
        };
        let yy = t.axis_iter(Axis(1)).map(|column| column.dot(&column)).collect();
        Ok(RegressionMoments { layout, gram, metric, values, vectors, cross: matmul(t.t(), z), yy })
    }

    pub(crate) fn outputs(&self) -> usize {
        self.cross.nrows()
    }

    pub(crate) fn inputs(&self) -> usize {
        self.cross.ncols()
    }

    /// The smallest mu_j at which b_j = 0 is optimal under the nuclear norm: the operator norm of c_j.
    pub(crate) fn mu_max(&self) -> Result<Array1<f64>> {
        self.cross.rows().into_iter().map(|c| Ok(norms(self.layout, c)?.1)).collect()
    }

    /// A first rho for every output, see [`solve`](Self::solve).
    pub(crate) fn rho(&self) -> Vec<f64> {
        vec![self.first_rho(); self.outputs()]
    }

    /// A first rho: the geometric mean of the eigenvalues, in the metric, that are not rounding.
    fn first_rho(&self) -> f64 {
        let top = self.values.iter().fold(0.0f64, |m, &w| m.max(w));
        let logs: Vec<f64> = self.values.iter().filter(|&&w| w > 1e-8 * top).map(|w| linalg::math::ln(*w)).collect();
        if logs.is_empty() { 1.0 } else { linalg::math::exp(logs.iter().sum::<f64>() / logs.len() as f64) }
    }

    /// Whether the eigenvalues lie so close together that the first rho suits them all.
    fn well_conditioned(&self) -> bool {
        let values = self.values.iter();
        let (low, high) = values.fold((f64::INFINITY, 0.0f64), |(low, high), &w| (low.min(w), high.max(w)));
        low > WELL_CONDITIONED * high
    }

    /// Improves `b` (m, d), one row per output, until every output is solved or the iterations are used up. `balance` holds the rho of each
    /// output and is updated, so that the next problem along a path of mu starts with a suitable rho.
    pub(crate) fn solve(
        &self,
        kind: Spectral,
        mu: &Array1<f64>,
        b: &mut Array2<f64>,
        balance: &mut [f64],
        stop: StopRule,
    ) -> Result<Solved> {
        let m = self.outputs();
        let norm = |c: ndarray::ArrayView1<'_, f64>| c.dot(&c).sqrt().max(f64::MIN_POSITIVE);
        let scale: Vec<f64> = self.cross.rows().into_iter().map(norm).collect();
        let adapts_rho = !self.well_conditioned();
        let mut kkt = vec![f64::INFINITY; m];
        // `active` lists the outputs that are not solved yet; z, u, cross and rho have one row or entry for each. u starts at the multiplier
        // of b.
        let mut active: Vec<usize> = (0..m).collect();
        let mut rho = balance.to_vec();
        // z, u and cross are in the variables M^1/2 b.
        let mut cross = self.metric.applied(-0.5, self.cross.view());
        let mut z = self.metric.applied(0.5, b.view());
        let mut u = self.metric.applied(-0.5, (&self.cross - &matmul(b.view(), self.gram.view())).view());
        u.rows_mut().into_iter().zip(&rho).for_each(|(mut row, &rho)| row /= rho);
        let mut iterations = 0;
        while !active.is_empty() && iterations < stop.max_iterations {
            iterations += 1;
            let mut rhs = &z - &u;
            for ((mut row, c), &rho) in rhs.rows_mut().into_iter().zip(cross.rows()).zip(&rho) {
                row.zip_mut_with(&c, |v, &c| *v = c + rho * *v);
            }
            let mut in_eigenbasis = match &self.vectors {
                Some(v) => matmul(rhs.view(), v.view()),
                None => rhs,
            };
            for (mut row, &rho) in in_eigenbasis.rows_mut().into_iter().zip(&rho) {
                row.zip_mut_with(&self.values, |v, &w| *v /= w.max(0.0) + rho);
            }
            let x = match &self.vectors {
                Some(v) => matmul(in_eigenbasis.view(), v.t()),
                None => in_eigenbasis,
            };
            // u <- relaxed x + u, then z <- prox(u) and u <- u - z.
            ndarray::Zip::from(&mut u).and(&x).and(&z).for_each(|u, &x, &z| *u += RELAX * x + (1.0 - RELAX) * z);
            let old = std::mem::replace(&mut z, u.clone());
            self.metric.apply(-0.5, z.view_mut());
            let rows: Vec<_> = z.axis_iter_mut(Axis(0)).zip(active.iter().zip(&rho)).collect();
            rows.into_par_iter()
                .map(|(row, (&j, &rho))| kind.prox(self.layout, mu[j] / rho, self.metric.kappa, row))
                .collect::<Result<Vec<()>>>()?;
            let checked = iterations % CHECK == 0 || iterations == stop.max_iterations;
            let natural = checked.then(|| z.clone());
            self.metric.apply(0.5, z.view_mut());
            u -= &z;
            let Some(natural) = natural else { continue };
            let slope = self.metric.applied(0.5, u.view());
            let gradient = matmul(natural.view(), self.gram.view()) - self.cross.select(Axis(0), &active);
            let mut keep = Vec::with_capacity(active.len());
            for (k, &j) in active.iter().enumerate() {
                b.row_mut(j).assign(&natural.row(k));
                kkt[j] = norm((&gradient.row(k) + &(&slope.row(k) * rho[k])).view()) / scale[j];
                if kkt[j] > stop.tolerance {
                    keep.push(k);
                }
                // Relative residuals (B. Wohlberg, arXiv 1704.06209): with them a small mu gets the small rho that it needs.
                let primal = norm((&x.row(k) - &z.row(k)).view()) / norm(z.row(k));
                let dual_scale = match kind {
                    Spectral::Nuclear => norm(u.row(k)),
                    // The multiplier of the cone tends to zero where the constraint is not active, so it cannot be the scale alone.
                    Spectral::Psd => (norm(u.row(k)) * norm(z.row(k))).sqrt(),
                };
                let dual = norm((&z.row(k) - &old.row(k)).view()) / dual_scale;
                let factor = (primal / dual).sqrt().clamp(0.1, 10.0);
                if adapts_rho && iterations < BALANCE_UNTIL && !(0.5..=2.0).contains(&factor) {
                    rho[k] *= factor;
                    balance[j] = rho[k];
                    u.row_mut(k).mapv_inplace(|v| v / factor);
                }
            }
            if keep.len() < active.len() {
                (z, u, cross) = (z.select(Axis(0), &keep), u.select(Axis(0), &keep), cross.select(Axis(0), &keep));
                rho = keep.iter().map(|&k| rho[k]).collect();
                active = keep.iter().map(|&k| active[k]).collect();
            }
        }
        Ok(Solved { iterations, kkt: kkt.into_iter().fold(0.0, f64::max) })
    }

    /// The largest duality gap over the outputs, relative to 1/2 ||y_j||^2, of the nuclear-norm problem.
    ///
    /// The residual r scaled into the dual feasible set, theta = s r with ||Z^T theta||_op <= mu, has dual value
    /// s y^T r - s^2 ||r||^2 / 2; everything follows from the moments.
    pub(crate) fn gap(&self, mu: &Array1<f64>, b: &Array2<f64>) -> Result<f64> {
        let gb = matmul(b.view(), self.gram.view());
        let mut worst = 0.0f64;
        for j in 0..self.outputs() {
            let (row, c) = (b.row(j), self.cross.row(j));
            let (bc, bgb) = (row.dot(&c), row.dot(&gb.row(j)));
            let (yr, rr) = (self.yy[j] - bc, (self.yy[j] - 2.0 * bc + bgb).max(0.0));
            let dual_norm = norms(self.layout, (&c - &gb.row(j)).view())?.1;
            let s = if dual_norm > mu[j] { mu[j] / dual_norm } else { 1.0 };
            let primal = 0.5 * rr + mu[j] * norms(self.layout, row)?.0;
            let gap = primal - (s * yr - 0.5 * s * s * rr);
            worst = worst.max(gap / (0.5 * self.yy[j]).max(f64::MIN_POSITIVE));
        }
        Ok(worst)
    }
}

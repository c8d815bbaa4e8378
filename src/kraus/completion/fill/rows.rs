//! Whole missing rows: nothing of them is observed, so they come from the other samples, from other views of the same samples, or from the order.
//!
//! The observed part K = F F^T places each seen sample i at F_i. A missing sample is placed at a weighted mean of the seen ones, F_m = w_m F, so that
//! K_ms = w_m K, K_mm = w_m K w_m^T with the diagonal raised to the mean observed diagonal: positive semidefinite whatever the weights are.
//!
//! | weights | from | when |
//! |---|---|---|
//! | 1/k each | the mean of the seen samples | always a candidate: the fallback |
//! | ridge regression on other views | S the average of the views, `views.rs` | views are given |
//! | exp(-distance in the file / length) | neighbours in the order of the samples | unless the order is to be ignored |
//!
//! Which weights, and their penalty or length, is chosen by hiding rows several times. The order must beat the others on these draws by two standard
//! errors, because a file has an order even where it means nothing.

use super::super::partial::Partial;
use super::views::Regression;
use super::{MEAN, Prediction, SOFT, Score, ZERO, hide};
use crate::error::Result;
use ndarray::{Array2, ArrayView2, Axis};

/// Lengths of the neighbourhood in the file, in samples.
const LENGTHS: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
/// Penalties of the regression on other views, over the mean diagonal of S.
const PENALTIES: [f64; 6] = [1e-3, 1e-2, 3e-2, 0.1, 1.0, 10.0];
/// Draws of hidden rows: one draw of a fifth of a hundred rows says too little.
const DRAWS: u64 = 6;
/// Beyond this many samples fewer draws do, and each costs more.
const LARGE: usize = 600;

/// Where the weights come from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Mean,
    Views(f64),
    Order(f64),
}

impl Place {
    fn name(self) -> String {
        match self {
            Place::Mean => "mean of the other rows".into(),
            Place::Views(_) => "regression on the other views".into(),
            Place::Order(length) => format!("neighbours in the order of the samples (length {length})"),
        }
    }
}

/// What was found about missing rows.
pub(super) struct Found {
    pub prediction: Prediction,
    /// The chosen way first, then softImpute, mean, zero and the best of the other ways.
    pub scores: Vec<Score>,
    /// Whether the order of the samples was used.
    pub by_order: bool,
}

/// Fills the rows that are not in `seen` from the matrix of the seen ones.
pub(super) fn fill(
    n: usize,
    seen: &[usize],
    observed: ArrayView2<'_, f64>,
    views: &[Partial],
    ignore_order: bool,
    seed: u64,
) -> Result<Found> {
    let side = super::views::average(n, views);
    let mut places = vec![Place::Mean];
    places.extend(PENALTIES.iter().filter(|_| side.is_some()).map(|rho| Place::Views(*rho)));
    places.extend(LENGTHS.iter().filter(|b| !ignore_order && **b < 0.5 * n as f64).map(|b| Place::Order(*b)));
    // Mean squared error over the mean square, one row per place, one column per draw; the mean of the entries last.
    let mut wrong: Vec<Vec<f64>> = vec![Vec::new(); places.len() + 1];
    let draws = if n > LARGE { DRAWS / 2 } else { DRAWS };
    for draw in (0..draws).filter(|_| seen.len() > 2) {
        let hidden = hide::rows(seen.len(), n - seen.len(), seed.wrapping_add(draw));
        let kept: Vec<usize> = (0..seen.len()).filter(|i| !hidden.contains(i)).collect();
        let (near, far): (Vec<usize>, Vec<usize>) =
            (kept.iter().map(|i| seen[*i]).collect(), hidden.iter().map(|i| seen[*i]).collect());
        let inner = pick(observed, &kept);
        let truth = pick(observed, &[kept.as_slice(), hidden.as_slice()].concat());
        let weights = Weights::new(side.as_ref(), &near, &far)?;
        let total: f64 = unseen(&truth, kept.len()).map(|(_, t)| t * t).sum();
        let share = |guess: &dyn Fn((usize, usize)) -> f64| {
            unseen(&truth, kept.len()).map(|(at, t)| (guess(at) - t).powi(2)).sum::<f64>()
                / f64::max(total, f64::MIN_POSITIVE)
        };
        for (place, wrong) in places.iter().zip(&mut wrong) {
            let guess = extend(inner.view(), weights.of(*place).view());
            wrong.push(share(&|at| guess[at]));
        }
        let mean = inner.mean().unwrap_or(0.0);
        wrong[places.len()].push(share(&|_| mean));
    }
    let error = |k: usize| {
        let list = &wrong[k];
        if list.is_empty() { f64::NAN } else { (list.iter().sum::<f64>() / list.len() as f64).sqrt() }
    };
    let least = |ordered: bool| {
        let fit = |p: &Place| matches!(p, Place::Order(_)) == ordered;
        (0..places.len()).filter(|k| fit(&places[*k])).min_by(|a, b| error(*a).total_cmp(&error(*b)))
    };
    let plain = least(false).unwrap_or(0); // the mean is always there
    let ordered = least(true).filter(|k| beats(&wrong[*k], &wrong[plain]));
    let best = ordered.unwrap_or(plain);
    let missing: Vec<usize> = (0..n).filter(|i| !seen.contains(i)).collect();
    let weights = Weights::new(side.as_ref(), seen, &missing)?;
    let whole = extend(observed, weights.of(places[best]).view());
    let mut matrix = Array2::zeros((n, n));
    let order: Vec<usize> = seen.iter().chain(&missing).copied().collect();
    for (a, &i) in order.iter().enumerate() {
        for (b, &j) in order.iter().enumerate() {
            matrix[[i, j]] = whole[[a, b]];
        }
    }
    // A penalty on the trace leaves rows that were never seen at zero.
    let mut scores = vec![
        Score { name: places[best].name(), error: error(best) },
        Score { name: SOFT.into(), error: 1.0 },
        Score { name: MEAN.into(), error: error(places.len()) },
        Score { name: ZERO.into(), error: 1.0 },
    ];
    let others = [Some(0), Some(plain), least(true)];
    for k in others.into_iter().flatten().filter(|k| *k != best) {
        if scores.iter().all(|s| s.name != places[k].name()) {
            scores.push(Score { name: places[k].name(), error: error(k) });
        }
    }
    let penalty = if let Place::Views(rho) = places[best] { rho } else { 0.0 };
    let prediction = Prediction { matrix, rank: 0, penalty, converged: true };
    Ok(Found { prediction, scores, by_order: ordered.is_some() })
}

/// Entries of which a row is beyond the first k.
fn unseen(m: &Array2<f64>, k: usize) -> impl Iterator<Item = ((usize, usize), f64)> + '_ {
    m.indexed_iter().filter(move |((i, j), _)| *i >= k || *j >= k).map(|(at, v)| (at, *v))
}

/// Whether errors are lower than a rival's by two standard errors of the differences, and by a fiftieth.
fn beats(ours: &[f64], rival: &[f64]) -> bool {
    let n = ours.len() as f64;
    if n < 2.0 {
        return false;
    }
    let gains: Vec<f64> = rival.iter().zip(ours).map(|(r, o)| r - o).collect();
    let mean = gains.iter().sum::<f64>() / n;
    let error = (gains.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
    mean > 2.0 * error && mean > 0.02 * rival.iter().sum::<f64>() / n
}

fn pick(m: ArrayView2<'_, f64>, rows: &[usize]) -> Array2<f64> {
    m.select(Axis(0), rows).select(Axis(1), rows)
}

/// Weights of the samples `near` for the samples `far`, numbered as in the file.
struct Weights<'a> {
    near: &'a [usize],
    far: &'a [usize],
    views: Option<Regression>,
}

impl<'a> Weights<'a> {
    fn new(side: Option<&Array2<f64>>, near: &'a [usize], far: &'a [usize]) -> Result<Self> {
        let views = side.map(|s| Regression::new(s.view(), near, far)).transpose()?;
        Ok(Self { near, far, views })
    }

    /// (far, near); each row sums to one.
    fn of(&self, place: Place) -> Array2<f64> {
        let (m, k) = (self.far.len(), self.near.len());
        match (place, &self.views) {
            (Place::Views(rho), Some(views)) => views.weights(rho),
            (Place::Order(length), _) => {
                let apart = |a: usize, j: usize| self.far[a].abs_diff(self.near[j]) as f64;
                let mut w = Array2::from_shape_fn((m, k), |(a, j)| apart(a, j));
                for mut row in w.rows_mut() {
                    // Distances beyond the nearest, so that the largest weight is one.
                    let nearest = row.iter().copied().fold(f64::INFINITY, f64::min);
                    row.mapv_inplace(|d| linalg::math::exp(-(d - nearest) / length));
                    let sum = row.sum();
                    row /= sum;
                }
                w
            }
            _ => Array2::from_elem((m, k), 1.0 / k as f64),
        }
    }
}

/// The k x k matrix of seen samples extended by samples with these weights (m, k).
fn extend(seen: ArrayView2<'_, f64>, weights: ArrayView2<'_, f64>) -> Array2<f64> {
    let (k, n) = (seen.nrows(), seen.nrows() + weights.nrows());
    let cross = super::spectrum::product(weights, seen);
    let both = super::spectrum::product(cross.view(), weights.t());
    let level = seen.diag().mean().unwrap_or(0.0);
    Array2::from_shape_fn((n, n), |(i, j)| match (i < k, j < k) {
        (true, true) => seen[[i, j]],
        (false, true) => cross[[i - k, j]],
        (true, false) => cross[[j - k, i]],
        (false, false) if i == j => both[[i - k, j - k]].max(level),
        // The product is symmetric up to rounding; the mean of both halves is exactly so.
        (false, false) => 0.5 * (both[[i - k, j - k]] + both[[j - k, i - k]]),
    })
}

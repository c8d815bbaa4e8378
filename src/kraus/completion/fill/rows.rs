//! Whole missing rows: nothing of them is observed, so they come from the other samples or from other views of the same samples.
//!
//! The observed part K = F F^T places each seen sample i at F_i. A missing sample gets the place that ridge regression on other views predicts:
//! with S the average of the other views, scaled to mean diagonal one, and H = I - 11^T/k,
//!
//! F_m = mean(F) + (S_ms - mean) (H S_ss H + rho I)^-1 H F: K_ms = F_m F_s^T, K_mm = F_m F_m^T, diagonal raised to the mean observed diagonal.
//!
//! This is positive semidefinite for any rho. Without views, or for rho = infinity, every missing sample sits at the mean of the others: each
//! entry is then the mean of its column. The result does not depend on the order of the samples. rho is chosen by hiding rows.

use super::super::partial::Partial;
use super::{MEAN, Prediction, SOFT, Score, ZERO, hide};
use crate::error::Result;
use linalg::{matmul, solve_spd};
use ndarray::{Array2, ArrayView2, Axis};

/// Penalties of the regression on other views, over the mean diagonal of S; infinite: the mean.
const PENALTIES: [f64; 6] = [1e-3, 1e-2, 1e-1, 1.0, 10.0, f64::INFINITY];
/// Draws of hidden rows: one draw of a fifth of a hundred rows says too little.
const DRAWS: u64 = 4;

/// Fills the rows that are not in `seen` from the matrix of the seen ones.
pub(super) fn fill(
    n: usize,
    seen: &[usize],
    observed: ArrayView2<'_, f64>,
    views: &[Partial],
    seed: u64,
) -> Result<(Prediction, Vec<Score>)> {
    let side = side_kernel(n, views);
    let penalties: &[f64] = if side.is_some() { &PENALTIES } else { &PENALTIES[PENALTIES.len() - 1..] };
    let zero = Array2::zeros((n, n));
    let side = side.unwrap_or(zero);
    let mut wrong = vec![0.0; penalties.len()];
    let (mut mean_wrong, mut total) = (0.0, 0.0);
    if seen.len() > 2 {
        for draw in 0..DRAWS {
            let hidden = hide::rows(seen.len(), n - seen.len(), seed.wrapping_add(draw));
            let kept: Vec<usize> = (0..seen.len()).filter(|i| !hidden.contains(i)).collect();
            let order: Vec<usize> = kept.iter().chain(&hidden).map(|i| seen[*i]).collect();
            let truth = pick(observed, &[kept.as_slice(), hidden.as_slice()].concat());
            let inner = pick(observed, &kept);
            let mean = inner.mean().unwrap_or(0.0);
            let guesses: Vec<Array2<f64>> = penalties
                .iter()
                .map(|rho| extend(inner.view(), pick(side.view(), &order).view(), *rho))
                .collect::<Result<_>>()?;
            for ((i, j), t) in truth.indexed_iter().filter(|((i, j), _)| *i >= kept.len() || *j >= kept.len()) {
                for (sum, guess) in wrong.iter_mut().zip(&guesses) {
                    *sum += (guess[[i, j]] - t).powi(2);
                }
                mean_wrong += (mean - t).powi(2);
                total += t * t;
            }
        }
    }
    let relative = |sum: f64| (sum / f64::max(total, f64::MIN_POSITIVE)).sqrt();
    let best = (0..penalties.len()).fold(0, |b, k| if wrong[k] < wrong[b] { k } else { b });
    let order: Vec<usize> = seen.iter().copied().chain((0..n).filter(|i| !seen.contains(i))).collect();
    let ordered = extend(observed, pick(side.view(), &order).view(), penalties[best])?;
    let mut matrix = Array2::zeros((n, n));
    for (a, &i) in order.iter().enumerate() {
        for (b, &j) in order.iter().enumerate() {
            matrix[[i, j]] = ordered[[a, b]];
        }
    }
    let name = if penalties[best].is_finite() { "regression on the other views" } else { "mean of the other rows" };
    // A penalty on the trace leaves rows that were never seen at zero.
    let scores = vec![
        Score { name: name.into(), error: relative(wrong[best]) },
        Score { name: SOFT.into(), error: 1.0 },
        Score { name: MEAN.into(), error: relative(mean_wrong) },
        Score { name: ZERO.into(), error: 1.0 },
    ];
    Ok((Prediction { matrix, rank: 0, penalty: penalties[best], converged: true }, scores))
}

fn pick(m: ArrayView2<'_, f64>, rows: &[usize]) -> Array2<f64> {
    m.select(Axis(0), rows).select(Axis(1), rows)
}

/// The average of the views, each scaled to mean diagonal one; a pair that no view shows gets zero, which says "unrelated".
fn side_kernel(n: usize, views: &[Partial]) -> Option<Array2<f64>> {
    if views.is_empty() {
        return None;
    }
    let (mut sum, mut count) = (Array2::<f64>::zeros((n, n)), Array2::<f64>::zeros((n, n)));
    for view in views {
        let seen: Vec<usize> = (0..n).filter(|i| view.mask()[[*i, *i]] == 1.0).collect();
        let level = seen.iter().map(|i| view.values()[[*i, *i]]).sum::<f64>() / seen.len().max(1) as f64;
        if level > 0.0 {
            sum.scaled_add(1.0 / level, &view.values());
            count += &view.mask();
        }
    }
    ndarray::Zip::from(&mut sum).and(&count).for_each(|s, c| *s /= c.max(1.0));
    Some(sum)
}

/// The k x k matrix of seen samples extended to all that `side` orders behind them.
fn extend(seen: ArrayView2<'_, f64>, side: ArrayView2<'_, f64>, rho: f64) -> Result<Array2<f64>> {
    let (k, n) = (seen.nrows(), side.nrows());
    let m = n - k;
    // Weights (m, k) with F_m = weights F: 1/k each for the mean, plus the regression on the centred views.
    let mut weights = Array2::from_elem((m, k), 1.0 / k as f64);
    if rho.is_finite() && m > 0 {
        let inner = side.slice(ndarray::s![..k, ..k]);
        let cross = side.slice(ndarray::s![k.., ..k]);
        let columns = inner.mean_axis(Axis(0)).unwrap_or_default(); // k >= 1: a matrix without seen rows is refused
        let grand = columns.mean().unwrap_or(0.0);
        let mut centred = Array2::from_shape_fn((k, k), |(i, j)| inner[[i, j]] - columns[i] - columns[j] + grand);
        // The average over views that miss different rows need not be positive semidefinite: the smallest eigenvalue is lifted.
        let least = linalg::eigh(centred.view())?.values[0].min(0.0);
        centred.diag_mut().mapv_inplace(|v| v + rho - least);
        let own: Vec<f64> = cross.rows().into_iter().map(|r| r.mean().unwrap_or(0.0)).collect();
        let right = Array2::from_shape_fn((m, k), |(a, j)| cross[[a, j]] - own[a] - columns[j] + grand);
        weights += &solve_spd(centred.view(), right.t())?.t();
        // H on the right of the inverse: the regression predicts deviations from the mean, so its weights sum to zero.
        for mut row in weights.rows_mut() {
            let off = (row.sum() - 1.0) / k as f64;
            row.mapv_inplace(|v| v - off);
        }
    }
    let cross = matmul(weights.view(), seen);
    let both = matmul(cross.view(), weights.t());
    let level = seen.diag().mean().unwrap_or(0.0);
    Ok(Array2::from_shape_fn((n, n), |(i, j)| match (i < k, j < k) {
        (true, true) => seen[[i, j]],
        (false, true) => cross[[i - k, j]],
        (true, false) => cross[[j - k, i]],
        (false, false) if i == j => both[[i - k, j - k]].max(level),
        (false, false) => both[[i - k, j - k]],
    }))
}

//! How similar samples are by all views together, when every view misses some of them.
//!
//! In each view the observed off-diagonal entries are brought to mean 0 and deviation 1; the consensus of a pair is the average
//! over the views that observe both samples. Pairs that no view shows (a third of them at 60 % missing) get what a positive
//! semidefinite matrix of low rank predicts, fitted to the seen pairs with their number of views as weight:
//! X <- the best rank-r PSD part of w S + (1 - w) X, w = views / most views (J. Josse, F. Husson, *Handling missing values in
//! exploratory multivariate data analysis methods*, 2012, with weights as by N. Srebro, T. Jaakkola, *Weighted low-rank
//! approximations*, 2003). The rank is the one that predicts held-out pairs best. No label is read anywhere.

use crate::{InputError, Result, check};
use linalg::{eigh, matmul};
use ndarray::{Array2, ArrayView2, Axis, Zip, s};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Ranks to choose from.
const RANKS: [usize; 4] = [2, 5, 10, 15];
/// Share of the seen pairs that is held out to choose the rank.
const HELD_OUT: f64 = 0.2;
/// Rounds of the fit; later ones hardly change the prediction.
const ROUNDS: usize = 30;

/// The averages of the seen pairs, 0 elsewhere and on the diagonal, and how many views saw each pair.
pub(crate) fn observed_average(
    kernels: &[ArrayView2<'_, f64>],
    mask: ArrayView2<'_, bool>,
) -> Result<(Array2<f64>, Array2<f64>)> {
    let what = "consensus of kernels";
    let l = mask.nrows();
    if l == 0 || kernels.is_empty() {
        return Err(InputError::empty(what).into());
    }
    if mask.ncols() != kernels.len() {
        return Err(InputError::shape(what, [l, kernels.len()], mask.shape()).into());
    }
    let (mut sum, mut count) = (Array2::<f64>::zeros((l, l)), Array2::<f64>::zeros((l, l)));
    for (k, seen) in kernels.iter().zip(mask.columns()) {
        if k.dim() != (l, l) {
            return Err(InputError::shape(what, [l, l], k.shape()).into());
        }
        let at: Vec<(usize, usize)> =
            (0..l).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|&(i, j)| seen[i] && seen[j]).collect();
        if let Some(&(index, _)) = at.iter().find(|&&p| !k[p].is_finite()) {
            return Err(InputError::not_finite(what, index).into());
        }
        let mean = at.iter().map(|&p| k[p]).sum::<f64>() / at.len().max(1) as f64;
        let variance = at.iter().map(|&p| (k[p] - mean).powi(2)).sum::<f64>() / at.len().max(1) as f64;
        if variance > 0.0 {
            for (i, j) in at {
                let value = (k[[i, j]] - mean) / variance.sqrt();
                for p in [(i, j), (j, i)] {
                    sum[p] += value;
                    count[p] += 1.0;
                }
            }
        }
    }
    let average = Zip::from(&sum).and(&count).map_collect(|s, c| if *c > 0.0 { s / c } else { 0.0 });
    check::finite(what, &average.view())?;
    Ok((average, count))
}

/// The consensus (l, l): seen pairs as they are, the others by the low-rank fit. The diagonal means nothing.
pub(crate) fn consensus(kernels: &[ArrayView2<'_, f64>], mask: ArrayView2<'_, bool>) -> Result<Array2<f64>> {
    let (average, count) = observed_average(kernels, mask)?;
    let l = average.nrows();
    let unseen = count.indexed_iter().any(|((i, j), c)| i != j && *c == 0.0);
    if !unseen || count.iter().all(|c| *c == 0.0) {
        return Ok(average);
    }
    // Held out by a fixed seed: the same data give the same order.
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut rest = count.clone();
    let mut held = Vec::new();
    for (i, j) in (0..l).flat_map(|i| (0..i).map(move |j| (i, j))) {
        if count[[i, j]] > 0.0 && rng.random::<f64>() < HELD_OUT {
            held.push((i, j));
            (rest[[i, j]], rest[[j, i]]) = (0.0, 0.0);
        }
    }
    let mut best = (f64::INFINITY, RANKS[0]);
    for rank in RANKS.into_iter().filter(|r| *r < l) {
        let fit = low_rank(&average, &rest, rank)?;
        let error: f64 = held.iter().map(|&p| count[p] * (fit[p] - average[p]).powi(2)).sum();
        if error < best.0 {
            best = (error, rank);
        }
    }
    let fit = low_rank(&average, &count, best.1)?;
    Ok(Zip::from(&average).and(&count).and(&fit).map_collect(|a, c, f| if *c > 0.0 { *a } else { *f }))
}

/// The weighted fit of rank `rank`; weights are numbers of views, 0 where nothing is known.
fn low_rank(average: &Array2<f64>, count: &Array2<f64>, rank: usize) -> Result<Array2<f64>> {
    let most = count.iter().fold(1.0f64, |m, c| m.max(*c));
    let l = average.nrows();
    let mut fit = Array2::<f64>::zeros((l, l));
    for _ in 0..ROUNDS {
        let mix = Zip::from(average).and(count).and(&fit).map_collect(|a, c, f| f + c / most * (a - f));
        let e = eigh(mix.view())?;
        let first = l.saturating_sub(rank);
        let roots = e.values.slice(s![first..]).mapv(|w| w.max(0.0).sqrt());
        let factor = &e.vectors.slice(s![.., first..]) * &roots.insert_axis(Axis(0));
        fit = matmul(factor.view(), factor.t());
    }
    Ok(fit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two groups seen through two views that share few samples: the fit tells groups apart where no view does.
    #[test]
    fn unseen_pairs_follow_their_groups_and_seen_ones_stay() {
        let l = 40;
        let wave = |i: usize, j: usize| 0.05 * ((i * 7 + j * 7) as f64).sin();
        let k = Array2::from_shape_fn((l, l), |(i, j)| if i % 2 == j % 2 { 1.0 } else { 0.0 } + wave(i, j));
        let mask = Array2::from_shape_fn((l, 2), |(i, v)| if v == 0 { i < 26 } else { i >= 14 });
        let kernels = [k.view(), k.view()];
        let (average, count) = observed_average(&kernels, mask.view()).unwrap();
        let all = consensus(&kernels, mask.view()).unwrap();
        let mut unseen = 0;
        for ((i, j), c) in count.indexed_iter().filter(|((i, j), _)| i != j) {
            if *c > 0.0 {
                assert_eq!(all[[i, j]], average[[i, j]]);
            } else {
                unseen += 1;
                assert_eq!(all[[i, j]] > 0.0, i % 2 == j % 2, "({i}, {j}): {}", all[[i, j]]);
            }
        }
        assert_eq!(unseen, 2 * 14 * 14);
        assert!(all.iter().zip(all.t()).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}

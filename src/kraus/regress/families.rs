//! The two families of maps, each chosen by cross-validation: the signed one ([`Signed`]) and the completely positive one ([`complete`]).
//!
//! [`screen`] looks at the completely positive family on two folds first, because its whole curve costs far more than the signed family's.

use super::affine::{AffineMap, Positivity};
use super::folds::{Folds, Score, least, nearly_least, one_standard_error};
use super::layout::svecs;
use super::path::Path;
use super::{Tried, operators, ridge};
use crate::completion::Watch;
use crate::error::{Error, Result};
use ndarray::{Array2, ArrayView3, Axis};
use rayon::prelude::*;

/// Ranks of the completely positive path.
pub(super) const RANKS: [usize; 11] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20];
/// Ranks that decide whether the completely positive family is worth a closer look.
const SCREEN: [usize; 3] = [2, 6, 12];
/// On two folds its mean squared error must come within this multiple of the signed family's for that: a tenth is what two folds can be wrong by.
const NEAR: f64 = 1.1;
/// Fewer operators with signs are taken if the mean squared error on hidden samples rises by this share at most.
const SMALLER: f64 = 0.01;
/// Trace penalties, over the sum of squares of Y.
const PENALTIES: [f64; 3] = [1e-5, 1e-4, 1e-3];

/// The signed family, chosen.
pub(super) struct Signed {
    choice: ridge::Setting,
    pub(super) tried: Tried,
}

impl Signed {
    pub(super) fn choose(
        x: ArrayView3<'_, f64>,
        y: ArrayView3<'_, f64>,
        targets: &Array2<f64>,
        folds: &Folds,
        rank: Option<usize>,
    ) -> Result<Self> {
        let choice = ridge::choose(x, targets)?;
        let curve = operators::curve(x, y, &choice, folds)?;
        let chosen = match rank {
            // The tried number nearest from below; the fit keeps exactly the number asked for.
            Some(r) => curve.iter().rposition(|s| s.rank <= r).unwrap_or(0),
            None => nearly_least(&curve, SMALLER),
        };
        let note = format!("coordinates: mean of X to the power -{}, penalty {:.0e}", choice.power, choice.share);
        let mut tried = Tried { complete: false, curve, chosen, note };
        if let Some(r) = rank {
            tried.curve[chosen].rank = r;
        }
        Ok(Self { choice, tried })
    }

    pub(super) fn fit(
        &self,
        x: ArrayView3<'_, f64>,
        y: ArrayView3<'_, f64>,
        targets: &Array2<f64>,
        positivity: Positivity,
    ) -> Result<AffineMap> {
        let ridge = ridge::fit(x, targets, &self.choice)?;
        let spectrum = operators::Spectrum::of(&ridge, y)?;
        let (ops, signs) = spectrum.operators(self.tried.score().rank, &ridge.coordinates);
        // The intercept that makes the mean of the outputs right with the operators that are kept.
        let bare = AffineMap::new(ops, signs, None, Positivity::None)?;
        let mean_x = x.mean_axis(Axis(0)).expect("at least one sample").insert_axis(Axis(0));
        let mean_y = y.mean_axis(Axis(0)).expect("at least one sample");
        let at_mean = bare.apply(mean_x.view())?.matrices;
        let intercept = linalg::symmetrise((&mean_y - &at_mean.index_axis(Axis(0), 0)).view());
        AffineMap::new(bare.map().ops().to_owned(), bare.signs().to_vec(), Some(intercept), positivity)
    }
}

/// Errors of one penalty on some folds, by rank.
fn path_errors(
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
    folds: &Folds,
    (which, ranks, penalty, iterations): (usize, &[usize], f64, usize),
) -> Result<Option<Vec<Score>>> {
    let per_fold: Vec<Option<Vec<f64>>> = (0..which)
        .into_par_iter()
        .map(|fold| -> Result<Option<Vec<f64>>> {
            let (out, inn) = (folds.outside(fold), folds.inside(fold));
            let (xa, ya) = (x.select(Axis(0), &out), y.select(Axis(0), &out));
            let (xb, yb) = (x.select(Axis(0), &inn), svecs(y.select(Axis(0), &inn).view()));
            let Some(mut path) = Path::new(xa.view(), ya.view(), penalty)? else { return Ok(None) };
            let mut errors = Vec::with_capacity(ranks.len());
            for &rank in ranks {
                path.to(rank, iterations, 1e-4)?;
                errors.push(ridge::squares(path.predict(xb.view()).view(), yb.view()) / yb.nrows() as f64);
            }
            Ok(Some(errors))
        })
        .collect::<Result<_>>()?;
    let Some(all) = per_fold.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
    Ok(Some(ranks.iter().enumerate().map(|(k, r)| Score::new(*r, all.iter().map(|f| f[k]).collect())).collect()))
}

/// The completely positive family: rank by the one-standard-error rule, then a penalty if it helps.
pub(super) fn complete(
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
    folds: &Folds,
    rank: Option<usize>,
    watch: Watch<'_>,
) -> Result<(Tried, f64)> {
    watch("completely positive maps", 0.0)?;
    let most = x.dim().1 * y.dim().1;
    let ranks: Vec<usize> = match rank {
        Some(r) => RANKS.into_iter().filter(|k| *k < r).chain([r]).collect(),
        None => RANKS.into_iter().filter(|r| *r <= most).collect(),
    };
    let Some(curve) = path_errors(x, y, folds, (folds.count(), &ranks, 0.0, 25))? else {
        return Err(Error::MeanNotDefinite);
    };
    let chosen = if rank.is_some() { curve.len() - 1 } else { one_standard_error(&curve) };
    let mut tried = Tried { complete: true, curve, chosen, note: "no penalty".into() };
    let (mut penalty, at) = (0.0, tried.score().rank);
    for (k, share) in PENALTIES.into_iter().enumerate() {
        watch("trace penalty", k as f64 / PENALTIES.len() as f64)?;
        let upto: Vec<usize> = ranks.iter().copied().filter(|r| *r <= at).collect();
        let Some(curve) = path_errors(x, y, folds, (folds.count(), &upto, share, 25))? else { break };
        let score = &curve[curve.len() - 1];
        let better = score.mean() < tried.score().mean() && !tried.score().close_to(score);
        if !better {
            break;
        }
        penalty = share;
        let chosen = tried.chosen;
        tried.curve[chosen] = score.clone();
        tried.note = format!("trace penalty {share:.0e}");
    }
    Ok((tried, penalty))
}

/// Two folds and three ranks first: the whole curve only where it can win.
pub(super) fn screen(
    x: ArrayView3<'_, f64>,
    y: ArrayView3<'_, f64>,
    folds: &Folds,
    rival: &Score,
    rank: Option<usize>,
    watch: Watch<'_>,
) -> Result<Option<(Tried, f64)>> {
    watch("completely positive maps, first look", 0.0)?;
    let most = x.dim().1 * y.dim().1;
    let ranks: Vec<usize> = SCREEN.into_iter().filter(|r| *r <= most).collect();
    let ranks = if ranks.is_empty() { vec![1] } else { ranks };
    let Some(curve) = path_errors(x, y, folds, (2, &ranks, 0.0, 20))? else { return Ok(None) };
    let best = least(&curve);
    let rival_there = rival.folds[..2].iter().sum::<f64>() / 2.0;
    if curve[best].mean() <= NEAR * rival_there {
        return complete(x, y, folds, rank, watch).map(Some);
    }
    let note = format!("ranks {ranks:?} on two folds only: too far behind for a closer look");
    Ok(Some((Tried { complete: true, curve, chosen: best, note }, 0.0)))
}

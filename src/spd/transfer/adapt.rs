//! The whole procedure behind `repro adapt` and the stages: transport makes pairs, a Kraus map is learned from them.
//!
//! 1. Recentring from the source to the target.
//! 2. Entropic transport of the source onto the target: pairs (source, mapped source).
//! 3. A Kraus map from the pairs: started at recentring ([`MapChoice::Recentred`]), or the paper's ([`MapChoice::Paper`]).
//!
//! The loss and the penalty of 2 and 3 were chosen on one simulated subject, the rank and the spread after a look at real covariances: these
//! are no clean test of the defaults any more.

use super::learned::{LearnedMap, MapParams, learn_map};
use super::pairs::{Pairs, PairsParams, transport_pairs};
use super::paper_map::{PaperMapParams, learn_paper_map};
use super::recentre::{CommonChannels, Recentring, channels};
use crate::{Error, MeanParams, Metric, Result, check, pairwise_distances, self_distances};
use ndarray::{Array3, ArrayView3};

/// How the map is learned from the pairs.
#[derive(Debug, Clone, PartialEq)]
pub enum MapChoice {
    /// Started at recentring, see [`learn_map`].
    Recentred(MapParams, RankChoice),
    /// The paper's, see [`learn_paper_map`].
    Paper(PaperMapParams),
}

/// Number of Kraus operators of a map that starts at recentring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RankChoice {
    /// As given in [`MapParams::rank`].
    Given,
    /// The one of these with the least held-out error, averaged over three choices of the held-out pairs; the smallest on a tie.
    Auto(Vec<usize>),
}

/// The settings of [`adapt`].
#[derive(Debug, Clone, PartialEq)]
pub struct AdaptParams {
    /// How pairs are made.
    pub pairs: PairsParams,
    /// How the map is learned.
    pub map: MapChoice,
    /// When Riemannian means stop.
    pub means: MeanParams,
}

impl Default for AdaptParams {
    fn default() -> Self {
        AdaptParams {
            pairs: PairsParams::default(),
            map: MapChoice::Recentred(MapParams::default(), RankChoice::Given),
            means: MeanParams::default(),
        }
    }
}

impl AdaptParams {
    /// The paper's settings: transport of matrices as recorded, Adam on the square loss of whitened matrices.
    pub fn paper() -> Self {
        AdaptParams {
            pairs: PairsParams::paper(),
            map: MapChoice::Paper(PaperMapParams::default()),
            means: MeanParams::default(),
        }
    }
}

/// What the procedure is doing, for a progress bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Means, distances and the plan.
    Transport,
    /// Choice of the rank.
    Rank,
    /// Training of the map.
    Training,
}

/// The result: a map from the source's domain to the target's.
#[derive(Debug, Clone)]
pub struct Adaptation {
    /// Recentring, the start of the map and its rival.
    pub recentring: Recentring,
    /// The transported source.
    pub pairs: Pairs,
    /// The learned map.
    pub map: LearnedMap,
    /// Rank that was used.
    pub rank: usize,
    /// Held-out error of each rank that was tried.
    pub ranks: Vec<(usize, f64)>,
    /// Mean distance from source to target matrices on the common channels, as recorded.
    pub distance_before: f64,
    /// The same for the images under the learned map.
    pub distance_after: f64,
    /// Largest distance of a source matrix from its nearest neighbour in the source.
    reach: f64,
    source: Array3<f64>,
}

impl Adaptation {
    /// The images of matrices of the source's domain, (k, q, q).
    pub fn apply(&self, x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
        self.map.apply(x)
    }

    /// How many matrices lie outside what the map was trained on: farther from the nearest source matrix than any source matrix
    /// is from its nearest neighbour.
    pub fn outside(&self, x: ArrayView3<'_, f64>) -> Result<usize> {
        let d = pairwise_distances(self.source.view(), x, Metric::AffineInvariant)?;
        Ok(d.columns().into_iter().filter(|c| c.iter().all(|d| *d > self.reach)).count())
    }
}

/// Learns a map from the domain of `source` (k, p, p) to that of `target` (m, q, q), from matrices without labels of the target.
///
/// `labels` are the classes of the source, if known; `common` the channels that both domains have. `watch` gets what is being done,
/// the share of it done, and the loss (NaN before training), and returns whether to go on.
///
/// ```
/// use ndarray::Array3;
/// use spd::{AdaptParams, CommonChannels, adapt};
/// let wave = |t: usize, i: usize| ((1 + 3 * i) as f64 * (1.0 + 0.37 * t as f64)).sin();
/// let source = Array3::from_shape_fn((24, 3, 3), |(t, i, j)| 0.5 * wave(t, i) * wave(t, j) + if i == j { 1.0 } else { 0.0 });
/// let target = source.mapv(|v| 4.0 * v); // the second day: every signal twice as strong
/// let found = adapt(source.view(), target.view(), None, &CommonChannels::all(3), &AdaptParams::default(), &mut |_, _, _| true)?;
/// assert!(found.distance_after < 0.9 * found.distance_before);
/// assert_eq!(found.apply(source.view())?.dim(), (24, 3, 3));
/// # Ok::<(), spd::Error>(())
/// ```
pub fn adapt(
    source: ArrayView3<'_, f64>,
    target: ArrayView3<'_, f64>,
    labels: Option<&[i64]>,
    common: &CommonChannels,
    params: &AdaptParams,
    watch: &mut dyn FnMut(Step, f64, f64) -> bool,
) -> Result<Adaptation> {
    check::symmetric("source", &source)?;
    check::symmetric("target", &target)?;
    let means = params.means.check()?;
    let mut report = |step, done, loss| if watch(step, done, loss) { Ok(()) } else { Err(Error::Cancelled) };
    report(Step::Transport, 0.0, f64::NAN)?;
    let recentring = Recentring::fit(source, target, common, &means)?;
    let pairs = transport_pairs(source, target, labels, common, &recentring, &params.pairs, &means)?;
    report(Step::Transport, 1.0, f64::NAN)?;
    let (map, rank, ranks) = learn(source, &pairs, &recentring, params, watch)?;
    let near = self_distances(source, Metric::AffineInvariant)?;
    let nearest = |(i, row): (usize, ndarray::ArrayView1<'_, f64>)| {
        row.iter().enumerate().filter(|(j, _)| *j != i).fold(f64::INFINITY, |m, (_, d)| m.min(*d))
    };
    let reach = near.rows().into_iter().enumerate().map(nearest).fold(0.0, f64::max);
    let (distance_before, distance_after) = distances(source, target, common, &map)?;
    let source = source.to_owned();
    Ok(Adaptation { recentring, pairs, map, rank, ranks, distance_before, distance_after, reach, source })
}

/// The map, its rank, and the held-out errors of the ranks tried.
fn learn(
    source: ArrayView3<'_, f64>,
    pairs: &Pairs,
    recentring: &Recentring,
    params: &AdaptParams,
    watch: &mut dyn FnMut(Step, f64, f64) -> bool,
) -> Result<(LearnedMap, usize, Vec<(usize, f64)>)> {
    let mapped = pairs.mapped.view();
    let (map, choice) = match &params.map {
        MapChoice::Paper(p) => {
            let found = learn_paper_map(source, mapped, p, &mut |done, loss| watch(Step::Training, done, loss))?;
            return Ok((found, p.rank, Vec::new()));
        }
        MapChoice::Recentred(map, choice) => (map, choice),
    };
    let (mut rank, mut tried) = (map.rank, Vec::new());
    if let RankChoice::Auto(ranks) = choice {
        let total = (ranks.len() * 3).max(1) as f64;
        for &rank in ranks {
            let mut sum = 0.0;
            for draw in 0..3u64 {
                let held_out = if map.held_out > 0.0 { map.held_out } else { 0.2 };
                let params = MapParams { rank, held_out, seed: map.seed.wrapping_add(draw), ..*map };
                let done = (tried.len() as f64 * 3.0 + draw as f64) / total;
                let found =
                    learn_map(source, mapped, recentring, &params, &mut |_, loss| watch(Step::Rank, done, loss))?;
                sum += found.held_out.map_or(f64::INFINITY, |(_, learned)| learned);
            }
            tried.push((rank, sum / 3.0));
        }
        let best = tried.iter().copied().fold((map.rank, f64::INFINITY), |a, b| if b.1 < a.1 { b } else { a });
        rank = best.0;
    }
    let map = MapParams { rank, ..*map };
    let found = learn_map(source, mapped, recentring, &map, &mut |done, loss| watch(Step::Training, done, loss))?;
    Ok((found, rank, tried))
}

/// Mean distances from the source to the target on the common channels, before and after the map.
fn distances(
    source: ArrayView3<'_, f64>,
    target: ArrayView3<'_, f64>,
    common: &CommonChannels,
    map: &LearnedMap,
) -> Result<(f64, f64)> {
    let onto = channels(target, &common.of_target());
    let mean = |x: Array3<f64>| -> Result<f64> {
        let d = pairwise_distances(x.view(), onto.view(), Metric::AffineInvariant)?;
        Ok(d.sum() / d.len() as f64)
    };
    let before = mean(channels(source, &common.of_source()))?;
    let after = mean(channels(map.apply(source)?.view(), &common.of_target()))?;
    Ok((before, after))
}

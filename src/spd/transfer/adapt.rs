//! The whole procedure behind `repro adapt` and the stages: transport makes pairs, a Kraus map is learned from them.
//!
//! 1. Recentring from the source to the target.
//! 2. Entropic transport of the source onto the target: pairs (source, mapped source).
//! 3. A Kraus map that starts at recentring: with labels of the source, recentring followed by a [`class_filter`]; without, learned from
//!    the pairs ([`MapChoice::Recentred`]). Or the paper's map from the pairs ([`MapChoice::Paper`]).
//!
//! How the defaults were chosen: on simulated subjects, by the accuracy of a classifier that was trained on the images of the fifth of
//! the source that the map had not seen. Tried there besides the class filter: contraction towards the mean, filters that follow the
//! spread of the target or of the transported source, rotation of the class means, measuring the class and answering with its mean.

use super::class_filter::{ClassFilter, FilterParams, class_filter};
use super::learned::{LearnedMap, MapParams, learn_map};
use super::pairs::{Pairs, PairsParams, flat_distances, transport_pairs, vectors};
use super::paper_map::{PaperMapParams, learn_paper_map};
use super::recentre::{CommonChannels, Recentring, channels};
use crate::manifold::function::one;
use crate::{Error, MeanParams, Metric, Result, check, pairwise_distances};
use estimator::Labels;
use ndarray::{Array2, Array3, ArrayView3, Axis};

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
    /// How the map is learned from them.
    pub map: MapChoice,
    /// How the map is learned where labels of the source are given; none: from the pairs, as without labels.
    pub filter: Option<FilterParams>,
    /// When Riemannian means stop.
    pub means: MeanParams,
}

impl Default for AdaptParams {
    fn default() -> Self {
        AdaptParams {
            pairs: PairsParams::default(),
            map: MapChoice::Recentred(MapParams::default(), RankChoice::Given),
            filter: Some(FilterParams::default()),
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
            filter: None,
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
    /// The class filter of a map that was learned with labels.
    pub filter: Option<ClassFilter>,
    /// Kraus operators of the map, without those that fill in channels of the target alone.
    pub rank: usize,
    /// Held-out error of each rank that was tried.
    pub ranks: Vec<(usize, f64)>,
    common: CommonChannels,
    source: Array3<f64>,
}

/// Most matrices of each side in [`Adaptation::distances`].
const MOST: usize = 200;

impl Adaptation {
    /// The images of matrices of the source's domain, (k, q, q).
    pub fn apply(&self, x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
        self.map.apply(x)
    }

    /// Mean distance from source to target matrices on the common channels, as recorded and after the map: over all pairs, or over 200
    /// matrices of each side that are spread evenly over it.
    pub fn distances(&self, target: ArrayView3<'_, f64>) -> Result<(f64, f64)> {
        let spread = |x: ArrayView3<'_, f64>| {
            let k = x.dim().0;
            let at: Vec<usize> = if k > MOST { (0..MOST).map(|i| i * k / MOST).collect() } else { (0..k).collect() };
            x.select(Axis(0), &at)
        };
        let onto = channels(spread(target).view(), &self.common.of_target());
        let mean = |x: Array3<f64>| -> Result<f64> {
            let d = pairwise_distances(x.view(), onto.view(), Metric::AffineInvariant)?;
            Ok(d.sum() / d.len() as f64)
        };
        let from = spread(self.source.view());
        let before = mean(channels(from.view(), &self.common.of_source()))?;
        let after = mean(channels(self.map.apply(from.view())?.view(), &self.common.of_target()))?;
        Ok((before, after))
    }

    /// What the map was trained on, for matrices that may lie outside of it.
    pub fn surroundings(&self) -> Result<Surroundings> {
        let whiten = one("surroundings", self.recentring.means().0, |v| 1.0 / v.sqrt())?;
        let known = vectors(&whiten, self.source.view())?;
        let near = flat_distances(&known, &known);
        let nearest = |(i, row): (usize, ndarray::ArrayView1<'_, f64>)| {
            row.iter().enumerate().filter(|(j, _)| *j != i).fold(f64::INFINITY, |m, (_, d)| m.min(*d))
        };
        let reach = near.rows().into_iter().enumerate().map(nearest).fold(0.0, f64::max);
        Ok(Surroundings { whiten, known, reach })
    }
}

/// The matrices of the source as tangent vectors at their mean.
#[derive(Debug, Clone)]
pub struct Surroundings {
    whiten: Array2<f64>,
    known: Array2<f64>,
    /// Largest distance of a source matrix from its nearest neighbour in the source.
    reach: f64,
}

impl Surroundings {
    /// How many matrices are farther from the nearest source matrix than any source matrix is from its nearest neighbour.
    pub fn outside(&self, x: ArrayView3<'_, f64>) -> Result<usize> {
        let d = flat_distances(&vectors(&self.whiten, x)?, &self.known);
        // Rounding of equal vectors is not a distance.
        let reach = self.reach * (1.0 + 1e-9) + 1e-7;
        Ok(d.rows().into_iter().filter(|row| row.iter().all(|d| *d > reach)).count())
    }
}

/// Learns a map from the domain of `source` (k, p, p) to that of `target` (m, q, q), from matrices without labels of the target.
///
/// `labels` are the classes of the source, if known; labels of the target are never used. `common` names the channels that both domains have. `watch` gets what is being done,
/// the share of it done, and the loss (NaN before training), and returns whether to go on.
///
/// ```
/// use ndarray::Array3;
/// use spd::{AdaptParams, CommonChannels, adapt};
/// let wave = |t: usize, i: usize| ((1 + 3 * i) as f64 * (1.0 + 0.37 * t as f64)).sin();
/// let source = Array3::from_shape_fn((24, 3, 3), |(t, i, j)| 0.5 * wave(t, i) * wave(t, j) + if i == j { 1.0 } else { 0.0 });
/// let target = source.mapv(|v| 4.0 * v); // the second day: every signal twice as strong
/// let found = adapt(source.view(), target.view(), None, &CommonChannels::all(3), &AdaptParams::default(), &mut |_, _, _| true)?;
/// let (before, after) = found.distances(target.view())?;
/// assert!(after < 0.9 * before);
/// assert_eq!(found.apply(source.view())?.dim(), (24, 3, 3));
/// # Ok::<(), spd::Error>(())
/// ```
pub fn adapt(
    source: ArrayView3<'_, f64>,
    target: ArrayView3<'_, f64>,
    labels: Option<&Labels>,
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
    let (mut filter, mut ranks) = (None, Vec::new());
    let map = match (labels, &params.filter) {
        (Some(labels), Some(settings)) => {
            let images = recentring.apply(source)?;
            let found = class_filter(images.view(), labels, recentring.means().1, settings)?;
            let map = recentring.map().then(&found.map)?;
            let learned = LearnedMap { map, held_out: None, iterations: 0, fell_back: found.kept.is_none() };
            filter = Some(found);
            learned
        }
        _ => {
            let (map, tried) = learn(source, &pairs, &recentring, params, watch)?;
            ranks = tried;
            map
        }
    };
    let (rank, common, source) = (map.map.operators().dim().0, common.clone(), source.to_owned());
    Ok(Adaptation { recentring, pairs, map, filter, rank, ranks, common, source })
}

/// The map learned from the pairs, and the held-out errors of the ranks tried.
fn learn(
    source: ArrayView3<'_, f64>,
    pairs: &Pairs,
    recentring: &Recentring,
    params: &AdaptParams,
    watch: &mut dyn FnMut(Step, f64, f64) -> bool,
) -> Result<(LearnedMap, Vec<(usize, f64)>)> {
    let mapped = pairs.mapped.view();
    let (map, choice) = match &params.map {
        MapChoice::Paper(p) => {
            let found = learn_paper_map(source, mapped, p, &mut |done, loss| watch(Step::Training, done, loss))?;
            return Ok((found, Vec::new()));
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
    Ok((found, tried))
}

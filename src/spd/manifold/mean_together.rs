//! A block of Frechet means, iterated together. See `mean.rs` for the equations.
//!
//! The pairs (mean, matrix) fill groups of eight, whichever mean they belong to; each group leaves its eight images (logarithms or
//! square roots) interleaved, and the weighted sum of each mean runs over whole vectors with a weight of zero in foreign lanes.

use super::mean_iterate::MeanIterate;
use crate::batch::eigen::{Fault, positive};
use crate::batch::logarithm::Logarithm;
use crate::batch::triangular::congruence_each;
use crate::batch::{LANES, V, pack_lane, unpack_lane, vectorised};
use crate::manifold::mean::{Mean, MeanParams, Selection};
use crate::{Error, Metric, Result};
use ndarray::{ArrayView3, Axis};
use rayon::prelude::*;

/// Scratch arrays for one group of eight pairs; each task owns one.
struct Work {
    log: Logarithm,
    /// The mean whose root lies in each lane of `root`.
    owner: [usize; LANES],
    root: Vec<V>,
    packed: Vec<V>,
    t: Vec<V>,
    a: Vec<V>,
}

impl Work {
    fn new(n: usize) -> Self {
        let square = || vec![V::ZERO; n * n];
        let owner = [usize::MAX; LANES];
        Work { log: Logarithm::new(n), owner, root: square(), packed: square(), t: square(), a: square() }
    }
}

/// The matrices of one block and the image (logarithm or square root) that is taken of each pair.
#[derive(Clone, Copy)]
struct PairGroups<'a> {
    n: usize,
    x: ArrayView3<'a, f64>,
    bures: bool,
    /// Whether the roots are full: only the first iterate has a triangular factor, except for Bures-Wasserstein.
    full: bool,
}

/// Iterates one block of means, the first of which has the number `first`, until each has converged or the iterations are used up.
pub(crate) fn iterate(
    n: usize,
    x: ArrayView3<'_, f64>,
    selections: &[Selection],
    first: usize,
    starts: ArrayView3<'_, f64>,
    metric: Metric,
    params: MeanParams,
) -> Result<Vec<Mean>> {
    let bures = metric == Metric::BuresWasserstein;
    let mut states = starts
        .axis_iter(Axis(0))
        .enumerate()
        .map(|(k, m)| MeanIterate::new(first + k, m, metric))
        .collect::<Result<Vec<_>>>()?;
    let most: usize = selections.iter().map(Vec::len).sum();
    let groups = most.div_ceil(LANES);
    // Image of every pair (log or square root), and its curvature (typical, bound).
    let mut images = vec![V::ZERO; groups * n * n];
    let mut slopes = vec![(V::ZERO, V::ZERO); groups];
    let mut pairs: Vec<(usize, usize)> = Vec::with_capacity(most);
    let mut work = Work::new(n);
    for iteration in 1..=params.max_iterations {
        pairs.clear();
        for (m, s) in selections.iter().enumerate().filter(|(m, _)| states[*m].running) {
            pairs.extend(s.iter().map(|&(i, _)| (m, i)));
        }
        if pairs.is_empty() {
            break;
        }
        let problem = PairGroups { n, x, bures, full: !bures && iteration > 1 };
        let tasks = images.par_chunks_mut(n * n).zip(&mut slopes).zip(pairs.par_chunks(LANES));
        let results = tasks
            .map_init(
                || Work::new(n),
                |work, ((to, slope), pairs)| {
                    *slope = problem
                        .group(&states, pairs, work, to)
                        .map_err(|fault| fault.error("mean", |lane| pairs[lane.min(pairs.len() - 1)].1))?;
                    Ok(())
                },
            )
            .collect::<Vec<Result<()>>>();
        results.into_iter().collect::<Result<Vec<()>>>()?;
        let mut at = 0;
        for (state, s) in states.iter_mut().zip(selections).filter(|(state, _)| state.running) {
            state.iterations = iteration;
            let slope = collect(n, s, at, &images, &slopes, &mut work.t, &mut state.step);
            at += s.len();
            if bures {
                state.bures(params.tolerance)?;
            } else {
                state.direction(slope, params.tolerance);
            }
        }
        if !bures {
            advance(n, &mut states, &mut work)?;
        }
    }
    states.into_iter().map(MeanIterate::finish).collect()
}

/// The weighted sum of the images of one mean, whose pairs begin with number `at`; and the weighted sums of the curvatures.
fn collect(
    n: usize,
    s: &Selection,
    at: usize,
    images: &[V],
    slopes: &[(V, V)],
    sum: &mut [V],
    to: &mut [f64],
) -> (f64, f64) {
    let (mut typical, mut bound) = (V::ZERO, V::ZERO);
    sum.fill(V::ZERO);
    for g in at / LANES..(at + s.len()).div_ceil(LANES) {
        let weight = |lane: usize| (g * LANES + lane).checked_sub(at).and_then(|k| s.get(k)).map_or(0.0, |&(_, w)| w);
        let w = V(std::array::from_fn(weight));
        let image = &images[g * n * n..(g + 1) * n * n];
        vectorised(
            #[inline(always)]
            || {
                typical = slopes[g].0.fma(w, typical);
                bound = slopes[g].1.fma(w, bound);
                sum.iter_mut().zip(image).for_each(|(t, v)| *t = v.fma(w, *t));
            },
        );
    }
    // Lanes hold every eighth pair, from lane `at` on. Summed in the order of the pairs, a mean has the same bits whichever
    // other means are in its block.
    let total = |v: V| V(std::array::from_fn(|k| v.0[(at + k) % LANES])).sum();
    for j in 0..n {
        for i in j..n {
            let v = total(sum[j * n + i]);
            (to[i * n + j], to[j * n + i]) = (v, v);
        }
    }
    (total(typical), total(bound))
}

/// The exponentials of all steps made in this iteration, eight at a time.
fn advance(n: usize, states: &mut [MeanIterate], work: &mut Work) -> Result<()> {
    let mut moving: Vec<&mut MeanIterate> = states.iter_mut().filter(|s| s.running).collect();
    let Work { log, packed, t, a, .. } = work;
    let eigen = &mut log.eigen;
    let (mut half, mut inverse) = (vec![0.0; n * n], vec![0.0; n * n]);
    for states in moving.chunks_mut(LANES) {
        for lane in 0..LANES {
            let step = &states[lane.min(states.len() - 1)].step;
            a.iter_mut().zip(step).for_each(|(t, v)| t.0[lane] = 0.5 * v);
        }
        // The eight steps converge together: the first of them stands for all.
        eigen.vectors(a).map_err(|_| Error::MeanFailed { number: states[0].number() })?;
        for (sign, to) in [(1.0, &mut *t), (-1.0, &mut *packed)] {
            let f: Vec<V> = eigen.d.iter().map(|d| d.map(|d| linalg::math::exp(sign * d))).collect();
            eigen.rebuild(&f, to);
        }
        for (lane, state) in states.iter_mut().enumerate() {
            unpack_lane(n, t, lane, &mut half);
            unpack_lane(n, packed, lane, &mut inverse);
            state.advance(&half, &inverse)?;
        }
    }
    Ok(())
}

impl PairGroups<'_> {
    /// log(L^-1 X L^-T) or (L^T X L)^1/2 of eight pairs (mean, matrix), and its curvature.
    fn group(
        &self,
        states: &[MeanIterate],
        pairs: &[(usize, usize)],
        work: &mut Work,
        to: &mut [V],
    ) -> std::result::Result<(V, V), Fault> {
        let Work { log, owner, root, packed, t, a } = work;
        for lane in 0..LANES {
            let (m, i) = pairs[lane.min(pairs.len() - 1)];
            // Consecutive groups mostly belong to the same means.
            if owner[lane] != m {
                owner[lane] = m;
                root.iter_mut().zip(&states[m].root).for_each(|(r, v)| r.0[lane] = *v);
            }
            pack_lane(self.x.index_axis(Axis(0), i), lane, self.bures, packed);
        }
        congruence_each(self.n, self.full, root, packed, t, a);
        if self.bures {
            log.eigen.vectors(a)?;
            positive(&log.eigen.d)?;
            let f: Vec<V> = log.eigen.d.iter().map(|d| d.sqrt()).collect();
            log.eigen.rebuild(&f, to);
            return Ok((V::ONE, V::ONE));
        }
        let (lo, hi) = log.solve(a, to)?;
        Ok(curvature(self.n, to, lo, hi))
    }
}

/// Typical size and bound of u coth u over the differences 2 u of the eigenvalues of the logarithms in `logs`; both at
/// least 1. `lo` and `hi` bound the eigenvalues themselves.
fn curvature(n: usize, logs: &[V], lo: V, hi: V) -> (V, V) {
    let (trace, diagonal, below) = vectorised(
        #[inline(always)]
        || {
            let (mut trace, mut diagonal, mut below) = (V::ZERO, V::ZERO, V::ZERO);
            for j in 0..n {
                let column = &logs[j * n + j..(j + 1) * n];
                trace = trace + column[0];
                diagonal = column[0].fma(column[0], diagonal);
                for x in &column[1..] {
                    below = x.fma(*x, below);
                }
            }
            (trace, diagonal, below)
        },
    );
    let share = V::splat(1.0 / n as f64);
    let variance = (diagonal + below + below - trace * trace * share) * share;
    let bound = (hi / lo).map(|spread| {
        let half = 0.5 * linalg::math::ln(spread);
        if half > 1e-6 { half / linalg::math::tanh(half) } else { 1.0 }
    });
    // u coth u = 1 + u^2 / 3 + ..., linear far out; the mean of u^2 is variance / 2.
    (variance.map(|v| (1.0 + v.max(0.0) / 3.0).sqrt()), bound)
}

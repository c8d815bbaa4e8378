//! The optimum of the square loss over Kraus maps of a rank.
//!
//! Where the samples determine the least squares map: the closed form if 2 rank <= p + 1, refined by L-BFGS on the moments
//! where it does not fit already (noise, a rank too low). Elsewhere L-BFGS on the samples from a random start.

use super::{Judge, Line, Params, show, wide};
use anyhow::Result;
use kraus::closed_form::aligned;
use kraus::lbfgs::enough;
use kraus::simulate::{Recipe, Samples, Split};
use kraus::{
    Basis, Fit, KrausMap, Lbfgs, LbfgsParams, LeastSquares, LossSource, MomentObjective, Moments, MomentsBuilder,
    Problem, Session, Solver, Stack, Start, Stopping,
};
use linalg::Real;
use ndarray::{Array3, s};
use pipeline::Context;

/// Below this share of E[Y^2] the square error on samples is rounding error.
const EXACT: f64 = 1e-20;

/// Through the moments, or in f32, the square error cannot be resolved below about this share of E[Y^2].
const RESOLVED: f64 = 1e-12;

/// A closed form whose square error is above this share of E[Y^2] is a bad start.
const MISSED: f64 = 1e-3;

/// Number of samples that a closed form is tried on first.
const FEW: usize = 32;

/// Samples made at a time while the moments are summed. This bounds the memory for any l, and blocks this small reuse memory
/// that the system would otherwise clear each time.
const BLOCK: usize = 128;

/// The optimum of each rank.
pub fn fit<'a>(judge: &Judge<'a>, ctx: &Context, lines: &mut Vec<Line<'a>>) -> Result<()> {
    let (p, recipe) = (judge.p, judge.recipe);
    let determined = p.l >= recipe.p * (recipe.p + 1) / 2;
    let moments = if determined { Some(moments(p, recipe, ctx)?) } else { None };
    let moments = moments.map(|m| m.least_squares().map(|ls| (m, ls))).transpose()?;
    let mut ranks = p.rank.list();
    ranks.sort_unstable();
    let mut exact: Option<(Stack<f64>, f64)> = None;
    for rank in ranks {
        ctx.progress(0.5, &format!("rank {rank}"));
        // A map that fits exactly is an optimum of every higher rank, and the only one where the samples determine it.
        if let Some((model, loss)) = &exact
            && enough(recipe.p, recipe.q, rank) <= p.l
        {
            let note = "the map of the rank before, which fits exactly";
            lines.push(judge.line(rank, "exact", &padded(model, rank)?, *loss, 0, note.into())?);
            continue;
        }
        let (model, loss, iterations, note) = match &moments {
            Some(moments) => on_moments(p, recipe, moments, rank, ctx)?,
            None if p.single => {
                let (model, loss, iterations, note) =
                    parts(ctx, rank, on_samples::<f32>(p, recipe, p.l, rank, p.iterations, ctx)?);
                (wide(&model)?, loss, iterations, note)
            }
            None => parts(ctx, rank, on_samples::<f64>(p, recipe, p.l, rank, p.iterations, ctx)?),
        };
        anyhow::ensure!(!ctx.cancelled(), "cancelled");
        lines.push(judge.line(rank, "exact", &model, loss, iterations, note.into())?);
        if loss <= RESOLVED * judge.scale {
            exact = Some((model, loss));
        }
    }
    Ok(())
}

/// The same map with operators of zero up to a higher rank.
fn padded(model: &Stack<f64>, rank: usize) -> Result<Stack<f64>> {
    let ops = model.layers()[0].ops();
    let (r, q, p) = ops.dim();
    let mut more = Array3::zeros((rank, q, p));
    more.slice_mut(s![..r, .., ..]).assign(&ops);
    Ok(Stack::from(KrausMap::new(more)?))
}

/// The map, its loss, the number of iterations, and a note on how it was found.
type Found<T> = (Stack<T>, f64, usize, &'static str);

/// The parts of a fit. The unit's log says so where the fit has not converged.
fn parts<T>(ctx: &Context, rank: usize, (fit, note): (Fit<T>, &'static str)) -> Found<T> {
    if let Some(ended) = fit.history.convergence.filter(|ended| !ended.converged()) {
        ctx.log(&format!("rank {rank}: {ended}"));
    }
    let loss = &fit.history.loss;
    (fit.model, loss.last().copied().unwrap_or(f64::NAN), loss.len(), note)
}

/// L-BFGS that ends at the loss `target`, below which only rounding error remains. On moments `single` computes in f32.
fn lbfgs(p: &Params, target: f64, iterations: usize, single: bool) -> Result<Lbfgs> {
    let stopping = Stopping { target, tolerance: p.tolerance, ..Stopping::after(iterations) };
    Ok(LbfgsParams { stopping, source: LossSource::Samples, single, ..LbfgsParams::default() }.check()?)
}

fn moments(p: &Params, recipe: &Recipe, ctx: &Context) -> Result<Moments> {
    let mut builder = MomentsBuilder::new(recipe.p, recipe.q, Basis::Symmetric);
    for from in (0..p.l).step_by(BLOCK) {
        anyhow::ensure!(!ctx.cancelled(), "cancelled");
        ctx.progress(0.5 * from as f64 / p.l as f64, "moments");
        let s: Samples<f64> = recipe.samples(Split::Train, from..(from + BLOCK).min(p.l));
        builder.update(s.x.view(), s.y.view())?;
    }
    Ok(builder.finish()?)
}

fn on_moments(
    p: &Params,
    recipe: &Recipe,
    (moments, ls): &(Moments, LeastSquares),
    rank: usize,
    ctx: &Context,
) -> Result<Found<f64>> {
    let (p_in, q) = (moments.p(), moments.q());
    let scale = moments.yy() / (moments.samples() * q * q) as f64;
    let (mut start, mut how) = (Start::single(p_in, q, rank, ctx.seed()), "L-BFGS on the moments from a random start");
    let mut missed = true;
    if 2 * rank <= p_in + 1 {
        let stack = Stack::from(aligned(ls, p_in, q, rank)?);
        // A few samples show whether it is far off; all samples would show it at a far higher cost.
        let few = recipe.samples(Split::Train, 0..FEW.min(p.l));
        missed = stack.mse(&Problem::matrices(few.x.view(), few.y.view())?)? > MISSED * scale;
        if !missed {
            let ops = stack.to_vec();
            let loss = MomentObjective::new(moments, Some(ls), rank).evaluate(&ops, &mut vec![0.0; ops.len()]);
            if loss <= RESOLVED * scale {
                return Ok((stack, loss, 0, "closed form"));
            }
        }
        (start, how) = (Start::Given(stack), "closed form, L-BFGS on the moments");
    }
    let rough = missed && p.coarse > 0;
    if rough {
        let (fit, _) = on_samples::<f32>(p, recipe, p.coarse.min(p.l), rank, COARSE_ITERATIONS, ctx)?;
        (start, how) = (Start::Given(wide(&fit.model)?), "L-BFGS on some of the samples, then on the moments");
    }
    let fit = lbfgs(p, RESOLVED * scale, p.iterations, rough)?.fit_moments_around(moments, Some(ls), start)?;
    Ok(parts(ctx, rank, (fit, how)))
}

/// Iterations of L-BFGS on the samples that only start a fit to the moments.
const COARSE_ITERATIONS: usize = 40;

fn on_samples<T: Real>(
    p: &Params,
    recipe: &Recipe,
    l: usize,
    rank: usize,
    iterations: usize,
    ctx: &Context,
) -> Result<(Fit<T>, &'static str)> {
    let train: Samples<T> = recipe.samples(Split::Train, 0..l);
    let scale = train.y.iter().map(|v| v.as_f64() * v.as_f64()).sum::<f64>() / train.y.len() as f64;
    let resolved = if T::epsilon().as_f64() > 1e-10 { RESOLVED } else { EXACT };
    let problem = Problem::matrices(train.x.view(), train.y.view())?;
    let mut watch = |now: &kraus::Progress| show(ctx, now);
    let mut session = Session { validation: None, watch: Some(&mut watch) };
    let start = Start::single(recipe.p, recipe.q, rank, ctx.seed());
    let fit = lbfgs(p, resolved * scale, iterations, false)?.fit_with(&problem, start, &mut session)?;
    Ok((fit, "L-BFGS on the samples from a random start"))
}

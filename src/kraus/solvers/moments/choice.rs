//! Whether a fit works on the samples or on their moments: the cheaper by counted FLOPs, unless the caller says.

use super::{Basis, MomentObjective, Moments};
use crate::data::problem::{Inputs, Problem};
use crate::error::{FitError, Result};
use crate::map::Architecture;
use linalg::Real;

/// Whether the loss is computed from the samples or from their moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LossSource {
    /// The cheaper of the two, by counted FLOPs.
    #[default]
    Auto,
    /// The samples.
    Samples,
    /// The moments; an error where the problem has none (masks, matrix units, depth > 1).
    Moments,
}

/// Evaluations that a fit is expected to need, over which the cost of the moments is spread.
const EXPECTED: f64 = 200.0;

/// FLOPs of one evaluation on l samples: three products where everything is symmetric, five otherwise.
fn sample_flops<T: Real>(problem: &Problem<'_, T>, rank: usize) -> f64 {
    let (p, q, r) = (problem.p() as f64, problem.q() as f64, rank as f64);
    let (inner, outer) = (2.0 * p * p * q * r, 2.0 * q * q * p * r);
    problem.len() as f64 * if problem.is_symmetric() { inner + 2.0 * outer } else { 2.0 * inner + 3.0 * outer }
}

/// The moments of a problem that has them.
pub(crate) fn moments_of<T: Real>(problem: &Problem<'_, T>) -> Option<Result<Moments>> {
    match problem.inputs() {
        Inputs::Matrices(x) if !problem.is_masked() => {
            let basis = if problem.symmetric_inputs().iter().all(|s| *s) { Basis::Symmetric } else { Basis::Full };
            Some(Moments::of(x.view(), problem.targets(), basis))
        }
        _ => None,
    }
}

/// The moments, if the problem has them and they are wanted or cheaper, and the reason in words.
pub(crate) fn choose_moments<T: Real>(
    problem: &Problem<'_, T>,
    arch: &Architecture,
    source: LossSource,
    solver: &'static str,
) -> std::result::Result<(Option<Moments>, String), FitError> {
    let has = arch.ranks.len() == 1 && !problem.is_masked() && matches!(problem.inputs(), Inputs::Matrices(_));
    if !has {
        if source == LossSource::Moments {
            let why = "moments describe one unmasked map on matrices; use the samples".into();
            return Err(FitError::Unsupported { solver, why });
        }
        return Ok((None, "deep, masked or on matrix units: no moments".into()));
    }
    let basis = if problem.symmetric_inputs().iter().all(|s| *s) { Basis::Symmetric } else { Basis::Full };
    let (p, q, l) = (problem.p(), problem.q(), problem.len() as f64);
    let (nx, ny) = (basis.len(p) as f64, basis.len(q) as f64);
    let once = l * nx * (nx + 2.0 * ny) + nx * nx * nx / 3.0;
    let by_moments = MomentObjective::flops(p, q, arch.ranks[0], basis) + once / EXPECTED;
    let by_samples = sample_flops(problem, arch.ranks[0]);
    let words = format!("FLOPs per evaluation: moments {by_moments:.2e}, samples {by_samples:.2e}");
    // With fewer samples than coordinates the moments resolve too little, and the samples are few anyway.
    let wanted = match source {
        LossSource::Auto => by_moments < by_samples && l >= nx,
        LossSource::Samples => false,
        LossSource::Moments => true,
    };
    Ok((if wanted { moments_of(problem).transpose()? } else { None }, words))
}

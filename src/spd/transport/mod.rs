//! Optimal transport between weighted sets: min over plans P >= 0 with P 1 = a and P^T 1 = b of <P, C>, exact or regularised.
//!
//! | file | what it holds |
//! |---|---|
//! | `sinkhorn` | entropic plans by plain scaling, and what a plan reports |
//! | `sinkhorn_log` | the same in the log domain, for any cost and regularisation |
//! | `group` | entropic plans that keep the classes of the sources together |
//! | `emd` | exact plans |
//! | `adapt` | density weights, and the mapped matrices that a plan defines |

mod adapt;
mod emd;
mod group;
mod sinkhorn;
mod sinkhorn_log;

pub use adapt::{DensityWeights, barycentric_map, density_weights, largest_in_row};
pub use emd::{Emd, emd};
pub use group::{GroupLasso, sinkhorn_group_lasso};
pub use sinkhorn::{CheckedSinkhornParams, SinkhornParams, TransportPlan, regularisation_from_median, sinkhorn};
pub use sinkhorn_log::sinkhorn_log;

use crate::{Error, InputError, Result, check};
use ndarray::{ArrayView1, ArrayView2};

/// [`sinkhorn`], and where its scalings leave the range of f64 [`sinkhorn_log`]; the plan says which.
///
/// ```
/// use spd::{SinkhornParams, sinkhorn_any};
/// let cost = ndarray::array![[0.0, 1000.0], [1000.0, 2.0]];
/// let half = ndarray::array![0.5, 0.5];
/// let params = SinkhornParams { regularisation: 0.1, iterations: 50, tolerance: 0.0 }.check()?;
/// assert!(spd::sinkhorn(cost.view(), half.view(), half.view(), &params).is_ok());
/// let far = cost.mapv(|c| c + 1000.0); // exp(-10000) is zero in f64
/// let plan = sinkhorn_any(far.view(), half.view(), half.view(), &params)?;
/// assert!(plan.log_domain && (plan.plan[[0, 0]] - 0.5).abs() < 1e-12);
/// # Ok::<(), spd::Error>(())
/// ```
pub fn sinkhorn_any(
    cost: ArrayView2<'_, f64>,
    a: ArrayView1<'_, f64>,
    b: ArrayView1<'_, f64>,
    params: &CheckedSinkhornParams,
) -> Result<TransportPlan> {
    match sinkhorn(cost, a, b, params) {
        Err(Error::Underflow { .. }) => sinkhorn_log(cost, a, b, params),
        other => other,
    }
}

/// A finite cost matrix (m, n) with marginals of lengths m and n, each a distribution of the same mass.
fn check_problem(
    what: &'static str,
    cost: &ArrayView2<'_, f64>,
    a: &ArrayView1<'_, f64>,
    b: &ArrayView1<'_, f64>,
) -> Result<()> {
    if cost.is_empty() {
        return Err(InputError::empty(what).into());
    }
    check::finite(what, cost)?;
    let sum_a = check::weights(what, a, cost.nrows())?;
    let sum_b = check::weights(what, b, cost.ncols())?;
    if (sum_a - sum_b).abs() > 1e-9 * sum_a.max(sum_b) {
        return Err(InputError::parameter("total mass of b", sum_b, "the total mass of a").into());
    }
    Ok(())
}

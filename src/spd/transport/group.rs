//! Transport with a group-lasso term: mass of one target should come from one class of sources.
//!
//! Majorisation of sum_cj sqrt(\|\|P_{I_c, j}\|\|_1): solve with cost C + eta G, then set
//! G_ij = 1/2 (\|\|P_{I_c, j}\|\|_1 + 1e-6)^{-1/2} for i in class c, and again (Yair et al. 2019; Courty et al. 2017).

use super::sinkhorn::{CheckedSinkhornParams, TransportPlan};
use super::sinkhorn_any;
use crate::{InputError, Result, check};
use estimator::Labels;
use ndarray::{Array2, ArrayView1, ArrayView2};

/// Strength and length of the outer loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupLasso {
    /// Weight eta of the group term.
    pub eta: f64,
    /// Rounds of solving and reweighting.
    pub rounds: usize,
}

impl Default for GroupLasso {
    fn default() -> Self {
        GroupLasso { eta: 1.0, rounds: 10 }
    }
}

/// The plan after all rounds, in the log domain where plain scalings leave the range of f64; `labels` holds the class of each source (row). Its cost is measured with `cost` alone.
pub fn sinkhorn_group_lasso(
    cost: ArrayView2<'_, f64>,
    a: ArrayView1<'_, f64>,
    b: ArrayView1<'_, f64>,
    labels: &Labels,
    group: GroupLasso,
    params: &CheckedSinkhornParams,
) -> Result<TransportPlan> {
    let (m, n) = cost.dim();
    let labels = check::labels(m, labels)?;
    if group.rounds == 0 {
        return Err(InputError::parameter("rounds", 0.0, "at least 1").into());
    }
    if !(group.eta >= 0.0 && group.eta.is_finite()) {
        return Err(InputError::parameter("eta", group.eta, "zero or positive").into());
    }
    let (class, classes) = (labels.indices(), labels.classes().len());
    let mut penalised = cost.to_owned();
    let mut result = sinkhorn_any(cost, a, b, params)?;
    for _ in 1..group.rounds {
        let mut mass = Array2::<f64>::zeros((classes, n));
        for (row, &c) in result.plan.rows().into_iter().zip(class) {
            mass.row_mut(c).scaled_add(1.0, &row);
        }
        let g = mass.mapv(|s| 0.5 * group.eta / (s + 1e-6).sqrt());
        for (i, &c) in class.iter().enumerate() {
            penalised.row_mut(i).assign(&(&cost.row(i) + &g.row(c)));
        }
        result = sinkhorn_any(penalised.view(), a, b, params)?;
    }
    let TransportPlan { plan, iterations, log_domain, .. } = result;
    Ok(TransportPlan { log_domain, ..TransportPlan::measure(plan, &cost, &a, &b, iterations)? })
}

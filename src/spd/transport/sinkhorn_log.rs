//! Entropic transport in the log domain: P_ij = exp((f_i + g_j - C_ij) / reg), no overflow and no underflow for any cost.
//!
//! The same iteration as [`sinkhorn`](crate::sinkhorn) with f = reg log u and g = reg log v. Logarithms are taken only when they
//! are needed (Schmitzer 2019): one exact step by log-sum-exp gives potentials, they are absorbed into
//! K_ij = exp((f_i + g_j - C_ij) / reg), and plain scalings run on that K until one leaves a safe range; then again. Entries
//! of K that underflow carry less than 1e-100 of the mass as long as the scalings stay in that range.

use super::check_problem;
use super::sinkhorn::{CheckedSinkhornParams, Scaling, TransportPlan};
use crate::Result;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use rayon::prelude::*;

/// Scalings within 1 / SAFE .. SAFE need no absorption.
const SAFE: f64 = 1e100;

/// As [`sinkhorn`](crate::sinkhorn), for any cost and regularisation. The marginal error is reported in the plan.
pub fn sinkhorn_log(
    cost: ArrayView2<'_, f64>,
    a: ArrayView1<'_, f64>,
    b: ArrayView1<'_, f64>,
    params: &CheckedSinkhornParams,
) -> Result<TransportPlan> {
    check_problem("sinkhorn_log", &cost, &a, &b)?;
    let params = params.get();
    let (m, n) = cost.dim();
    let scaled = cost.mapv(|c| -c / params.regularisation);
    let transposed = scaled.t().as_standard_layout().into_owned();
    let (log_a, log_b) = (a.mapv(linalg::math::ln), b.mapv(linalg::math::ln));
    // Potentials over reg; points without mass have potential -inf and stay out of every sum.
    let mut f = Array1::from_elem(m, -linalg::math::ln(m as f64));
    let mut g = Array1::zeros(n);
    let mut scaling = Scaling::new(&a, &b);
    let mut iterations = 0;
    'outer: while iterations < params.iterations {
        iterations += 1;
        half_step(&transposed, &f, &log_b, &mut g);
        half_step(&scaled, &g, &log_a, &mut f);
        scaling.kernel(|i, j| linalg::math::exp(f[i] + g[j] + scaled[[i, j]]));
        scaling.start(&vec![1.0; m]);
        scaling.v[..n].fill(1.0);
        let (mut u, mut v) = (scaling.u.clone(), scaling.v.clone());
        while iterations < params.iterations {
            if params.tolerance > 0.0 && scaling.column_error() < params.tolerance {
                break 'outer;
            }
            scaling.iterate();
            if !scaling.in_range(1.0 / SAFE, SAFE) {
                // Back to the last good scalings; the next exact step does this iteration.
                (scaling.u, scaling.v) = (u, v);
                absorb(&mut f, &mut g, &scaling);
                continue 'outer;
            }
            u.copy_from_slice(&scaling.u);
            v.copy_from_slice(&scaling.v);
            iterations += 1;
        }
    }
    absorb(&mut f, &mut g, &scaling);
    let plan = Array2::from_shape_fn((m, n), |(i, j)| linalg::math::exp(f[i] + g[j] + scaled[[i, j]]));
    Ok(TransportPlan { log_domain: true, ..TransportPlan::measure(plan, &cost, &a, &b, iterations)? })
}

fn absorb(f: &mut Array1<f64>, g: &mut Array1<f64>, scaling: &Scaling) {
    f.iter_mut().zip(&scaling.u).for_each(|(f, u)| *f += linalg::math::ln(*u));
    g.iter_mut().zip(&scaling.v).for_each(|(g, v)| *g += linalg::math::ln(*v));
}

/// to_i = target_i - log sum_j exp(k_ij + from_j).
fn half_step(k: &Array2<f64>, from: &Array1<f64>, target: &Array1<f64>, to: &mut Array1<f64>) {
    to.axis_chunks_iter_mut(Axis(0), 16)
        .into_par_iter()
        .zip(k.axis_chunks_iter(Axis(0), 16))
        .zip(target.axis_chunks_iter(Axis(0), 16))
        .for_each(|((mut to, k), target)| {
            for ((to, row), target) in to.iter_mut().zip(k.rows()).zip(&target) {
                let top = row.iter().zip(from).fold(f64::NEG_INFINITY, |m, (k, f)| m.max(k + f));
                let sum: f64 = row.iter().zip(from).map(|(k, f)| linalg::math::exp(k + f - top)).sum();
                *to = target - (top + linalg::math::ln(sum));
            }
        });
}

//! Exact transport by successive shortest paths, as an oracle for the regularised solvers.
//!
//! Mass leaves the rows one by one along the shortest path of the residual graph (Dijkstra on reduced costs, dense, O(n^2)
//! per path), so the plan is optimal after every push. Meant for a few hundred points.

use super::check_problem;
use crate::{Error, Result};
use ndarray::{Array2, ArrayView1, ArrayView2};

/// An optimal plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Emd {
    /// The plan P, (m, n).
    pub plan: Array2<f64>,
    /// <P, C>.
    pub cost: f64,
}

/// The plan between marginals `a` (m) and `b` (n) of the least cost.
///
/// ```
/// let cost = ndarray::array![[0.0, 2.0], [1.0, 0.0]];
/// let p = spd::emd(cost.view(), ndarray::array![0.7, 0.3].view(), ndarray::array![0.5, 0.5].view()).unwrap();
/// assert!((p.cost - 0.4).abs() < 1e-15 && (p.plan[[0, 1]] - 0.2).abs() < 1e-15);
/// ```
pub fn emd(cost: ArrayView2<'_, f64>, a: ArrayView1<'_, f64>, b: ArrayView1<'_, f64>) -> Result<Emd> {
    check_problem("emd", &cost, &a, &b)?;
    let (m, n) = cost.dim();
    let (mut supply, mut demand) = (a.to_vec(), b.to_vec());
    let mut plan = Array2::<f64>::zeros((m, n));
    // Below this a remainder is rounding, not mass.
    let dust = 1e-14 * a.sum();
    // Potentials of rows then columns; reduced costs c_ij + y_i - y_j stay non-negative.
    let mut y = vec![0.0; m + n];
    for j in 0..n {
        y[m + j] = cost.column(j).fold(f64::INFINITY, |s, c| s.min(*c));
    }
    for source in 0..m {
        // A path may leave a remainder; a bound on the pushes turns a stall by rounding into an error.
        let mut pushes = 0;
        while supply[source] > dust {
            pushes += 1;
            let path = shortest_path(&cost, &plan, &mut y, source, &demand, dust);
            let (Some((end, parent)), true) = (path, pushes <= 4 * (m + n)) else {
                if supply[source] <= 1e-9 * a.sum() {
                    break;
                }
                return Err(Error::Stalled { row: source, left: supply[source] });
            };
            let mut amount = supply[source].min(demand[end - m]);
            walk(&parent, source, end, |from, to| {
                if from >= m {
                    amount = amount.min(plan[[to, from - m]]);
                }
            });
            walk(&parent, source, end, |from, to| {
                if from < m {
                    plan[[from, to - m]] += amount;
                } else {
                    let cell = &mut plan[[to, from - m]];
                    *cell = if *cell - amount <= dust { 0.0 } else { *cell - amount };
                }
            });
            supply[source] -= amount;
            demand[end - m] -= amount;
        }
    }
    let cost = plan.iter().zip(&cost).map(|(p, c)| p * c).sum();
    Ok(Emd { plan, cost })
}

/// Edges of the path from its end back to the source.
fn walk(parent: &[usize], source: usize, end: usize, mut edge: impl FnMut(usize, usize)) {
    let mut to = end;
    while to != source {
        edge(parent[to], to);
        to = parent[to];
    }
}

/// Dijkstra from a row to the nearest column with open demand. Nodes: rows 0..m, columns m..m+n. Updates the potentials.
fn shortest_path(
    cost: &ArrayView2<'_, f64>,
    plan: &Array2<f64>,
    y: &mut [f64],
    source: usize,
    demand: &[f64],
    dust: f64,
) -> Option<(usize, Vec<usize>)> {
    let (m, n) = cost.dim();
    let mut dist = vec![f64::INFINITY; m + n];
    let mut parent = vec![usize::MAX; m + n];
    let mut done = vec![false; m + n];
    dist[source] = 0.0;
    let end = loop {
        let open = (0..m + n).filter(|&v| !done[v] && dist[v].is_finite());
        let at = open.min_by(|&u, &v| dist[u].total_cmp(&dist[v]))?;
        done[at] = true;
        if at >= m && demand[at - m] > dust {
            break at;
        }
        if at < m {
            for j in 0..n {
                let through = dist[at] + (cost[[at, j]] + y[at] - y[m + j]).max(0.0);
                if through < dist[m + j] && !done[m + j] {
                    dist[m + j] = through;
                    parent[m + j] = at;
                }
            }
        } else {
            for i in 0..m {
                let through = dist[at] + (y[at] - cost[[i, at - m]] - y[i]).max(0.0);
                if plan[[i, at - m]] > 0.0 && through < dist[i] && !done[i] {
                    dist[i] = through;
                    parent[i] = at;
                }
            }
        }
    };
    for v in 0..m + n {
        if done[v] {
            y[v] += dist[v] - dist[end];
        }
    }
    Some((end, parent))
}

//! The factorisation M ~ W W^T off the diagonal: f(W) = 1/2 ||mask o (W W^T - M)||_F^2 + mu ||W||_F^2.
//!
//! For mu = lambda and enough columns its minimum is that of the shrinkage (tr Z = ||W||^2), reached by L-BFGS in far fewer steps; with a lower
//! mu the rank alone holds the model down, which is less biased. One evaluation is two products of n x n by n x r.

use super::super::partial::Partial;
use crate::optimise::{Ending, MinimiseParams, minimise};
use linalg::{gemm, matmul};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, Zip};
use rayon::prelude::*;

const TILE: usize = 64;

/// The factor found, and whether L-BFGS ended by itself.
pub(super) fn polish(partial: &Partial, start: Array2<f64>, mu: f64, iterations: usize) -> (Array2<f64>, bool) {
    let (n, rank) = start.dim();
    if rank == 0 {
        return (start, true);
    }
    let objective = |w: &[f64], gradient: &mut [f64]| {
        // The minimiser hands back as many parameters as it was given.
        let w = ArrayView2::from_shape((n, rank), w).expect("n r parameters");
        evaluate(partial, w, mu, gradient)
    };
    let params = MinimiseParams {
        memory: 12,
        max_iterations: iterations,
        f_tolerance: if mu > 0.0 { 1e-6 } else { 1e-10 },
        ..Default::default()
    };
    let start: Vec<f64> = start.iter().copied().collect();
    let found = minimise(objective, start, &params);
    let w = Array2::from_shape_vec((n, rank), found.x).expect("n r parameters");
    (w, found.stop != Ending::Iterations)
}

fn evaluate(partial: &Partial, w: ArrayView2<'_, f64>, mu: f64, gradient: &mut [f64]) -> f64 {
    let (values, mask, rank) = (partial.values(), partial.weights(), w.ncols());
    let tiles: Vec<_> = gradient
        .chunks_mut(TILE * rank)
        .zip(w.axis_chunks_iter(Axis(0), TILE))
        .zip(values.axis_chunks_iter(Axis(0), TILE).zip(mask.axis_chunks_iter(Axis(0), TILE)))
        .collect();
    let sums: Vec<f64> = tiles
        .into_par_iter()
        .map(|((out, rows), (values, mask))| {
            let mut e = matmul(rows, w.t());
            let mut sum = 0.0;
            Zip::from(&mut e).and(values).and(mask).for_each(|e, v, m| {
                *e = (*e - v) * m;
                sum += *e * *e;
            });
            let mut out = ArrayViewMut2::from_shape(rows.dim(), out).expect("one chunk per tile of rows");
            out.assign(&rows);
            gemm(2.0, e.view(), w, 2.0 * mu, out);
            0.5 * sum + mu * rows.iter().map(|v| v * v).sum::<f64>()
        })
        .collect();
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_that_of_the_value() {
        let m =
            Array2::from_shape_fn((7, 7), |(i, j)| if (i + j) % 3 == 1 { f64::NAN } else { ((i * j) as f64).cos() });
        let partial = Partial::from_nan(m.view()).unwrap();
        let w = Array2::from_shape_fn((7, 2), |(i, k)| ((i + 3 * k) as f64).sin());
        let (mut g, mut unused) = (vec![0.0; 14], vec![0.0; 14]);
        evaluate(&partial, w.view(), 0.3, &mut g);
        for at in 0..14 {
            let mut side = |h: f64| {
                let mut w = w.clone();
                w.as_slice_mut().unwrap()[at] += h;
                evaluate(&partial, w.view(), 0.3, &mut unused)
            };
            let numeric = (side(1e-6) - side(-1e-6)) / 2e-6;
            assert!((numeric - g[at]).abs() < 1e-6 * (1.0 + g[at].abs()), "{at}: {numeric} {}", g[at]);
        }
    }
}

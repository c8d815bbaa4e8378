//! The objective of the learned map and its gradient, over Kraus operators A_i (q, p) in whitened coordinates.
//!
//! ```text
//! f(A) = sum_s l(P_s, Y_s) + t || J(A) - J(A_0) ||_F^2,   P_s = sum_i A_i X_s A_i^T + F_s,   J(A) = sum_i vec A_i vec A_i^T
//! ```
//! F_s is fixed (what recentring fills in for channels that only the target has), and the penalty is the distance between the
//! Choi matrices of the map and of its start A_0. The losses and their gradients G_s = dl/dP:
//!
//! | loss | l(P, Y) | G |
//! |---|---|---|
//! | square | \|\|P - Y\|\|_F^2 | 2 (P - Y) |
//! | log-Euclidean | \|\|log P - log Y\|\|_F^2 | 2 V (D o (V^T E V)) V^T, P = V diag(w) V^T, E = log P - log Y, D_ij = (log w_i - log w_j) / (w_i - w_j) |
//! | affine-invariant | \|\|log(Y^-1/2 P Y^-1/2)\|\|_F^2 | 2 Y^-1/2 Z^-1 log(Z) Y^-1/2, Z = Y^-1/2 P Y^-1/2 |
//!
//! Then df/dA_i = 2 sum_s G_s A_i X_s + 4 t (sum_j <A_i, A_j> A_j - sum_j <A_i, A_0j> A_0j). Samples go to the threads in fixed
//! blocks whose gradients are added in order.

use super::learned::MapLoss;
use crate::manifold::function::{invsqrtm, logm};
use crate::{InputError, Result};
use linalg::{gemm, matmul};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis, s};
use rayon::prelude::*;

/// Samples of one block.
const BLOCK: usize = 8;

/// The samples of the objective in whitened coordinates.
pub(crate) struct OutputLoss {
    pub kind: MapLoss,
    /// Inputs, (k, p, p).
    pub x: Array3<f64>,
    /// Outputs Y, (k, q, q); after [`OutputLoss::prepared`] log Y or Y^-1/2, as the loss needs it.
    pub y: Array3<f64>,
    /// The fixed part of the predictions, (k, q, q).
    pub fixed: Option<Array3<f64>>,
    /// A_0, (r_0, q, p).
    pub start: Array3<f64>,
    /// t.
    pub penalty: f64,
}

impl OutputLoss {
    /// Computes from Y what the loss needs of it, once for all evaluations.
    pub fn prepared(self) -> Result<Self> {
        let y = match self.kind {
            MapLoss::Square => self.y,
            MapLoss::LogEuclidean => logm(self.y.view())?,
            MapLoss::AffineInvariant => invsqrtm(self.y.view())?,
        };
        Ok(OutputLoss { y, ..self })
    }

    /// f and its gradient at operators `a`, flat (r q p).
    pub fn value_and_gradient(&self, a: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let (q, p) = (self.start.dim().1, self.start.dim().2);
        let r = a.len() / (q * p);
        let a = ArrayView3::from_shape((r, q, p), a).map_err(|_| InputError::empty("operators"))?;
        let samples: Vec<usize> = (0..self.x.dim().0).collect();
        let blocks: Vec<Result<(f64, Array3<f64>)>> =
            samples.par_chunks(BLOCK).map(|block| self.block(a, block)).collect();
        let (mut value, mut sum) = (0.0, Array3::<f64>::zeros((r, q, p)));
        for block in blocks {
            let (v, g) = block?;
            value += v;
            sum += &g;
        }
        value += self.penalise(a, &mut sum)?;
        gradient.iter_mut().zip(&sum).for_each(|(to, v)| *to = *v);
        Ok(value)
    }

    /// The losses of some samples and the sum of 2 G_s A_i X_s.
    fn block(&self, a: ArrayView3<'_, f64>, samples: &[usize]) -> Result<(f64, Array3<f64>)> {
        let (r, q, p) = a.dim();
        let mut value = 0.0;
        let mut gradient = Array3::<f64>::zeros((r, q, p));
        let mut ax = Array3::<f64>::zeros((r, q, p));
        let mut image = Array2::<f64>::zeros((q, q));
        for &k in samples {
            match &self.fixed {
                Some(fixed) => image.assign(&fixed.index_axis(Axis(0), k)),
                None => image.fill(0.0),
            }
            let x = self.x.index_axis(Axis(0), k);
            for (a, mut ax) in a.outer_iter().zip(ax.outer_iter_mut()) {
                gemm(1.0, a, x, 0.0, ax.view_mut());
                gemm(1.0, ax.view(), a.t(), 1.0, image.view_mut());
            }
            let (loss, slope) = self.sample(linalg::symmetrise(image.view()), self.y.index_axis(Axis(0), k))?;
            value += loss;
            for (ax, g) in ax.outer_iter().zip(gradient.outer_iter_mut()) {
                gemm(2.0, slope.view(), ax, 1.0, g);
            }
        }
        Ok((value, gradient))
    }

    /// l(P, Y) and G.
    fn sample(&self, image: Array2<f64>, y: ArrayView2<'_, f64>) -> Result<(f64, Array2<f64>)> {
        let squares = |a: &Array2<f64>| a.iter().map(|v| v * v).sum::<f64>();
        match self.kind {
            MapLoss::Square => {
                let residual = &image - &y;
                Ok((squares(&residual), residual * 2.0))
            }
            MapLoss::LogEuclidean => {
                let e = linalg::eigh(image.view())?;
                let w = e.values.mapv(floor);
                let logs = w.mapv(linalg::math::ln);
                let v = &e.vectors;
                let residual = &matmul((v * &logs).view(), v.t()) - &y;
                let mut inner = matmul(matmul(v.t(), residual.view()).view(), v.view());
                for ((i, j), value) in inner.indexed_iter_mut() {
                    let gap = w[i] - w[j];
                    *value *=
                        if gap.abs() > 1e-6 * w[i].max(w[j]) { (logs[i] - logs[j]) / gap } else { 2.0 / (w[i] + w[j]) };
                }
                let slope = matmul(matmul(v.view(), inner.view()).view(), v.t());
                Ok((squares(&residual), slope * 2.0))
            }
            MapLoss::AffineInvariant => {
                let z = matmul(matmul(y, image.view()).view(), y);
                let e = linalg::eigh(linalg::symmetrise(z.view()).view())?;
                let w = e.values.mapv(floor);
                let logs = w.mapv(linalg::math::ln);
                let turned = matmul(y, e.vectors.view());
                let slope = matmul((&turned * &(&logs / &w)).view(), turned.t());
                Ok((logs.iter().map(|v| v * v).sum(), slope * 2.0))
            }
        }
    }

    /// t || J(A) - J(A_0) ||^2, its gradient added to `gradient`.
    fn penalise(&self, a: ArrayView3<'_, f64>, gradient: &mut Array3<f64>) -> Result<f64> {
        if self.penalty == 0.0 {
            return Ok(0.0);
        }
        let (r, q, p) = a.dim();
        let flat = |x: ArrayView3<'_, f64>| {
            x.to_owned().into_shape_with_order((x.dim().0, q * p)).map_err(|_| InputError::empty("operators"))
        };
        let (a, start) = (flat(a)?, flat(self.start.view())?);
        let (own, cross, fixed) =
            (matmul(a.view(), a.t()), matmul(a.view(), start.t()), matmul(start.view(), start.t()));
        let squares = |m: &Array2<f64>| m.iter().map(|v| v * v).sum::<f64>();
        let value = squares(&own) - 2.0 * squares(&cross) + squares(&fixed);
        let slope = matmul(own.view(), a.view()) - matmul(cross.view(), start.view());
        for k in 0..r {
            let mut g = gradient.slice_mut(s![k, .., ..]);
            g.iter_mut().zip(slope.row(k)).for_each(|(g, v)| *g += 4.0 * self.penalty * v);
        }
        Ok(self.penalty * value.max(0.0))
    }
}

/// Eigenvalues of a prediction may vanish on the way of the optimiser; their logarithm must stay finite.
fn floor(w: f64) -> f64 {
    w.max(1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(k: usize, n: usize, m: f64) -> Array3<f64> {
        Array3::from_shape_fn((k, n, n), |(t, i, j)| {
            let wave = |c: usize| (m * ((1 + c) * (2 + t)) as f64).sin();
            0.3 * wave(i) * wave(j) + if i == j { 1.0 } else { 0.0 }
        })
    }

    /// Every component of the gradient against a central difference, square and rectangular, with and without a fixed part.
    #[test]
    fn gradients_agree_with_central_differences() {
        for kind in [MapLoss::Square, MapLoss::LogEuclidean, MapLoss::AffineInvariant] {
            for (p, q, penalty) in [(4, 4, 0.0), (4, 4, 0.7), (5, 3, 0.3), (3, 5, 0.2)] {
                let start = Array3::from_shape_fn((1, q, p), |(_, i, j)| if i == j { 1.0 } else { 0.0 });
                let fixed = (q > p).then(|| batch(11, q, 0.4));
                let (x, y) = (batch(11, p, 1.3), batch(11, q, 0.9));
                let loss = OutputLoss { kind, x, y, fixed, start, penalty }.prepared().unwrap();
                let a: Vec<f64> = (0..2 * q * p)
                    .map(|k| 0.2 * (1.7 * k as f64).sin() + if k < q * p && k / p == k % p { 1.0 } else { 0.0 })
                    .collect();
                let mut gradient = vec![0.0; a.len()];
                loss.value_and_gradient(&a, &mut gradient).unwrap();
                let largest = gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
                for k in 0..a.len() {
                    let at = |h: f64| {
                        let mut moved = a.clone();
                        moved[k] += h;
                        loss.value_and_gradient(&moved, &mut vec![0.0; a.len()]).unwrap()
                    };
                    let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                    let error = (difference - gradient[k]).abs() / largest;
                    assert!(error < 1e-7, "{kind:?} {p} -> {q}, {k}: {difference} against {}", gradient[k]);
                }
            }
        }
    }
}

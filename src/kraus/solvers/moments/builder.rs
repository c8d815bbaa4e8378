//! Accumulates moments from pieces of any size, in blocks of a fixed number of samples.

use super::{Basis, Moments};
use crate::error::{InputError, Result};
use crate::tolerances;
use linalg::{Real, gemm};
use ndarray::parallel::prelude::*;
use ndarray::{Array2, ArrayView2, ArrayView3, Axis, s};

/// Samples per product: large enough for the speed of a large GEMM.
pub const BLOCK: usize = 1024;
/// Rows of G or C that one task computes.
const TILE: usize = 256;

/// G <- G + X^T X, of which only tiles on and below the diagonal are computed.
pub(crate) fn add_gram(x: ArrayView2<'_, f64>, g: &mut Array2<f64>) {
    let tiles = g.axis_chunks_iter_mut(Axis(0), TILE).into_par_iter().enumerate();
    tiles.for_each(|(t, mut rows)| {
        let (from, to) = (t * TILE, t * TILE + rows.nrows());
        gemm(1.0, x.slice(s![.., from..to]).t(), x.slice(s![.., ..to]), 1.0, rows.slice_mut(s![.., ..to]));
    });
}

/// Accumulates [`Moments`] from pieces of any size.
#[derive(Debug, Clone)]
pub struct MomentsBuilder {
    done: Moments,
    x: Array2<f64>,
    y: Array2<f64>,
    pending: usize,
}

impl MomentsBuilder {
    /// Empty moments for p x p inputs and q x q outputs.
    pub fn new(p: usize, q: usize, basis: Basis) -> Self {
        let (nx, ny) = (basis.len(p), basis.len(q));
        let done = Moments { p, q, basis, l: 0, yy: 0.0, g: Array2::zeros((nx, nx)), c: Array2::zeros((ny, nx)) };
        Self { done, x: Array2::zeros((BLOCK, nx)), y: Array2::zeros((BLOCK, ny)), pending: 0 }
    }

    /// Adds samples X (n, p, p), Y (n, q, q). Refuses wrong shapes, NaN, and asymmetric X in the symmetric basis.
    pub fn update<T: Real>(&mut self, x: ArrayView3<'_, T>, y: ArrayView3<'_, T>) -> Result<()> {
        let (n, p, q) = (x.dim().0, self.done.p, self.done.q);
        for (what, got, expected) in [("X", x.shape(), [n, p, p]), ("Y", y.shape(), [n, q, q])] {
            if got != expected {
                return Err(InputError::shape(what, expected, got).into());
            }
        }
        let basis = self.done.basis;
        let tolerance = tolerances::promised_symmetric::<T>();
        for s in 0..n {
            let index = self.done.l;
            let (xs, ys) = (x.index_axis(Axis(0), s), y.index_axis(Axis(0), s));
            for (what, a) in [("X", xs), ("Y", ys)] {
                if a.iter().any(|v| !num_traits::Float::is_finite(*v)) {
                    return Err(InputError::not_finite(what, index).into());
                }
            }
            if basis == Basis::Symmetric && !linalg::is_symmetric(xs, tolerance) {
                return Err(InputError::not_symmetric("X", index).into());
            }
            let row = self.pending;
            // Both buffers are in standard layout, so a row is a slice.
            basis.pack(xs, self.x.row_mut(row).into_slice().expect("standard layout"));
            basis.pack(ys, self.y.row_mut(row).into_slice().expect("standard layout"));
            self.done.yy += ys.iter().map(|v| v.as_f64() * v.as_f64()).sum::<f64>();
            self.done.l += 1;
            self.pending += 1;
            if self.pending == BLOCK {
                self.flush();
            }
        }
        Ok(())
    }

    /// Adds the products of the gathered rows.
    fn flush(&mut self) {
        let (x, y) = (self.x.slice(s![..self.pending, ..]), self.y.slice(s![..self.pending, ..]));
        add_gram(x, &mut self.done.g);
        let tiles = self.done.c.axis_chunks_iter_mut(Axis(0), TILE).into_par_iter().enumerate();
        tiles.for_each(|(t, rows)| {
            let (from, to) = (t * TILE, t * TILE + rows.nrows());
            gemm(1.0, y.slice(s![.., from..to]).t(), x, 1.0, rows);
        });
        self.pending = 0;
    }

    /// The moments of all samples given so far. Refuses an empty set.
    pub fn finish(mut self) -> Result<Moments> {
        if self.done.l == 0 {
            return Err(InputError::empty("samples").into());
        }
        self.flush();
        let mut done = self.done;
        for i in 0..done.g.nrows() {
            for j in 0..i {
                done.g[[j, i]] = done.g[[i, j]];
            }
        }
        Ok(done)
    }
}

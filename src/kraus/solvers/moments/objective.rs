//! Mean square error of a Kraus map and its gradient from the moments alone, at a cost that does not depend on l.
//!
//! Row (a, c) of the coefficient matrix M of Phi holds K_ac = B_a B_c^T, where B_a (p, r) has the a-th rows of the
//! operators as columns: Phi(X)_ac = <K_ac, X>. With N = l q^2, f = (yy - 2 <M, C> + <M, M G>) / N and dF/dM = 2 (M G - C) / N.
//! Where the data determine the least squares map M* the same function is computed as
//! f = (rss + <D, D G>) / N, D = M - M*: it has no cancellation, so it resolves far below the 1e-12 (relative to yy) of the
//! plain form.

use super::{Basis, LeastSquares, Moments, OFF_DIAGONAL};
use linalg::{Real, gemm};
use ndarray::parallel::prelude::*;
use ndarray::{Array2, ArrayView2, Axis, s};
use std::f64::consts::FRAC_1_SQRT_2;

/// Columns of G that one task multiplies by M. G is by far the larger of the two, and each task reads its columns once.
const TILE: usize = 256;

/// The square loss of Kraus maps of one rank as a function of their operators.
#[derive(Debug)]
pub struct MomentObjective<'a> {
    moments: &'a Moments,
    centre: Option<&'a LeastSquares>,
    rank: usize,
    m: Array2<f64>,
    mg: Array2<f64>,
    single: Option<Single>,
}

/// G, M and M G in single precision.
#[derive(Debug)]
struct Single {
    g: Array2<f32>,
    m: Array2<f32>,
    mg: Array2<f32>,
}

impl<'a> MomentObjective<'a> {
    /// For rank r; `centre` is the least squares map where there is one ([`Moments::least_squares`]).
    pub fn new(moments: &'a Moments, centre: Option<&'a LeastSquares>, rank: usize) -> Self {
        let shape = moments.c.dim();
        Self { moments, centre, rank, m: Array2::zeros(shape), mg: Array2::zeros(shape), single: None }
    }

    /// Takes the product M G in single precision, twice as fast: loss and gradient are then known to about six digits.
    pub fn in_single(mut self) -> Self {
        let zeros = || Array2::zeros(self.m.dim());
        self.single = Some(Single { g: self.moments.g.mapv(|v| v as f32), m: zeros(), mg: zeros() });
        self
    }

    /// FLOPs of one evaluation: M G dominates.
    pub fn flops(p: usize, q: usize, rank: usize, basis: Basis) -> f64 {
        let (nx, ny) = (basis.len(p) as f64, basis.len(q) as f64);
        2.0 * ny * nx * nx + 4.0 * ((p * q) as f64).powi(2) * rank as f64
    }

    /// f and its gradient at operators in the order (k, a, i).
    pub fn evaluate(&mut self, ops: &[f64], gradient: &mut [f64]) -> f64 {
        let (p, q, r) = (self.moments.p, self.moments.q, self.rank);
        // The caller keeps r q p parameters; anything else is a programming error.
        let ops = ArrayView2::from_shape((r, q * p), ops).expect("r q p operators");
        self.lift(ops);
        if let Some(ls) = self.centre {
            self.m -= &ls.coefficients;
        }
        match &mut self.single {
            None => times(&self.m, &self.moments.g, &mut self.mg),
            Some(single) => {
                single.m.zip_mut_with(&self.m, |to, v| *to = *v as f32);
                times(&single.m, &single.g, &mut single.mg);
                self.mg.zip_mut_with(&single.mg, |to, v| *to = f64::from(*v));
            }
        }
        let m = &self.m;
        let dot = |a: &Array2<f64>, b: &Array2<f64>| -> f64 {
            a.rows().into_iter().zip(b.rows()).map(|(a, b)| a.dot(&b)).sum()
        };
        let n = (self.moments.l * q * q) as f64;
        let value = match self.centre {
            Some(ls) => ls.rss + dot(m, &self.mg),
            None => {
                let value = self.moments.yy - 2.0 * dot(m, &self.moments.c) + dot(m, &self.mg);
                self.mg -= &self.moments.c;
                value
            }
        };
        self.pull(ops, 2.0 / n, gradient);
        value / n
    }

    /// The coefficient matrix of the map, into `m`.
    fn lift(&mut self, ops: ArrayView2<'_, f64>) {
        let (p, q, basis) = (self.moments.p, self.moments.q, self.moments.basis);
        let mut rest = self.m.view_mut();
        let mut parts = Vec::with_capacity(q);
        for a in 0..q {
            let rows = if basis == Basis::Symmetric { q - a } else { q };
            let (head, tail) = rest.split_at(Axis(0), rows);
            parts.push((a, head));
            rest = tail;
        }
        parts.into_par_iter().for_each(|(a, mut rows)| {
            let first = if basis == Basis::Symmetric { a } else { 0 };
            let mut k = Array2::zeros((p, (q - first) * p));
            gemm(1.0, ops.slice(s![.., a * p..(a + 1) * p]).t(), ops.slice(s![.., first * p..]), 0.0, k.view_mut());
            for (c, mut row) in (first..q).zip(rows.rows_mut()) {
                let block = k.slice(s![.., (c - first) * p..(c - first + 1) * p]);
                match basis {
                    Basis::Full => row.iter_mut().zip(&block).for_each(|(o, v)| *o = *v),
                    Basis::Symmetric => {
                        let scale = if a == c { 1.0 } else { OFF_DIAGONAL };
                        let pairs = (0..p).flat_map(|i| (i..p).map(move |j| (i, j)));
                        for (o, (i, j)) in row.iter_mut().zip(pairs) {
                            let v =
                                if i == j { block[[i, i]] } else { (block[[i, j]] + block[[j, i]]) * FRAC_1_SQRT_2 };
                            *o = scale * v;
                        }
                    }
                }
            }
        });
    }

    /// The gradient with respect to the operators from `mg` = dF/dM up to `scale`.
    ///
    /// B_a gets sum_c (H_ac + H_ca^T) B_c, where H_ac is the derivative with respect to K_ac.
    fn pull(&self, ops: ArrayView2<'_, f64>, scale: f64, gradient: &mut [f64]) {
        let (p, q, r, basis) = (self.moments.p, self.moments.q, self.rank, self.moments.basis);
        let parts: Vec<Array2<f64>> = (0..q)
            .into_par_iter()
            .map(|a| {
                let mut h = Array2::zeros((q * p, p));
                for c in 0..q {
                    let mut h = h.slice_mut(s![c * p..(c + 1) * p, ..]);
                    match basis {
                        Basis::Full => {
                            let (ac, ca) = (self.mg.row(a * q + c), self.mg.row(c * q + a));
                            for j in 0..p {
                                for i in 0..p {
                                    h[[j, i]] = ac[i * p + j] + ca[j * p + i];
                                }
                            }
                        }
                        Basis::Symmetric => {
                            let row = self.mg.row(pair(a.min(c), a.max(c), q));
                            let (diagonal, off) = if a == c { (2.0, OFF_DIAGONAL) } else { (OFF_DIAGONAL, 1.0) };
                            let pairs = (0..p).flat_map(|i| (i..p).map(move |j| (i, j)));
                            for (&w, (i, j)) in row.iter().zip(pairs) {
                                if i == j {
                                    h[[i, i]] = diagonal * w;
                                } else {
                                    h[[i, j]] = off * w;
                                    h[[j, i]] = off * w;
                                }
                            }
                        }
                    }
                }
                let mut part = Array2::zeros((r, p));
                gemm(scale, ops, h.view(), 0.0, part.view_mut());
                part
            })
            .collect();
        for (a, part) in parts.iter().enumerate() {
            for (k, row) in part.rows().into_iter().enumerate() {
                gradient[k * q * p + a * p..][..p].iter_mut().zip(row).for_each(|(g, v)| *g = *v);
            }
        }
    }
}

/// `mg` = M G, a range of columns per task.
fn times<T: Real>(m: &Array2<T>, g: &Array2<T>, mg: &mut Array2<T>) {
    let tiles = mg.axis_chunks_iter_mut(Axis(1), TILE).into_par_iter();
    let tiles = tiles.zip(g.axis_chunks_iter(Axis(1), TILE));
    tiles.for_each(|(out, columns)| gemm(T::of(1.0), m.view(), columns, T::of(0.0), out));
}

/// Row of the pair a <= c in svec order.
pub(crate) fn pair(a: usize, c: usize, q: usize) -> usize {
    a * q - a * a.saturating_sub(1) / 2 + c - a
}

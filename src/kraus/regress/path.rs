//! Completely positive maps with intercept along a path of ranks: Y ~ sum_k A_k X A_k^T + F F^T, penalty mu (sum_k ||A_k||^2 + ||F||^2).
//!
//! The sum of the squares of the operators is the trace of the Choi matrix, so mu is a trace penalty. Both sides are in coordinates where their
//! means are the identity. Rank r + 1 starts at the solution of rank r with one operator more, the direction in which the loss falls fastest (the leading
//! eigenvector of its gradient with respect to the Choi matrix), of the length that a line search gives: the path is smooth in the rank, and L-BFGS
//! has little left to do. An evaluation costs 4 ny nx l operations for the samples and 3 (q p)^2 r for the operators.

use super::families::Ask;
use super::layout::{Layout, half, svecs};
use super::whiten::Coordinates;
use crate::completion::spectral;
use crate::error::Result;
use crate::optimise::{Ending, Memory, MinimiseParams, minimise_watched};
use linalg::{eigh, gemm, matmul};
use ndarray::{Array1, Array2, Array3, ArrayView2, ArrayView3, Axis, s};

/// The data of a path: half-vectors in whitened coordinates, a column of ones last.
pub(super) struct Path {
    layout: Layout,
    input: Coordinates,
    output: Coordinates,
    a: Array2<f64>,
    b: Array2<f64>,
    /// What compressing the samples took off the loss.
    rest: f64,
    total: f64,
    penalty: f64,
    ops: Array2<f64>,
    f: Array2<f64>,
    /// Whether the last minimisation ended by itself, and its iterations.
    pub converged: bool,
    pub iterations: usize,
}

impl Path {
    /// None where a mean is not positive definite: there are no such coordinates then.
    pub fn new(x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>, penalty: f64) -> Result<Option<Self>> {
        let (Some(input), Some(output)) = (Coordinates::of(x, 0.5)?, Coordinates::of(y, 0.5)?) else {
            return Ok(None);
        };
        let (p, q, l) = (x.dim().1, y.dim().1, x.dim().0);
        let (sx, b) = (svecs(input.apply(x).view()), svecs(output.apply(y).view()));
        let mut a = Array2::ones((l, half(p) + 1));
        a.slice_mut(s![.., ..half(p)]).assign(&sx);
        let total = b.iter().map(|v| v * v).sum::<f64>().max(f64::MIN_POSITIVE);
        let (a, b, rest) = compress(a, b)?;
        // Half of the mean of Y as a start of the intercept: the rest is for the operators.
        let f = Array2::<f64>::eye(q) * 0.5f64.sqrt();
        let ops = Array2::zeros((0, p * q));
        let layout = Layout::new(p, q);
        Ok(Some(Self { layout, input, output, a, b, rest, total, penalty, ops, f, converged: true, iterations: 0 }))
    }

    /// Where the path stands, to come back to.
    pub fn state(&self) -> (Array2<f64>, Array2<f64>) {
        (self.ops.clone(), self.f.clone())
    }

    /// Goes back to a state, from there on with another penalty.
    pub fn restore(&mut self, state: &(Array2<f64>, Array2<f64>), penalty: f64) {
        ((self.ops, self.f), self.penalty) = (state.clone(), penalty);
    }

    fn parameters(&self) -> Vec<f64> {
        self.ops.iter().chain(&self.f).copied().collect()
    }

    /// f and its gradient: 1/2 ||a L^T - b||^2 / ||b||^2 plus the penalty.
    fn evaluate(&self, rank: usize, x: &[f64], gradient: &mut [f64]) -> f64 {
        let (n, q, nx) = (self.layout.p * self.layout.q, self.layout.q, half(self.layout.p));
        let (ops, f) = x.split_at(rank * n);
        // `minimise` keeps the number of parameters.
        let ops = ArrayView2::from_shape((rank, n), ops).expect("r q p parameters");
        let f = ArrayView2::from_shape((q, q), f).expect("q q parameters");
        let l = self.extended(ops, f);
        let mut r = spectral::product(self.a.view(), l.t());
        r -= &self.b;
        let loss = 0.5 * (r.iter().map(|v| v * v).sum::<f64>() + self.rest) / self.total;
        let mut g = spectral::product(r.t(), self.a.view());
        g /= self.total;
        let pulled = self.layout.pull_back(g.slice(s![.., ..nx]), ops);
        let (g_ops, g_f) = gradient.split_at_mut(rank * n);
        for ((out, own), w) in g_ops.iter_mut().zip(&pulled).zip(ops) {
            *out = 2.0 * own + 2.0 * self.penalty * w;
        }
        let side = linalg::smat(g.column(nx), q).expect("a half-vector of q x q");
        let mut g_f = ndarray::ArrayViewMut2::from_shape((q, q), g_f).expect("q q parameters");
        g_f.assign(&f);
        gemm(2.0, side.view(), f, 2.0 * self.penalty, g_f);
        loss + self.penalty * x.iter().map(|v| v * v).sum::<f64>()
    }

    /// L with svec(F F^T) as its last column.
    fn extended(&self, ops: ArrayView2<'_, f64>, f: ArrayView2<'_, f64>) -> Array2<f64> {
        let (nx, ny) = (half(self.layout.p), half(self.layout.q));
        let mut l = Array2::zeros((ny, nx + 1));
        if ops.nrows() > 0 {
            self.layout.of_operators(ops, l.slice_mut(s![.., ..nx]));
        }
        l.column_mut(nx).assign(&linalg::svec(matmul(f, f.t()).view()));
        l
    }

    /// Goes on to `rank` operators. `ask` is called after each iteration; its error ends the fit.
    pub fn to(&mut self, rank: usize, iterations: usize, tolerance: f64, ask: Ask<'_>) -> Result<()> {
        while self.ops.nrows() < rank {
            let more = (rank - self.ops.nrows()).min(self.ops.nrows().max(1));
            self.grow(more)?;
        }
        let params =
            MinimiseParams { memory: 15, max_iterations: iterations, f_tolerance: tolerance, ..Default::default() };
        let rank = self.ops.nrows();
        let mut answer = Ok(());
        let go_on = |_: &[f64], _: f64| {
            answer = ask();
            answer.is_ok()
        };
        let evaluate = |x: &[f64], g: &mut [f64]| self.evaluate(rank, x, g);
        let found = minimise_watched(evaluate, self.parameters(), &params, &mut Memory::default(), go_on);
        answer?;
        let (n, q) = (self.layout.p * self.layout.q, self.layout.q);
        self.ops = Array2::from_shape_vec((rank, n), found.x[..rank * n].to_vec()).expect("r q p parameters");
        self.f = Array2::from_shape_vec((q, q), found.x[rank * n..].to_vec()).expect("q q parameters");
        (self.converged, self.iterations) = (found.stop != Ending::Iterations, found.iterations);
        Ok(())
    }

    /// Adds operators along the directions of steepest descent in the Choi matrix.
    fn grow(&mut self, more: usize) -> Result<()> {
        let (nx, n) = (half(self.layout.p), self.layout.p * self.layout.q);
        let l = self.extended(self.ops.view(), self.f.view());
        let r = matmul(self.a.view(), l.t()) - &self.b;
        let g = matmul(r.t(), self.a.view());
        let descent = self.layout.spread(g.slice(s![.., ..nx])).mapv(|v| -v);
        let pairs = if n <= 128 {
            let e = eigh(descent.view())?;
            (e.values.slice(s![..;-1]).to_owned(), e.vectors.slice(s![.., ..;-1]).to_owned())
        } else {
            spectral::leading_pairs(descent.view(), more + 4, 6)?
        };
        let mut ops = Array2::zeros((self.ops.nrows() + more, n));
        ops.slice_mut(s![..self.ops.nrows(), ..]).assign(&self.ops);
        for k in 0..more {
            let v = pairs.1.column(k.min(pairs.1.ncols() - 1)).to_owned();
            let mut image = Array2::zeros((half(self.layout.q), nx));
            self.layout.of_operators(v.view().insert_axis(Axis(0)), image.view_mut());
            let moved = matmul(self.a.slice(s![.., ..nx]), image.t());
            let curvature = moved.iter().map(|v| v * v).sum::<f64>().max(f64::MIN_POSITIVE);
            // The least of the quadratic along this direction, shared among those that are added at once; never zero, which would stay zero.
            let step = (pairs.0[k.min(pairs.0.len() - 1)].max(0.0) / curvature / more as f64).max(1e-6);
            ops.row_mut(self.ops.nrows() + k).assign(&(v * step.sqrt()));
        }
        self.ops = ops;
        Ok(())
    }

    /// Operators (r, q, p) and intercept between matrices as given.
    pub fn model(&self) -> (Array3<f64>, Array2<f64>) {
        let (p, q) = (self.layout.p, self.layout.q);
        let mut ops = Array3::zeros((self.ops.nrows(), q, p));
        for (row, mut op) in self.ops.rows().into_iter().zip(ops.axis_iter_mut(Axis(0))) {
            let a = row.to_owned().into_shape_with_order((q, p)).expect("q p entries");
            op.assign(&matmul(matmul(self.output.back.view(), a.view()).view(), self.input.forward.view()));
        }
        let f = matmul(self.output.back.view(), self.f.view());
        (ops, matmul(f.view(), f.t()))
    }

    /// Half-vectors of the predictions for matrices as given.
    pub fn predict(&self, x: ArrayView3<'_, f64>) -> Array2<f64> {
        let l = self.extended(self.ops.view(), self.f.view());
        let mut a = Array2::ones((x.dim().0, half(self.layout.p) + 1));
        a.slice_mut(s![.., ..half(self.layout.p)]).assign(&svecs(self.input.apply(x).view()));
        let y = matmul(a.view(), l.t());
        let q = self.layout.q;
        let mut out = Array2::zeros(y.dim());
        for (row, mut to) in y.rows().into_iter().zip(out.rows_mut()) {
            let m = linalg::smat(row, q).expect("half-vectors of q x q");
            let back: Array2<f64> = matmul(matmul(self.output.back.view(), m.view()).view(), self.output.back.view());
            to.assign(&linalg::svec(back.view()));
        }
        out
    }
}

/// As few rows as columns where there are more: (R, Q^T b) with a = Q R has the same minimum; also returns what is lost of ||b||^2.
fn compress(a: Array2<f64>, b: Array2<f64>) -> Result<(Array2<f64>, Array2<f64>, f64)> {
    if a.nrows() <= a.ncols() {
        return Ok((a, b, 0.0));
    }
    let e = eigh(matmul(a.t(), a.view()).view())?;
    let top = e.values[e.values.len() - 1];
    let keep: Vec<usize> = (0..e.values.len()).filter(|i| e.values[*i] > 1e-13 * top).collect();
    let v = e.vectors.select(Axis(1), &keep);
    let root = Array1::from_iter(keep.iter().map(|i| e.values[*i].sqrt())).insert_axis(Axis(1));
    let cross = matmul(matmul(v.t(), a.t()).view(), b.view());
    let (small_a, small_b) = (&v.t() * &root, &cross / &root);
    let squares = |m: &Array2<f64>| m.iter().map(|v| v * v).sum::<f64>();
    let rest = (squares(&b) - squares(&small_b)).max(0.0);
    Ok((small_a, small_b, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_that_of_the_value() {
        let x = Array3::from_shape_fn((9, 3, 3), |(s, i, j)| {
            if i == j { 2.0 + ((s + i) as f64).sin() } else { 0.3 * ((s * (i + j)) as f64).cos() }
        });
        let y = Array3::from_shape_fn((9, 2, 2), |(s, i, j)| {
            if i == j { 3.0 + ((2 * s + i) as f64).cos() } else { 0.2 * (s as f64).sin() }
        });
        let mut path = Path::new(x.view(), y.view(), 0.01).unwrap().unwrap();
        path.grow(2).unwrap();
        let at: Vec<f64> = path.parameters().iter().enumerate().map(|(i, v)| v + 0.1 * (i as f64).sin()).collect();
        let (mut g, mut unused) = (vec![0.0; at.len()], vec![0.0; at.len()]);
        path.evaluate(2, &at, &mut g);
        for k in 0..at.len() {
            let mut side = |h: f64| {
                let mut x = at.clone();
                x[k] += h;
                path.evaluate(2, &x, &mut unused)
            };
            let numeric = (side(1e-6) - side(-1e-6)) / 2e-6;
            assert!((numeric - g[k]).abs() < 1e-7 * (1.0 + g[k].abs()), "{k}: {numeric} {}", g[k]);
        }
    }
}

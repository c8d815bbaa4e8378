//! Tensor-train network: one linear layer p^2 -> q^2 whose weights are a TT-matrix.
//!
//! With p1 p2 = m_1 ... m_d and q1 q2 = n_1 ... n_d, the weight from input (i_1 ... i_d) to output (j_1 ... j_d) is the
//! product of matrices G_1[i_1, j_1] G_2[i_2, j_2] ... G_d[i_d, j_d], G_k[i, j] of size r_(k-1) x r_k, r_0 = r_d = 1
//! (A. Novikov, D. Podoprikhin, A. Osokin, D. Vetrov, *Tensorizing neural networks*, NIPS 2015). Indices are split row
//! by row. When the products of the first half of the factors are p and q, the middle rank is the rank of W read as a matrix of
//! (row pairs) x (column pairs). So a map of Kraus rank r is a tensor train of middle rank r, and this network does well in table 2.
//! With two cores a step of Adam costs at most b r p q (2 p + 3 q) multiply-adds for batches of b; with more cores it computes W.

use super::format::Format;
use super::lanes::{self, Crossed, Dense, Layer, Sides};
use super::scratch::{Scratch, elements, elements_mut};
use super::training::{Training, train};
use crate::regressor::check_pair;
use crate::{Error, Fitted, Regressor, Result};
use linalg::{Real, gemm};
use ndarray::{Array2, ArrayView2, ArrayView3, ArrayViewMut2};

/// A tensor-train layer and how it is trained.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorTrain {
    /// Factors m_1 ... m_d of the number of input entries, e.g. `[4, 5, 4, 5]` for 20 x 20.
    pub inputs: Vec<usize>,
    /// Factors n_1 ... n_d of the number of output entries, e.g. `[2, 5, 2, 5]` for 10 x 10.
    pub outputs: Vec<usize>,
    /// Inner ranks r_1 ... r_(d-1).
    pub ranks: Vec<usize>,
    /// How it is trained.
    pub training: Training,
}

impl TensorTrain {
    /// Four cores for p x p inputs and q x q outputs: p = m_1 m_2 and q = n_1 n_2, split as evenly as possible, for each of the two sides.
    /// All ranks are `rank`, or the largest that is possible at their place.
    pub fn square(p: usize, q: usize, rank: usize, training: Training) -> Self {
        let even = |n: usize| {
            let small = (1..=n).take_while(|k| k * k <= n).filter(|&k| n.is_multiple_of(k)).last().unwrap_or(1);
            [small, n / small.max(1)]
        };
        let (m, n) = (even(p), even(q));
        let end = rank.min(m[0] * n[0]);
        let ranks = vec![end, rank.min(p * q), rank.min(m[1] * n[1])];
        TensorTrain { inputs: [m, m].concat(), outputs: [n, n].concat(), ranks, training }
    }

    /// Two cores, one per side of the matrices: W[(i, j), (k, l)] = sum over r of A_r[i, k] B_r[j, l]. It can represent every map of Kraus
    /// rank `rank`. [`square`](Self::square) splits each side again, and then needs larger outer ranks for the same map.
    pub fn by_sides(p: usize, q: usize, rank: usize, training: Training) -> Self {
        TensorTrain { inputs: vec![p, p], outputs: vec![q, q], ranks: vec![rank.min(p * q)], training }
    }

    pub(crate) fn format(&self) -> Result<TtFormat> {
        let d = self.inputs.len();
        if d == 0 || self.outputs.len() != d || self.ranks.len() + 1 != d {
            let why = format!(
                "d inputs, d outputs and d - 1 ranks are needed, got {d}, {}, {}",
                self.outputs.len(),
                self.ranks.len()
            );
            return Err(Error::parameter("inputs", why));
        }
        let all = self.inputs.iter().chain(&self.outputs).chain(&self.ranks);
        if all.clone().any(|&n| n == 0) {
            return Err(Error::parameter("ranks", "factors and ranks must be at least 1"));
        }
        let edge = |k: usize| if k == 0 || k == d { 1 } else { self.ranks[k - 1] };
        let cores = (0..d).map(|k| (edge(k), self.inputs[k], self.outputs[k], edge(k + 1))).collect();
        Ok(TtFormat::new(cores))
    }
}

impl Regressor for TensorTrain {
    fn name(&self) -> &'static str {
        "tensor-train NN"
    }

    fn check_parameters(&self) -> Result<()> {
        self.training.check()?;
        self.format().map(drop)
    }

    fn fit(&self, x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> Result<Fitted> {
        check_pair(x, y)?;
        let format = self.format()?;
        let entries =
            [("inputs", &self.inputs, x.dim().1 * x.dim().2), ("outputs", &self.outputs, y.dim().1 * y.dim().2)];
        for (name, factors, len) in entries {
            if factors.iter().product::<usize>() != len {
                return Err(Error::parameter(
                    name,
                    format!("the factors {factors:?} do not multiply to {len} entries"),
                ));
            }
        }
        train(&format, &self.training, x, y)
    }
}

/// Cores (r_left, m, n, r_right), stored one after the other, each row by row.
pub(crate) struct TtFormat {
    cores: Vec<(usize, usize, usize, usize)>,
    /// The product of the cores lists the entries of W in the order (i_1, j_1, i_2, j_2, ...). For each entry with j_d = 0, its index in
    /// W (row by row). The entries with j_d = 1, ..., n_d - 1 follow it in both orders: see [`TtFormat::run`].
    places: Vec<usize>,
    shape: (usize, usize),
}

impl TtFormat {
    fn new(cores: Vec<(usize, usize, usize, usize)>) -> Self {
        let rows: usize = cores.iter().map(|c| c.1).product();
        let cols: usize = cores.iter().map(|c| c.2).product();
        let mut pairs = vec![(0, 0)];
        for &(_, m, n, _) in &cores {
            let grow = |&(i, j): &(usize, usize)| (0..m * n).map(move |k| (i * m + k / n, j * n + k % n));
            pairs = pairs.iter().flat_map(grow).collect();
        }
        let run = cores.last().map_or(1, |c| c.2);
        let places = pairs.into_iter().step_by(run).map(|(i, j)| i * cols + j).collect();
        TtFormat { cores, places, shape: (rows, cols) }
    }

    fn core<'a>(&self, k: usize, theta: &'a [f64]) -> ArrayView2<'a, f64> {
        let size = |&(a, m, n, b): &(usize, usize, usize, usize)| a * m * n * b;
        let start: usize = self.cores[..k].iter().map(size).sum();
        let (a, m, n, b) = self.cores[k];
        let slice = &theta[start..start + size(&self.cores[k])];
        ArrayView2::from_shape((a, m * n * b), slice).expect("the slice has exactly this many elements")
    }

    /// The products of the first 0, 1, ..., d - 1 cores; that of k cores has shape (m_1 n_1 ... m_k n_k, r_k).
    fn partial(&self, theta: &[f64], scratch: &Scratch) -> Vec<Array2<f64>> {
        let mut left = vec![Array2::ones((1, 1))];
        for k in 0..self.cores.len() - 1 {
            left.push(reshape(scratch.product(left[k].view(), self.core(k, theta)), self.cores[k].3));
        }
        left
    }

    /// Number of consecutive entries of W that are also consecutive in the product of the cores.
    fn run(&self) -> usize {
        self.cores[self.cores.len() - 1].2
    }
}

/// The same elements, row by row, in a matrix of `cols` columns.
fn reshape(a: Array2<f64>, cols: usize) -> Array2<f64> {
    let rows = a.len() / cols;
    Array2::from_shape_vec((rows, cols), a.into_raw_vec_and_offset().0).expect("cols divides the number of elements")
}

impl TtFormat {
    /// The layer in either precision. Two cores are the general layer of partial trace regression; with more cores it computes W.
    pub(crate) fn layer_of<T: Real>(&self) -> Box<dyn Layer<T> + '_> {
        match self.cores[..] {
            [(_, m1, n1, rank), (_, m2, n2, _)] if lanes::pays_off([m1, m2], [n1, n2], rank) => {
                Box::new(Crossed::new([m1, m2], [n1, n2], rank))
            }
            [(_, m1, n1, rank), (_, m2, n2, _)] => Box::new(Sides::new([m1, m2], [n1, n2], rank)),
            _ => Box::new(Dense::new(self)),
        }
    }
}

impl Format for TtFormat {
    fn layer(&self) -> Box<dyn Layer<f32> + '_> {
        self.layer_of()
    }

    fn len(&self) -> usize {
        self.cores.iter().map(|&(a, m, n, b)| a * m * n * b).sum()
    }

    fn deviation(&self, weight: f64) -> f64 {
        // An entry of W is a sum of r_1 ... r_(d-1) products of d independent parameters.
        let paths: f64 = self.cores.iter().map(|c| c.3 as f64).product();
        linalg::math::pow(weight * weight / paths, 0.5 / self.cores.len() as f64)
    }

    fn dense(&self, theta: &[f64], scratch: &Scratch) -> Array2<f64> {
        let last = self.cores.len() - 1;
        let left = self.partial(theta, scratch);
        let flat = scratch.product(left[last].view(), self.core(last, theta));
        left.into_iter().skip(1).for_each(|a| scratch.give(a));
        let (mut w, run) = (scratch.take(self.shape), self.run());
        let to = elements_mut(&mut w);
        let runs = elements(&flat).chunks_exact(run).zip(&self.places);
        runs.for_each(|(from, &place)| to[place..][..run].copy_from_slice(from));
        scratch.give(flat);
        w
    }

    fn parameter_gradient(&self, theta: &[f64], dw: Array2<f64>, scratch: &Scratch, gradient: &mut [f64]) {
        let run = self.run();
        let left = self.partial(theta, scratch);
        let mut right = scratch.take((dw.len(), 1));
        let from = dw.as_standard_layout();
        let from = from.as_slice().expect("standard layout");
        let runs = elements_mut(&mut right).chunks_exact_mut(run).zip(&self.places);
        runs.for_each(|(to, &place)| to.copy_from_slice(&from[place..][..run]));
        scratch.give(dw);
        let mut end = gradient.len();
        for k in (0..self.cores.len()).rev() {
            let (a, m, n, b) = self.cores[k];
            let d = reshape(right, m * n * b);
            let start = end - a * m * n * b;
            let core = ArrayViewMut2::from_shape((a, m * n * b), &mut gradient[start..end]);
            gemm(1.0, left[k].t(), d.view(), 0.0, core.expect("the slice has exactly this many elements"));
            end = start;
            right = scratch.product(d.view(), self.core(k, theta).t());
            scratch.give(d);
        }
        left.into_iter().skip(1).chain([right]).for_each(|a| scratch.give(a));
    }
}

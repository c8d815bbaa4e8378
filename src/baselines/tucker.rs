//! Tucker network: a tensor regression layer whose weights (p1, p2, q1, q2) are in Tucker format.
//!
//! Y[k, l] = sum_ij X[i, j] W[i, j, k, l] + b[k, l] with W = S x1 U1 x2 U2 x3 U3 x4 U4, core S (R1, R2, R3, R4) and
//! factors U_k (n_k, R_k) (X. Cao and G. Rabusseau, *Tensor regression networks with various low-rank tensor
//! approximations*, arXiv 1712.09520, 2017). Cost per step O(b p^2 q^2 + p^2 q^2 max R) for batches of b.

use crate::network::{Format, Training, train};
use crate::regressor::check_pair;
use crate::{Error, Fitted, Regressor, Result};
use linalg::matmul;
use ndarray::{Array2, ArrayView2, ArrayView3};

/// A Tucker layer and how it is trained.
#[derive(Debug, Clone, PartialEq)]
pub struct Tucker {
    /// Ranks R1, R2 (inputs) and R3, R4 (outputs); more than a mode's length is cut to it.
    pub ranks: [usize; 4],
    /// How it is trained.
    pub training: Training,
}

impl Tucker {
    pub(crate) fn format(&self, sizes: [usize; 4]) -> Result<TuckerFormat> {
        if self.ranks.contains(&0) {
            return Err(Error::parameter("ranks", "must be at least 1"));
        }
        let ranks = std::array::from_fn(|k| self.ranks[k].min(sizes[k]));
        Ok(TuckerFormat { sizes, ranks })
    }
}

impl Regressor for Tucker {
    fn name(&self) -> &'static str {
        "Tucker NN"
    }

    fn fit(&self, x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> Result<Fitted> {
        check_pair(x, y)?;
        let format = self.format([x.dim().1, x.dim().2, y.dim().1, y.dim().2])?;
        train(&format, &self.training, x, y)
    }
}

/// Parameters: the core row by row, then U1, U2, U3, U4.
pub(crate) struct TuckerFormat {
    sizes: [usize; 4],
    ranks: [usize; 4],
}

/// The same elements, row by row, with this many rows.
fn with_rows(a: Array2<f64>, rows: usize) -> Array2<f64> {
    let cols = a.len() / rows;
    Array2::from_shape_vec((rows, cols), a.into_raw_vec_and_offset().0).expect("rows divides the number of elements")
}

impl TuckerFormat {
    fn core_len(&self) -> usize {
        self.ranks.iter().product()
    }

    fn factor<'a>(&self, k: usize, theta: &'a [f64]) -> ArrayView2<'a, f64> {
        let len = |k: usize| self.sizes[k] * self.ranks[k];
        let start = self.core_len() + (0..k).map(len).sum::<usize>();
        let view = ArrayView2::from_shape((self.sizes[k], self.ranks[k]), &theta[start..start + len(k)]);
        view.expect("the slice has exactly this many elements")
    }

    /// The core after 0, 1, 2, 3 and 4 mode products. Each product takes the first mode and puts it last, so four of
    /// them restore the order and nothing is ever permuted in memory. The k-th has shape (R_k, rest).
    fn stages(&self, theta: &[f64]) -> Vec<Array2<f64>> {
        let core = Array2::from_shape_fn((self.ranks[0], self.core_len() / self.ranks[0]), |(i, j)| {
            theta[i * (self.core_len() / self.ranks[0]) + j]
        });
        let mut stages = vec![core];
        for k in 0..4 {
            let product = matmul(stages[k].t(), self.factor(k, theta).t());
            let rows = if k < 3 { self.ranks[k + 1] } else { self.sizes[0] * self.sizes[1] };
            stages.push(with_rows(product, rows));
        }
        stages
    }
}

impl Format for TuckerFormat {
    fn len(&self) -> usize {
        self.core_len() + (0..4).map(|k| self.sizes[k] * self.ranks[k]).sum::<usize>()
    }

    fn deviation(&self, weight: f64) -> f64 {
        // An entry of W is a sum of R1 R2 R3 R4 products of five independent parameters.
        (weight * weight / self.core_len() as f64).powf(0.1)
    }

    fn dense(&self, theta: &[f64]) -> Array2<f64> {
        self.stages(theta).swap_remove(4)
    }

    fn pullback(&self, theta: &[f64], dw: ArrayView2<'_, f64>) -> Vec<f64> {
        let stages = self.stages(theta);
        let mut gradient = vec![0.0; self.len()];
        let mut end = gradient.len();
        // d is the gradient of the stage after mode k, as (rest, n_k).
        let mut d = with_rows(dw.to_owned(), dw.len() / self.sizes[3]);
        for k in (0..4).rev() {
            let factor = matmul(stages[k].view(), d.view());
            let len = factor.len();
            let slots = gradient[end - len..end].iter_mut();
            slots.zip(factor.t().iter()).for_each(|(g, &v)| *g = v);
            end -= len;
            let before = matmul(self.factor(k, theta).t(), d.t());
            let width = if k > 0 { self.sizes[k - 1] } else { 1 };
            d = with_rows(before, self.stage_len(k) / width);
        }
        gradient[..end].iter_mut().zip(d.iter()).for_each(|(g, &v)| *g = v);
        gradient
    }
}

impl TuckerFormat {
    /// Number of elements after k mode products.
    fn stage_len(&self, k: usize) -> usize {
        (0..4).map(|mode| if mode < k { self.sizes[mode] } else { self.ranks[mode] }).product()
    }
}

//! Tucker network: a tensor regression layer whose weights (p1, p2, q1, q2) are in Tucker format.
//!
//! Y[k, l] = sum_ij X[i, j] W[i, j, k, l] + b[k, l] with W = S x1 U1 x2 U2 x3 U3 x4 U4, core S (R1, R2, R3, R4) and
//! factors U_k (n_k, R_k) (X. Cao and G. Rabusseau, *Tensor regression networks with various low-rank tensor
//! approximations*, arXiv 1712.09520, 2017). Adam never forms W: a batch is contracted as
//! Y_b = U3 (S (U1^T X_b U2)) U4^T, at O(b (p^2 R + R^4 + q^2 R)) per step for batches of b.

use super::format::Format;
use super::lanes::{Layer, TuckerLanes};
use super::scratch::Scratch;
use super::training::{Training, train};
use crate::regressor::check_pair;
use crate::tucker_decomposition::{hooi, project, unfold};
use crate::{Error, Fitted, Regressor, Result};
use linalg::{Real, gemm};
use ndarray::{Array2, ArrayView2, ArrayView3, ArrayView4, ArrayViewMut2};

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

    fn check_parameters(&self) -> Result<()> {
        self.training.check()?;
        self.format([usize::MAX; 4]).map(drop)
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

/// A slice of the gradient as a matrix that can be written.
fn into(part: &mut [f64], shape: (usize, usize)) -> ArrayViewMut2<'_, f64> {
    ArrayViewMut2::from_shape(shape, part).expect("the slice has exactly this many elements")
}

impl TuckerFormat {
    fn core_len(&self) -> usize {
        self.ranks.iter().product()
    }

    fn core4<'a>(&self, theta: &'a [f64]) -> ArrayView4<'a, f64> {
        ArrayView4::from_shape(self.ranks, &theta[..self.core_len()]).expect("the slice has exactly this many elements")
    }

    fn factor<'a>(&self, k: usize, theta: &'a [f64]) -> ArrayView2<'a, f64> {
        let len = |k: usize| self.sizes[k] * self.ranks[k];
        let start = self.core_len() + (0..k).map(len).sum::<usize>();
        let view = ArrayView2::from_shape((self.sizes[k], self.ranks[k]), &theta[start..start + len(k)]);
        view.expect("the slice has exactly this many elements")
    }
}

impl TuckerFormat {
    /// The layer in either precision.
    pub(crate) fn layer_of<T: Real>(&self) -> Box<dyn Layer<T>> {
        Box::new(TuckerLanes::new(self.sizes, self.ranks))
    }
}

impl Format for TuckerFormat {
    fn len(&self) -> usize {
        self.core_len() + (0..4).map(|k| self.sizes[k] * self.ranks[k]).sum::<usize>()
    }

    fn deviation(&self, weight: f64) -> f64 {
        // An entry of W is a sum of R1 R2 R3 R4 products of five independent parameters.
        linalg::math::pow(weight * weight / self.core_len() as f64, 0.1)
    }

    fn dense(&self, theta: &[f64], _scratch: &Scratch) -> Array2<f64> {
        let w = (0..4).fold(self.core4(theta).to_owned(), |w, k| project(w.view(), k, self.factor(k, theta).t()));
        let [p1, p2, q1, q2] = self.sizes;
        w.into_shape_with_order((p1 * p2, q1 * q2)).expect("row-major and of as many elements")
    }

    /// dS = dW x1 U1^T ... x4 U4^T, and dU_k = (dW x U^T in all modes but k)_(k) S_(k)^T.
    fn parameter_gradient(&self, theta: &[f64], dw: Array2<f64>, scratch: &Scratch, gradient: &mut [f64]) {
        let whole = dw.as_standard_layout().into_shape_with_order(self.sizes);
        let whole = whole.expect("row-major and of as many elements");
        let on = |a: ArrayView4<'_, f64>, k: usize| project(a, k, self.factor(k, theta));
        let (outer, inner) = (on(on(whole.view(), 3).view(), 2), on(on(whole.view(), 0).view(), 1));
        let all_but_one = [on(outer.view(), 1), on(outer.view(), 0), on(inner.view(), 3), on(inner.view(), 2)];
        let (ds, mut rest) = gradient.split_at_mut(self.core_len());
        ds.iter_mut().zip(&on(all_but_one[0].view(), 0)).for_each(|(g, &v)| *g = v);
        let core = self.core4(theta);
        for (k, d) in all_but_one.iter().enumerate() {
            let (du, more) = rest.split_at_mut(self.sizes[k] * self.ranks[k]);
            let du = into(du, (self.sizes[k], self.ranks[k]));
            gemm(1.0, unfold(d.view(), k).view(), unfold(core, k).t(), 0.0, du);
            rest = more;
        }
        drop(whole);
        scratch.give(dw);
    }

    /// The parameters of the orthogonal Tucker decomposition of W. It is exact where the ranks are full.
    fn parameters_near(&self, w: Array2<f64>) -> Result<Option<Vec<f64>>> {
        let w = w.as_standard_layout().into_owned().into_shape_with_order(self.sizes);
        let w = w.expect("row-major and of as many elements");
        let u = hooi(w.view(), self.ranks)?;
        let core = u.iter().enumerate().fold(w, |w, (k, u)| project(w.view(), k, u.view()));
        Ok(Some(core.into_iter().chain(u.into_iter().flatten()).collect()))
    }

    fn layer(&self) -> Box<dyn Layer<f32> + '_> {
        self.layer_of()
    }
}

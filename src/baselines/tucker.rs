//! Tucker network: a tensor regression layer whose weights (p1, p2, q1, q2) are in Tucker format.
//!
//! Y[k, l] = sum_ij X[i, j] W[i, j, k, l] + b[k, l] with W = S x1 U1 x2 U2 x3 U3 x4 U4, core S (R1, R2, R3, R4) and
//! factors U_k (n_k, R_k) (X. Cao and G. Rabusseau, *Tensor regression networks with various low-rank tensor
//! approximations*, arXiv 1712.09520, 2017). W is never formed in training: a batch is contracted as
//! Y_b = U3 (S (U1^T X_b U2)) U4^T, at O(b (p^2 R + R^4 + q^2 R)) per step for batches of b.

use crate::hooi::{hooi, project, unfold};
use crate::network::{Format, Training, train};
use crate::regressor::check_pair;
use crate::{Error, Fitted, Regressor, Result};
use linalg::{gemm, matmul};
use ndarray::{Array2, Array3, Array4, ArrayView2, ArrayView3, ArrayView4, Axis};

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

/// What a batch of b samples passes through, sample by sample along the first axis.
struct Passed {
    /// X_b U2 (b, p1, R2).
    right: Array3<f64>,
    /// Z_b = U1^T X_b U2, as (b, R1 R2).
    z: Array2<f64>,
    /// H_b = S(Z_b) (b, R3, R4).
    h: Array3<f64>,
    /// H_b U4^T (b, R3, q2).
    left: Array3<f64>,
}

/// The same elements, row by row, in another shape.
fn fold(a: Array2<f64>, shape: (usize, usize, usize)) -> Array3<f64> {
    a.into_shape_with_order(shape).expect("row-major and of as many elements")
}

/// All samples' rows below each other.
fn stack(a: &Array3<f64>) -> ArrayView2<'_, f64> {
    let (b, rows, cols) = a.dim();
    a.view().into_shape_with_order((b * rows, cols)).expect("row-major and of as many elements")
}

/// One product per sample: A_b B_b as (b, rows, cols), where `left` and `right` give the operands.
fn each<'a>(
    shape: (usize, usize, usize),
    left: impl Fn(usize) -> ArrayView2<'a, f64>,
    right: impl Fn(usize) -> ArrayView2<'a, f64>,
) -> Array3<f64> {
    let mut out = Array3::zeros(shape);
    for (b, block) in out.outer_iter_mut().enumerate() {
        gemm(1.0, left(b), right(b), 0.0, block);
    }
    out
}

impl TuckerFormat {
    fn core_len(&self) -> usize {
        self.ranks.iter().product()
    }

    /// The core as (R1 R2, R3 R4).
    fn core<'a>(&self, theta: &'a [f64]) -> ArrayView2<'a, f64> {
        let shape = (self.ranks[0] * self.ranks[1], self.ranks[2] * self.ranks[3]);
        ArrayView2::from_shape(shape, &theta[..self.core_len()]).expect("the slice has exactly this many elements")
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

    fn pass(&self, theta: &[f64], x: ArrayView2<'_, f64>) -> Passed {
        let ([p1, p2, _, q2], [r1, r2, r3, r4]) = (self.sizes, self.ranks);
        let b = x.nrows();
        let x = x.as_standard_layout();
        let rows = x.view().into_shape_with_order((b * p1, p2)).expect("row-major and of as many elements");
        let right = fold(matmul(rows, self.factor(1, theta)), (b, p1, r2));
        let u1 = self.factor(0, theta);
        let z = each((b, r1, r2), |_| u1.reversed_axes(), |k| right.index_axis(Axis(0), k));
        let z = z.into_shape_with_order((b, r1 * r2)).expect("row-major and of as many elements");
        let h = fold(matmul(z.view(), self.core(theta)), (b, r3, r4));
        let left = fold(matmul(stack(&h), self.factor(3, theta).t()), (b, r3, q2));
        Passed { right, z, h, left }
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
        let w = (0..4).fold(self.core4(theta).to_owned(), |w, k| project(w.view(), k, self.factor(k, theta).t()));
        let [p1, p2, q1, q2] = self.sizes;
        w.into_shape_with_order((p1 * p2, q1 * q2)).expect("row-major and of as many elements")
    }

    /// dS = dW x1 U1^T ... x4 U4^T, and dU_k = (dW x U^T in all modes but k)_(k) S_(k)^T.
    fn pull(&self, theta: &[f64], dw: Array2<f64>) -> Vec<f64> {
        let dw = dw.as_standard_layout().into_owned().into_shape_with_order(self.sizes);
        let dw = dw.expect("row-major and of as many elements");
        let on = |a: &Array4<f64>, k: usize| project(a.view(), k, self.factor(k, theta));
        let (outer, inner) = (on(&on(&dw, 2), 3), on(&on(&dw, 0), 1));
        let but = [on(&outer, 1), on(&outer, 0), on(&inner, 3), on(&inner, 2)];
        let mut gradient: Vec<f64> = on(&but[0], 0).into_iter().collect();
        let core = self.core4(theta);
        for (k, d) in but.iter().enumerate() {
            gradient.extend(matmul(unfold(d.view(), k).view(), unfold(core, k).t()));
        }
        gradient
    }

    /// The orthogonal Tucker decomposition: W itself where the ranks are full.
    fn near(&self, w: Array2<f64>) -> Result<Option<Vec<f64>>> {
        let w = w.as_standard_layout().into_owned().into_shape_with_order(self.sizes);
        let w = w.expect("row-major and of as many elements");
        let u = hooi(w.view(), self.ranks)?;
        let core = u.iter().enumerate().fold(w, |w, (k, u)| project(w.view(), k, u.view()));
        Ok(Some(core.into_iter().chain(u.into_iter().flatten()).collect()))
    }

    fn contracts(&self) -> bool {
        true
    }

    fn forward(&self, theta: &[f64], x: ArrayView2<'_, f64>) -> Array2<f64> {
        let (b, [_, _, q1, q2]) = (x.nrows(), self.sizes);
        let (u3, left) = (self.factor(2, theta), self.pass(theta, x).left);
        let y = each((b, q1, q2), |_| u3, |k| left.index_axis(Axis(0), k));
        y.into_shape_with_order((b, q1 * q2)).expect("row-major and of as many elements")
    }

    fn backward(&self, theta: &[f64], x: ArrayView2<'_, f64>, dy: ArrayView2<'_, f64>) -> Vec<f64> {
        let ([p1, p2, q1, q2], [r1, r2, r3, r4]) = (self.sizes, self.ranks);
        let b = x.nrows();
        let Passed { right, z, h, left } = self.pass(theta, x);
        let (u1, u3) = (self.factor(0, theta), self.factor(2, theta));
        let e = fold(dy.as_standard_layout().into_owned(), (b, q1, q2));
        // Outputs: dU3 = sum E_b (H_b U4^T)^T, dU4 = sum E_b^T (U3 H_b), dH_b = U3^T E_b U4.
        let mut du3 = Array2::zeros((q1, r3));
        for k in 0..b {
            gemm(1.0, e.index_axis(Axis(0), k), left.index_axis(Axis(0), k).reversed_axes(), 1.0, du3.view_mut());
        }
        let u3h = each((b, q1, r4), |_| u3, |k| h.index_axis(Axis(0), k));
        let du4 = matmul(stack(&e).t(), stack(&u3h));
        let eu4 = fold(matmul(stack(&e), self.factor(3, theta)), (b, q1, r4));
        let dh = each((b, r3, r4), |_| u3.reversed_axes(), |k| eu4.index_axis(Axis(0), k));
        let dh = dh.into_shape_with_order((b, r3 * r4)).expect("row-major and of as many elements");
        // Core: dS = Z^T dH, dZ = dH S^T.
        let ds = matmul(z.t(), dh.view());
        let dz = fold(matmul(dh.view(), self.core(theta).t()), (b, r1, r2));
        // Inputs: dU1 = sum (X_b U2) dZ_b^T, dU2 = sum X_b^T (U1 dZ_b).
        let mut du1 = Array2::zeros((p1, r1));
        for k in 0..b {
            gemm(1.0, right.index_axis(Axis(0), k), dz.index_axis(Axis(0), k).reversed_axes(), 1.0, du1.view_mut());
        }
        let u1dz = each((b, p1, r2), |_| u1, |k| dz.index_axis(Axis(0), k));
        let x = x.as_standard_layout();
        let rows = x.view().into_shape_with_order((b * p1, p2)).expect("row-major and of as many elements");
        let du2 = matmul(rows.t(), stack(&u1dz));
        [ds, du1, du2, du3, du4].iter().flat_map(|part| part.iter().copied()).collect()
    }
}

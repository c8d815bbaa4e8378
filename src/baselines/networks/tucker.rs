//! Tucker network: a tensor regression layer whose weights (p1, p2, q1, q2) are in Tucker format.
//!
//! Y[k, l] = sum_ij X[i, j] W[i, j, k, l] + b[k, l] with W = S x1 U1 x2 U2 x3 U3 x4 U4, core S (R1, R2, R3, R4) and
//! factors U_k (n_k, R_k) (X. Cao and G. Rabusseau, *Tensor regression networks with various low-rank tensor
//! approximations*, arXiv 1712.09520, 2017). W is never formed in training: a batch is contracted as
//! Y_b = U3 (S (U1^T X_b U2)) U4^T, at O(b (p^2 R + R^4 + q^2 R)) per step for batches of b.

use super::format::{Format, Turn};
use super::scratch::Scratch;
use super::training::{Training, train};
use crate::regressor::check_pair;
use crate::tucker_decomposition::{hooi, project, unfold};
use crate::{Error, Fitted, Regressor, Result};
use linalg::{gemm, matmul};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, ArrayView4, ArrayViewMut2, Axis};

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

/// A part of the gradient as a matrix.
fn into(part: &mut [f64], shape: (usize, usize)) -> ArrayViewMut2<'_, f64> {
    ArrayViewMut2::from_shape(shape, part).expect("the slice has exactly this many elements")
}

/// out = sum over b of A_b B_b^T.
fn sum_of_products(mut out: ArrayViewMut2<'_, f64>, a: &Array3<f64>, b: &Array3<f64>) {
    out.fill(0.0);
    for (a, b) in a.outer_iter().zip(b.outer_iter()) {
        gemm(1.0, a, b.t(), 1.0, out.view_mut());
    }
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
        linalg::math::pow(weight * weight / self.core_len() as f64, 0.1)
    }

    fn dense(&self, theta: &[f64], _room: &Scratch) -> Array2<f64> {
        let w = (0..4).fold(self.core4(theta).to_owned(), |w, k| project(w.view(), k, self.factor(k, theta).t()));
        let [p1, p2, q1, q2] = self.sizes;
        w.into_shape_with_order((p1 * p2, q1 * q2)).expect("row-major and of as many elements")
    }

    /// dS = dW x1 U1^T ... x4 U4^T, and dU_k = (dW x U^T in all modes but k)_(k) S_(k)^T.
    fn pull(&self, theta: &[f64], dw: Array2<f64>, scratch: &Scratch, gradient: &mut [f64]) {
        let whole = dw.as_standard_layout().into_shape_with_order(self.sizes);
        let whole = whole.expect("row-major and of as many elements");
        let on = |a: ArrayView4<'_, f64>, k: usize| project(a, k, self.factor(k, theta));
        let (outer, inner) = (on(on(whole.view(), 3).view(), 2), on(on(whole.view(), 0).view(), 1));
        let but = [on(outer.view(), 1), on(outer.view(), 0), on(inner.view(), 3), on(inner.view(), 2)];
        let (ds, mut rest) = gradient.split_at_mut(self.core_len());
        ds.iter_mut().zip(&on(but[0].view(), 0)).for_each(|(g, &v)| *g = v);
        let core = self.core4(theta);
        for (k, d) in but.iter().enumerate() {
            let (du, more) = rest.split_at_mut(self.sizes[k] * self.ranks[k]);
            let du = into(du, (self.sizes[k], self.ranks[k]));
            gemm(1.0, unfold(d.view(), k).view(), unfold(core, k).t(), 0.0, du);
            rest = more;
        }
        drop(whole);
        scratch.give(dw);
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

    fn step(&self, theta: &[f64], x: ArrayView2<'_, f64>, turn: Turn<'_>, scratch: &Scratch, gradient: &mut [f64]) {
        let ([p1, p2, q1, q2], [r1, r2, r3, r4]) = (self.sizes, self.ranks);
        let b = x.nrows();
        let Passed { right, z, h, left } = self.pass(theta, x);
        let (u1, u3) = (self.factor(0, theta), self.factor(2, theta));
        let y = each((b, q1, q2), |_| u3, |k| left.index_axis(Axis(0), k));
        let mut e = y.into_shape_with_order((b, q1 * q2)).expect("row-major and of as many elements");
        turn(&mut e);
        let e = fold(e, (b, q1, q2));
        let (ds, rest) = gradient.split_at_mut(self.core_len());
        let (du1, rest) = rest.split_at_mut(p1 * r1);
        let (du2, rest) = rest.split_at_mut(p2 * r2);
        let (du3, du4) = rest.split_at_mut(q1 * r3);
        // Outputs: dU3 = sum E_b (H_b U4^T)^T, dU4 = sum E_b^T (U3 H_b), dH_b = U3^T E_b U4.
        sum_of_products(into(du3, (q1, r3)), &e, &left);
        let u3h = each((b, q1, r4), |_| u3, |k| h.index_axis(Axis(0), k));
        gemm(1.0, stack(&e).t(), stack(&u3h), 0.0, into(du4, (q2, r4)));
        let eu4 = fold(matmul(stack(&e), self.factor(3, theta)), (b, q1, r4));
        let dh = each((b, r3, r4), |_| u3.reversed_axes(), |k| eu4.index_axis(Axis(0), k));
        let dh = dh.into_shape_with_order((b, r3 * r4)).expect("row-major and of as many elements");
        // Core: dS = Z^T dH, dZ = dH S^T.
        gemm(1.0, z.t(), dh.view(), 0.0, into(ds, (r1 * r2, r3 * r4)));
        let dz = fold(matmul(dh.view(), self.core(theta).t()), (b, r1, r2));
        // Inputs: dU1 = sum (X_b U2) dZ_b^T, dU2 = sum X_b^T (U1 dZ_b).
        sum_of_products(into(du1, (p1, r1)), &right, &dz);
        let u1dz = each((b, p1, r2), |_| u1, |k| dz.index_axis(Axis(0), k));
        let x = x.as_standard_layout();
        let rows = x.view().into_shape_with_order((b * p1, p2)).expect("row-major and of as many elements");
        gemm(1.0, rows.t(), stack(&u1dz), 0.0, into(du2, (p2, r2)));
        scratch.give(e.into_shape_with_order((b, q1 * q2)).expect("row-major and of as many elements"));
    }
}

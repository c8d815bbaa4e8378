//! Data for the tests, as the paper's released generator makes them, and from each baseline's own model.
#![allow(dead_code)]

use ndarray::{Array2, Array3, Axis};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub fn normal(rng: &mut ChaCha8Rng, rows: usize, cols: usize) -> Array2<f64> {
    Array2::from_shape_simple_fn((rows, cols), || StandardNormal.sample(rng))
}

/// X = G^T G with G (p, p) standard normal, exactly symmetric.
pub fn wishart(rng: &mut ChaCha8Rng, l: usize, p: usize) -> Array3<f64> {
    let mut x = Array3::zeros((l, p, p));
    for mut m in x.outer_iter_mut() {
        let g = normal(rng, p, p);
        m.assign(&linalg::symmetrise(g.t().dot(&g).view()));
    }
    x
}

/// Kraus matrices N(0, 1) / max|A|, as released.
pub fn kraus(rng: &mut ChaCha8Rng, r: usize, q: usize, p: usize) -> Array3<f64> {
    let mut a = Array3::from_shape_simple_fn((r, q, p), || StandardNormal.sample(rng));
    let largest = a.iter().fold(0.0f64, |m, v: &f64| m.max(v.abs()));
    a.mapv_inplace(|v| v / largest);
    a
}

/// Y = sum_j A_j X A_j^T, exactly symmetric.
pub fn apply(a: &Array3<f64>, x: &Array3<f64>) -> Array3<f64> {
    let mut y = Array3::zeros((x.len_of(Axis(0)), a.dim().1, a.dim().1));
    for (m, mut out) in x.outer_iter().zip(y.outer_iter_mut()) {
        let mut sum = Array2::<f64>::zeros((a.dim().1, a.dim().1));
        for k in a.outer_iter() {
            sum += &k.dot(&m).dot(&k.t());
        }
        out.assign(&linalg::symmetrise(sum.view()));
    }
    y
}

/// Y plus sigma (E + E^T) / sqrt 2.
pub fn noisy(rng: &mut ChaCha8Rng, y: &Array3<f64>, sigma: f64) -> Array3<f64> {
    let mut out = y.clone();
    for mut m in out.outer_iter_mut() {
        let e = normal(rng, m.nrows(), m.ncols());
        m += &((&e + &e.t()) * (sigma * std::f64::consts::FRAC_1_SQRT_2));
    }
    out
}

pub fn mean_square(y: &Array3<f64>) -> f64 {
    y.iter().map(|v| v * v).sum::<f64>() / y.len() as f64
}

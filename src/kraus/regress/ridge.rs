//! Every linear map that keeps symmetry, with intercept and a squared penalty, in closed form: min ||Y - L x - b||^2 + alpha ||L'||_F^2.
//!
//! L' is the map in the coordinates of [`Coordinates`], so ||L'|| is the Frobenius norm of its Choi matrix there. With centred half-vectors
//! A = U diag(e)^(1/2) V^T (l x nx) the fitted values are U diag(e / (e + alpha)) U^T Y, and the error of leaving sample i out is its residual over
//! 1 - h_i: one decomposition gives that error for every alpha. The power t of the coordinates is chosen with alpha.
//!
//! Why the squared penalty and not the trace of the absolute Choi matrix: on session-to-session covariances (five subjects of BCI IV 2a, first split, t and
//! alpha as chosen here) the trace penalty at its best strength gave 0.079, 0.089, 0.085, 0.052, 0.089 against 0.079, 0.090, 0.085, 0.055, 0.092,
//! a difference that no validation on a hundred samples can see, for two hundred decompositions of the Choi matrix instead of one.

use super::layout::svecs;
use super::whiten::Coordinates;
use crate::error::Result;
use linalg::{eigh, gemm, matmul};
use ndarray::{Array1, Array2, ArrayView2, ArrayView3, Axis, Zip};

/// Powers of the mean that are tried.
const POWERS: [f64; 4] = [0.0, 0.25, 0.35, 0.5];
/// Penalties over the mean squared length of the centred half-vectors.
const PENALTIES: [f64; 17] =
    [1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 4e-2, 8e-2, 0.16, 0.32, 0.64, 2.5, 10.0];

/// The chosen coordinates and penalty.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// Power t.
    pub power: f64,
    /// alpha over the mean squared length.
    pub share: f64,
}

/// One sample set in some coordinates, decomposed.
struct Decomposed {
    mean_x: Array1<f64>,
    mean_y: Array1<f64>,
    /// Left vectors, (l, k).
    u: Array2<f64>,
    /// Squared singular values.
    e: Array1<f64>,
    /// U^T Y centred, (k, ny).
    uy: Array2<f64>,
    /// diag(e)^-1/2 U^T A = V^T, (k, nx).
    vt: Array2<f64>,
    scale: f64,
}

fn decompose(x: &Array2<f64>, y: &Array2<f64>) -> Result<Decomposed> {
    let (l, nx) = x.dim();
    let mean = |m: &Array2<f64>| m.sum_axis(Axis(0)) / l as f64;
    let (mean_x, mean_y) = (mean(x), mean(y));
    let (a, b) = (x - &mean_x, y - &mean_y);
    // The smaller of the two Gram matrices.
    let (u, e, vt) = if l <= nx {
        let d = eigh(matmul(a.view(), a.t()).view())?;
        let keep: Vec<usize> = (0..l).filter(|i| d.values[*i] > 1e-12 * d.values[l - 1].max(0.0)).collect();
        let (u, e) = (d.vectors.select(Axis(1), &keep), d.values.select(Axis(0), &keep));
        let vt = &matmul(u.t(), a.view()) / &e.mapv(f64::sqrt).insert_axis(Axis(1));
        (u, e, vt)
    } else {
        let d = eigh(matmul(a.t(), a.view()).view())?;
        let keep: Vec<usize> = (0..nx).filter(|i| d.values[*i] > 1e-12 * d.values[nx - 1].max(0.0)).collect();
        let (v, e) = (d.vectors.select(Axis(1), &keep), d.values.select(Axis(0), &keep));
        let u = &matmul(a.view(), v.view()) / &e.mapv(f64::sqrt);
        (u, e, v.reversed_axes())
    };
    let uy = matmul(u.t(), b.view());
    let scale = e.sum() / l as f64;
    Ok(Decomposed { mean_x, mean_y, u, e, uy, vt, scale })
}

/// The power and penalty with the least error of leaving one sample out; the error is that of Y as given. Lengths of the errors are added, not their
/// squares: among a hundred covariances a few are ten times larger than the others, and squares would let these few choose.
pub(super) fn choose(x: ArrayView3<'_, f64>, y: &Array2<f64>) -> Result<Setting> {
    let l = y.nrows();
    // Many samples need no fine choice, and each penalty costs a product with all of them.
    let (powers, step): (&[f64], usize) = if l > 600 { (&POWERS[2..], 2) } else { (&POWERS, 1) };
    let mut best = (f64::INFINITY, Setting { power: 0.0, share: PENALTIES[0] });
    for &power in powers.iter().chain((l > 600).then_some(&0.0)) {
        let Some(coordinates) = Coordinates::of(x, power)? else { continue };
        let d = decompose(&svecs(coordinates.apply(x).view()), y)?;
        let centred = y - &d.mean_y;
        let mut fitted = Array2::zeros(y.dim());
        for &share in PENALTIES.iter().step_by(step) {
            let shrink = d.e.mapv(|e| e / (e + share * d.scale));
            let scaled = &d.uy * &shrink.view().insert_axis(Axis(1));
            gemm(1.0, d.u.view(), scaled.view(), 0.0, fitted.view_mut());
            let mut sum = 0.0;
            for (i, row) in fitted.rows().into_iter().enumerate() {
                let h = 1.0 / l as f64 + Zip::from(d.u.row(i)).and(&shrink).fold(0.0, |s, u, w| s + u * u * w);
                let wrong: f64 = row.iter().zip(centred.row(i)).map(|(f, c)| (c - f).powi(2)).sum();
                sum += wrong.sqrt() / (1.0 - h).max(1e-9);
            }
            if sum < best.0 {
                best = (sum, Setting { power, share });
            }
        }
    }
    Ok(best.1)
}

/// The map with a given choice.
#[derive(Debug, Clone)]
pub(super) struct Ridge {
    /// Coordinates of X.
    pub coordinates: Coordinates,
    /// ny x nx, from half-vectors in these coordinates to half-vectors of Y as given.
    pub map: Array2<f64>,
    /// svec(B): Y = L x + b.
    pub intercept: Array1<f64>,
}

pub(super) fn fit(x: ArrayView3<'_, f64>, y: &Array2<f64>, choice: &Setting) -> Result<Ridge> {
    // A power that all samples allow can fail on a part of them; their own coordinates do then.
    let coordinates = match Coordinates::of(x, choice.power)? {
        Some(c) => c,
        None => Coordinates::of(x, 0.0)?.expect("power 0 is always defined"),
    };
    let d = decompose(&svecs(coordinates.apply(x).view()), y)?;
    let weights = d.e.mapv(|e| e.sqrt() / (e + choice.share * d.scale));
    let right = &d.vt * &weights.insert_axis(Axis(1));
    let map = matmul(d.uy.t(), right.view());
    let intercept = &d.mean_y - &map.dot(&d.mean_x);
    Ok(Ridge { coordinates, map, intercept })
}

impl Ridge {
    /// Half-vectors of the outputs.
    pub fn predict(&self, x: ArrayView3<'_, f64>) -> Array2<f64> {
        let x = svecs(self.coordinates.apply(x).view());
        let y: Array2<f64> = matmul(x.view(), self.map.t());
        y + &self.intercept
    }
}

/// ||a - b||^2.
pub(super) fn squares(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> f64 {
    a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum()
}

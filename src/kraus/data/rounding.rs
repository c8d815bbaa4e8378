//! Matrices that are symmetric up to rounding are made exactly so: else float32 data, or products summed in another order, would count as
//! asymmetric, and the faster solvers for symmetric data would not be used.

use ndarray::ArrayViewMut2;

/// How far from symmetric counts as rounding, relative to the largest entry, for data of four (`single`) or eight bytes.
pub fn rounding(single: bool) -> f64 {
    1e3 * if single { f64::from(f32::EPSILON) } else { f64::EPSILON }
}

/// Replaces a nearly symmetric matrix by its symmetric part; others stay as they are.
///
/// ```
/// let mut m = ndarray::array![[1.0, 2.0], [2.0 + 1e-15, 3.0]];
/// kraus::data::symmetrise_rounding(&mut m.view_mut(), kraus::data::rounding(false));
/// assert_eq!(m[[0, 1]], m[[1, 0]]);
/// ```
pub fn symmetrise_rounding(m: &mut ArrayViewMut2<'_, f64>, tolerance: f64) {
    let n = m.nrows();
    let scale = m.iter().fold(0.0f64, |s, v| s.max(v.abs()));
    let near = (0..n).all(|i| (0..i).all(|j| (m[[i, j]] - m[[j, i]]).abs() <= tolerance * scale));
    if near {
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (m[[i, j]] + m[[j, i]]);
                (m[[i, j]], m[[j, i]]) = (mean, mean);
            }
        }
    }
}

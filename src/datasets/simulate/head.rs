//! The cap and the head: the positions of the electrodes and what they measure of a source.

use std::f64::consts::PI;

use ndarray::{Array1, Array2};

/// The 22 EEG electrodes of BCI Competition IV 2a, in its order: name, angle from the vertex, azimuth (degrees;
/// 0 is the right ear, 90 the nose).
pub const MONTAGE: [(&str, f64, f64); 22] = [
    ("Fz", 45.0, 90.0),
    ("FC3", 45.0, 150.0),
    ("FC1", 31.0, 132.0),
    ("FCz", 22.5, 90.0),
    ("FC2", 31.0, 48.0),
    ("FC4", 45.0, 30.0),
    ("C5", 67.5, 180.0),
    ("C3", 45.0, 180.0),
    ("C1", 22.5, 180.0),
    ("Cz", 0.0, 0.0),
    ("C2", 22.5, 0.0),
    ("C4", 45.0, 0.0),
    ("C6", 67.5, 0.0),
    ("CP3", 45.0, 210.0),
    ("CP1", 31.0, 228.0),
    ("CPz", 22.5, 270.0),
    ("CP2", 31.0, 312.0),
    ("CP4", 45.0, 330.0),
    ("P1", 48.0, 248.0),
    ("Pz", 45.0, 270.0),
    ("P2", 48.0, 292.0),
    ("POz", 67.5, 270.0),
];

/// The three eye channels of the recordings.
pub const EOG: [&str; 3] = ["EOG-left", "EOG-central", "EOG-right"];

/// A point on the sphere of radius `r`.
pub(super) fn point(angle: f64, azimuth: f64, r: f64) -> [f64; 3] {
    use linalg::math::{cos, sin};
    let (a, z) = (angle * PI / 180.0, azimuth * PI / 180.0);
    [r * sin(a) * cos(z), r * sin(a) * sin(z), r * cos(a)]
}

/// The electrodes on the unit sphere (x right, y front, z up).
pub fn electrode_positions() -> Vec<[f64; 3]> {
    MONTAGE.iter().map(|(_, a, z)| point(*a, *z, 1.0)).collect()
}

pub(super) fn distance(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

/// What the cap measures of a radial dipole at `source`: the potential `n . (r - r0) / |r - r0|^3` minus three quarters of its average
/// over the cap, scaled so that the largest absolute value is 1.
pub(super) fn lead_field(source: &[f64; 3]) -> Array1<f64> {
    let length = distance(source, &[0.0; 3]);
    let mut v: Array1<f64> = electrode_positions()
        .iter()
        .map(|e| {
            let d = distance(e, source);
            let along: f64 = (0..3).map(|i| source[i] / length * (e[i] - source[i])).sum();
            along / (d * d * d)
        })
        .collect();
    let average = v.sum() / v.len() as f64;
    // A quarter of the average stays, because the reference of the recordings is an ear and not the average of the cap.
    v -= 0.75 * average;
    let largest = v.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    v / largest
}

/// What the cap measures of a blink: it falls with the distance from the eyes.
pub(super) fn blink_field() -> Array1<f64> {
    let eyes = point(100.0, 90.0, 1.0);
    electrode_positions().iter().map(|e| linalg::math::exp(-2.0 * distance(e, &eyes)) * 4.0).collect()
}

/// The rotation between near electrodes of the session shift: the exponential of the skew-symmetric matrix `skew`, by its power series.
pub(super) fn rotation(skew: &Array2<f64>) -> Array2<f64> {
    let n = skew.nrows();
    let mut term = Array2::<f64>::eye(n);
    let mut sum = Array2::<f64>::eye(n);
    // At the default shift the entries of the matrix are far below one, so 30 terms are enough for double precision.
    for k in 1..30 {
        term = linalg::matmul(term.view(), skew.view()) / k as f64;
        sum += &term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_seen_best_above_it() {
        let field = lead_field(&point(45.0, 180.0, 0.75));
        let best = (0..22).max_by(|a, b| field[*a].total_cmp(&field[*b])).unwrap();
        assert_eq!(MONTAGE[best].0, "C3");
    }

    #[test]
    fn the_rotation_is_orthogonal() {
        let a = Array2::from_shape_fn((5, 5), |(i, j)| (i as f64 - j as f64) * 0.1);
        let r = rotation(&a);
        let gram = r.dot(&r.t());
        assert!((&gram - &Array2::<f64>::eye(5)).iter().all(|x| x.abs() < 1e-12));
    }
}

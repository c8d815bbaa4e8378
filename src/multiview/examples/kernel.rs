//! Kernels of feature vectors: RBF for numbers, chi^2 for histograms. Both are positive semidefinite.
use multiview::{chi2_kernel, rbf_kernel};
use ndarray::array;

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let points = array![[0.0, 0.0], [0.1, 0.0], [3.0, 4.0]];
    let k = rbf_kernel(points.view(), Some(2.5))?; // without a bandwidth: the mean distance
    println!("rbf\n{k:.3}");
    assert!(k[[0, 1]] > 0.99 && (k[[0, 2]] - (-2.0f64).exp()).abs() < 1e-15); // distance 5: exp(-25 / 12.5)

    let histograms = array![[4.0, 1.0, 0.0], [3.0, 2.0, 0.0], [0.0, 1.0, 4.0]];
    let k = chi2_kernel(histograms.view(), None)?;
    println!("chi2\n{k:.3}");
    assert!(k[[0, 1]] > k[[0, 2]] && linalg::eigh(k.view())?.values[0] > 0.0);
    Ok(())
}

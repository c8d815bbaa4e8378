//! Look into a map: its Choi matrix, its true rank, whether it preserves the trace.
use kraus::KrausMap;
use ndarray::{Array2, array};

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Three operators of which the third repeats the first: the map needs two.
    let ops = array![[[0.6f64, 0.0], [0.0, 0.6]], [[0.0, 0.6], [0.8, 0.0]], [[0.8, 0.0], [0.0, 0.8]]];
    let map = KrausMap::new(ops)?;
    let (least, most) = map.choi().spectrum()?;
    println!("eigenvalues of the Choi matrix: {least:.3} to {most:.3}");
    println!("operators: {} given, {} needed", map.rank(), map.canonical()?.rank());
    assert!(map.choi().is_completely_positive(1e-12)? && map.canonical()?.rank() == 2);

    // tr Phi(X) = tr(S X) with S = Phi^*(I); the trace is preserved where S = I.
    let s = map.adjoint().apply(Array2::eye(2).view())?;
    println!("S = {s:.3}");
    assert!((s[[0, 0]] - 1.64).abs() < 1e-12 && (s[[1, 1]] - 1.36).abs() < 1e-12);
    Ok(())
}

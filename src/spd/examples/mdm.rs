//! Classify trials by the Riemannian mean of their class: `cargo run --release -p spd --example mdm`
use ndarray::Array3;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use spd::{Estimator, Labels, Mdm, MeanParams, Metric, covariances};

/// Trials of 4 channels; channel 0 is stronger in class 1, channel 1 in class 2.
pub fn trials(count: usize, seed: u64) -> (Array3<f64>, Vec<i64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let labels: Vec<i64> = (0..count as i64).map(|k| 1 + k % 2).collect();
    let signals = Array3::from_shape_fn((count, 4, 250), |(k, c, _)| {
        let noise: f64 = StandardNormal.sample(&mut rng);
        if c as i64 + 1 == labels[k] { 2.0 * noise } else { noise }
    });
    (signals, labels)
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ((train, labels), (test, truth)) = (trials(40, 1), trials(40, 2));
    let (train, test) = (covariances(train.view(), Estimator::Oas)?, covariances(test.view(), Estimator::Oas)?);
    let (labels, truth) = (Labels::new(&labels)?, Labels::new(&truth)?);
    let mdm = Mdm::fit(train.view(), &labels, Metric::AffineInvariant, &MeanParams::default().check()?)?;
    let accuracy = mdm.accuracy(test.view(), &truth)?;
    println!("accuracy {:.0} %", 100.0 * accuracy);
    assert!(accuracy > 0.95);
    Ok(())
}

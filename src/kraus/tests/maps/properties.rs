//! What must hold for every map: positivity, the equivalent forms, the adjoint, theorem 5.

use kraus::{KrausMap, Truncation, tr_m};
use ndarray::Array2;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn square(n: usize, seed: u64) -> Array2<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Array2::from_shape_simple_fn((n, n), || rng.random_range(-1.0..1.0))
}

fn close(a: &Array2<f64>, b: &Array2<f64>, tol: f64) -> bool {
    let size = a.iter().fold(1.0f64, |m, v| m.max(v.abs()));
    a.dim() == b.dim() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= tol * size)
}

fn dot(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn psd_in_psd_out(p in 1usize..6, q in 1usize..6, r in 1usize..5, seed in 0u64..1000) {
        let map = KrausMap::<f64>::glorot(r, q, p, seed).unwrap();
        let g = square(p, seed + 1);
        let y = map.apply(g.dot(&g.t()).view()).unwrap();
        prop_assert!(linalg::is_symmetric(y.view(), 1e-12));
        let least = linalg::eigh(y.view()).unwrap().values[0];
        prop_assert!(least >= -1e-12 * (1.0 + dot(&y, &y).sqrt()), "eigenvalue {least}");
    }

    #[test]
    fn kraus_to_choi_to_kraus_is_the_same_map(p in 1usize..5, q in 1usize..5, r in 1usize..5, seed in 0u64..1000) {
        let map = KrausMap::<f64>::glorot(r, q, p, seed).unwrap();
        let choi = map.choi();
        prop_assert!(choi.is_completely_positive(1e-10).unwrap());
        for keep in [Truncation::Rank(r.min(p * q)), Truncation::Above(1e-12)] {
            prop_assert!(choi.to_kraus(keep).unwrap().distance(&map).unwrap() < 1e-10);
        }
        let canonical = map.canonical().unwrap();
        prop_assert!(canonical.distance(&map).unwrap() < 1e-10 && canonical.rank() <= r.min(p * q));
        for j in 0..canonical.rank() {
            for k in 0..j {
                let (a, b) = (canonical.ops(), canonical.ops());
                let (a, b) = (a.index_axis(ndarray::Axis(0), j), b.index_axis(ndarray::Axis(0), k));
                prop_assert!(dot(&a.to_owned(), &b.to_owned()).abs() < 1e-10);
            }
        }
        let x = square(p, seed + 2);
        prop_assert!(close(&choi.apply(x.view()).unwrap(), &map.apply(x.view()).unwrap(), 1e-12));
    }

    #[test]
    fn stinespring_and_batches_equal_kraus(p in 1usize..6, q in 1usize..6, r in 1usize..5, seed in 0u64..1000) {
        let map = KrausMap::<f64>::glorot(r, q, p, seed).unwrap();
        let x = square(p, seed + 3);
        let y = map.apply(x.view()).unwrap();
        prop_assert!(close(&y, &map.apply_stinespring(x.view()).unwrap(), 1e-12));
        prop_assert_eq!(&KrausMap::from_stinespring(map.stinespring().view(), r).unwrap(), &map);
        let batch = map.apply_batch(x.insert_axis(ndarray::Axis(0)).view()).unwrap();
        prop_assert!(close(&y, &batch.index_axis(ndarray::Axis(0), 0).to_owned(), 1e-12));
    }

    #[test]
    fn partial_trace_is_a_kraus_map_and_the_trace_has_q_1(q in 1usize..5, m in 1usize..5, seed in 0u64..1000) {
        let x = square(q * m, seed);
        let by_map = KrausMap::<f64>::partial_trace(q, m).apply(x.view()).unwrap();
        prop_assert!(close(&by_map, &tr_m(x.view(), m).unwrap(), 1e-12));
        let trace = tr_m(x.view(), q * m).unwrap();
        prop_assert!((trace[[0, 0]] - x.diag().sum()).abs() < 1e-12);
    }

    #[test]
    fn adjoint_and_composition(p in 1usize..6, q in 1usize..6, r in 1usize..5, seed in 0u64..1000) {
        let map = KrausMap::<f64>::glorot(r, q, p, seed).unwrap();
        let (x, y) = (square(p, seed + 4), square(q, seed + 5));
        let (left, right) = (map.apply(x.view()).unwrap(), map.adjoint().apply(y.view()).unwrap());
        prop_assert!((dot(&left, &y) - dot(&x, &right)).abs() < 1e-12 * (1.0 + dot(&left, &left)));
        let second = KrausMap::<f64>::glorot(2, 3, q, seed + 6).unwrap();
        let both = second.compose(&map).unwrap().apply(x.view()).unwrap();
        prop_assert!(close(&both, &second.apply(left.view()).unwrap(), 1e-12));
    }

    /// Theorem 5: blocks of a PSD matrix are Phi(E_ij) of a completely positive map, and the other way round.
    #[test]
    fn psd_block_matrices_are_completely_positive_maps(p in 1usize..5, q in 1usize..4, seed in 0u64..1000) {
        let g = square(p * q, seed);
        let m = g.dot(&g.t());
        let choi = kraus::Choi::new(p, q, m.clone()).unwrap();
        let map = choi.to_kraus(Truncation::Above(1e-13)).unwrap();
        let pairs = (0..p * p).map(|n| (n / p, n % p)).collect::<Vec<_>>();
        for (&(i, j), predicted) in pairs.iter().zip(map.apply_units(&pairs).unwrap().outer_iter()) {
            prop_assert!(close(&choi.block(i, j).to_owned(), &predicted.to_owned(), 1e-10));
        }
        prop_assert!(close(&m, &map.choi().matrix().to_owned(), 1e-10));
        // A matrix with a negative eigenvalue is no completely positive map.
        let broken = kraus::Choi::new(p, q, &m - &(Array2::<f64>::eye(p * q) * (2.0 * m.diag().sum()))).unwrap();
        prop_assert!(!broken.is_completely_positive(1e-9).unwrap());
        prop_assert!(broken.to_kraus(Truncation::Above(1e-9)).is_err());
    }
}

#[test]
fn symmetric_inputs_do_not_tell_a_map_from_its_partial_transpose() {
    // X -> X + X^T halved agrees with the identity on symmetric matrices and differs elsewhere; both maps below give it.
    let map = KrausMap::<f64>::glorot(2, 3, 3, 1).unwrap();
    let swapped = kraus::Choi::new(3, 3, map.choi().symmetric_part().matrix().to_owned()).unwrap();
    let x = square(3, 2);
    let s = &x + &x.t();
    assert!(close(&map.apply(s.view()).unwrap(), &swapped.apply(s.view()).unwrap(), 1e-12));
    assert!(!close(&map.apply(x.view()).unwrap(), &swapped.apply(x.view()).unwrap(), 1e-3));
}

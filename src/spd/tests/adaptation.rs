//! The learned map between domains: properties on made-up domains. `adaptation_real` has the promise on real covariances.

use ndarray::{Array1, Array2, Array3, ArrayView3, Axis};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use spd::*;

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Matrices (k, n, n) of two classes around the identity, of moderate spread.
fn domain(k: usize, n: usize, seed: u64) -> (Array3<f64>, Labels) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let labels: Vec<i64> = (0..k).map(|i| 1 + (i % 2) as i64).collect();
    let mut x = Array3::zeros((k, n, n));
    for (mut m, label) in x.outer_iter_mut().zip(&labels) {
        let g = Array2::from_shape_simple_fn((n, 3 * n), || normal(&mut rng));
        m.assign(&(g.dot(&g.t()) / (3 * n) as f64));
        m[[(*label - 1) as usize, (*label - 1) as usize]] += 1.5;
    }
    (x, Labels::new(&labels).unwrap())
}

fn congruence(a: &Array2<f64>, x: &Array3<f64>) -> Array3<f64> {
    let mut out = Array3::zeros((x.dim().0, a.nrows(), a.nrows()));
    for (mut to, x) in out.outer_iter_mut().zip(x.outer_iter()) {
        let y = a.dot(&x).dot(&a.t());
        to.assign(&((&y + &y.t()) * 0.5));
    }
    out
}

fn mixing(n: usize, seed: u64) -> Array2<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Array2::from_shape_fn((n, n), |(i, j)| f64::from(u8::from(i == j)) + 0.2 * normal(&mut rng))
}

fn go(source: ArrayView3<'_, f64>, target: ArrayView3<'_, f64>, params: &AdaptParams) -> Adaptation {
    adapt(source, target, None, &CommonChannels::all(target.dim().1), params, &mut |_, _, _| true).unwrap()
}

#[test]
fn the_map_is_no_worse_than_recentring_on_held_out_pairs_and_the_same_for_any_number_of_threads() {
    let (source, _) = domain(40, 5, 1);
    let target = congruence(&mixing(5, 2), &domain(36, 5, 3).0);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| go(source.view(), target.view(), &AdaptParams::default()))
    };
    let (one, three) = (run(1), run(3));
    assert_eq!(one.map.map, three.map.map);
    let (start, learned) = one.map.held_out.unwrap();
    assert!(learned <= start && one.map.fell_back == (learned >= start), "{start} -> {learned}");
    let (before, after) = one.distances(target.view()).unwrap();
    assert!(after < before);
    let trained_on = one.surroundings().unwrap();
    assert_eq!(trained_on.outside(source.view()).unwrap(), 0);
    assert_eq!(trained_on.outside((&source * 100.0).view()).unwrap(), 40);
}

/// Held-out pairs that recentring maps exactly, while the others ask for twice as much: every step of the training makes the
/// held-out pairs worse, so the map is recentring, and says so.
#[test]
fn a_map_that_is_worse_on_held_out_pairs_is_recentring() {
    let (source, _) = domain(30, 4, 5);
    let (target, _) = domain(30, 4, 6);
    let params = MeanParams::default().check().unwrap();
    let recentring = Recentring::fit(source.view(), target.view(), &CommonChannels::all(4), &params).unwrap();
    let map = MapParams { rank: 1, penalty: 0.0, seed: 11, ..MapParams::default() };
    // The held-out pairs are the first fifth of an order by seed.
    let mut order: Vec<usize> = (0..30).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(map.seed));
    let mut images = recentring.apply(source.view()).unwrap();
    for &k in &order[6..] {
        images.index_axis_mut(Axis(0), k).mapv_inplace(|v| 2.0 * v);
    }
    let found = learn_map(source.view(), images.view(), &recentring, &map, &mut |_, _| true).unwrap();
    assert!(found.fell_back && found.iterations == 0);
    assert_eq!(&found.map, recentring.map());
    let (start, learned) = found.held_out.unwrap();
    assert!(start < 1e-12 && learned == start, "{start} {learned}");
    // Where all pairs ask for twice as much, the map learns it.
    images.assign(&(recentring.apply(source.view()).unwrap() * 2.0));
    let found = learn_map(source.view(), images.view(), &recentring, &map, &mut |_, _| true).unwrap();
    let (start, learned) = found.held_out.unwrap();
    assert!(!found.fell_back && learned < 1e-3 * start, "{start} {learned}");
}

#[test]
fn cancelling_stops_the_training() {
    let (source, _) = domain(20, 4, 1);
    let (target, _) = domain(20, 4, 2);
    let mut calls = 0;
    let stopped = adapt(
        source.view(),
        target.view(),
        None,
        &CommonChannels::all(4),
        &AdaptParams::default(),
        &mut |step, _, _| {
            calls += usize::from(step == Step::Training);
            calls < 3
        },
    );
    assert_eq!(stopped.map(|_| ()).unwrap_err(), Error::Cancelled);
}

/// 6 channels to 4 of them, and back: images are positive semidefinite, and the mean goes to the mean.
#[test]
fn domains_with_other_channels_share_some() {
    let (six, _) = domain(30, 6, 1);
    let keep = [0usize, 1, 3, 5];
    let (other, _) = domain(28, 6, 2);
    let four = Array3::from_shape_fn((28, 4, 4), |(k, i, j)| other[[k, keep[i], keep[j]]]);
    let pairs: Vec<(usize, usize)> = keep.iter().enumerate().map(|(to, &from)| (from, to)).collect();
    let back: Vec<(usize, usize)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
    let params = MeanParams::default().check().unwrap();
    for (source, target, pairs) in [(&six, &four, pairs), (&four, &six, back)] {
        let (p, q) = (source.dim().1, target.dim().1);
        let common = CommonChannels::new(pairs, p, q).unwrap();
        let recentring = Recentring::fit(source.view(), target.view(), &common, &params).unwrap();
        let found =
            adapt(source.view(), target.view(), None, &common, &AdaptParams::default(), &mut |_, _, _| true).unwrap();
        for images in [recentring.apply(source.view()).unwrap(), found.apply(source.view()).unwrap()] {
            assert_eq!(images.dim(), (source.dim().0, q, q));
            for m in images.outer_iter() {
                let values = linalg::eigh(m).unwrap().values;
                assert!(values[0] > 0.0, "{p} -> {q}: {values:?}");
            }
        }
        let centre = |x: ArrayView3<'_, f64>| mean(x, None, Metric::AffineInvariant, &params).unwrap().matrix;
        let mapped = centre(recentring.apply(source.view()).unwrap().view());
        let d = distance(mapped.view(), centre(target.view()).view(), Metric::AffineInvariant).unwrap();
        assert!(d < if p > q { 0.2 } else { 0.6 }, "{p} -> {q}: the mean goes {d} from the mean");
    }
    assert!(CommonChannels::new(vec![(0, 0), (0, 1)], 6, 4).is_err());
    assert!(CommonChannels::new(vec![(7, 0)], 6, 4).is_err());
    assert!(CommonChannels::new(vec![], 6, 4).is_err());
}

/// Labels and a small regularisation underflowed with the advice to use a solver that was no option.
#[test]
fn labels_with_a_small_regularisation_go_through_the_log_domain() {
    let (source, labels) = domain(16, 3, 1);
    let target = congruence(&mixing(3, 4), &domain(14, 3, 2).0);
    let cost = pairwise_distances(source.view(), target.view(), Metric::AffineInvariant).unwrap().mapv(|d| d * d);
    let uniform = |n: usize| Array1::from_elem(n, 1.0 / n as f64);
    let params = SinkhornParams { regularisation: 1e-4, iterations: 300, tolerance: 0.0 }.check().unwrap();
    let group = GroupLasso { eta: 0.1, rounds: 5 };
    let (a, b) = (uniform(16), uniform(14));
    assert!(matches!(sinkhorn(cost.view(), a.view(), b.view(), &params), Err(Error::Underflow { .. })));
    let plan = sinkhorn_group_lasso(cost.view(), a.view(), b.view(), &labels, group, &params).unwrap();
    assert!(plan.log_domain && plan.plan.iter().all(|v| v.is_finite()));
    let rows = plan.plan.sum_axis(Axis(1));
    assert!(rows.iter().all(|v| (v - 1.0 / 16.0).abs() < 1e-3), "{rows}");
}

/// The regularisation is a share of the cost: distances in another unit give the same pairs.
#[test]
fn the_default_regularisation_has_no_unit() {
    let (source, _) = domain(20, 4, 1);
    let target = congruence(&mixing(4, 9), &domain(20, 4, 2).0);
    let params = AdaptParams::default();
    let found = go(source.view(), target.view(), &params);
    let share = found.pairs.regularisation / found.pairs.median_cost;
    assert!((share - 0.05).abs() < 1e-12, "{share}");
}

#[test]
fn the_rank_is_chosen_by_held_out_pairs() {
    let (source, _) = domain(24, 3, 1);
    let target = congruence(&mixing(3, 9), &domain(24, 3, 2).0);
    let map =
        MapChoice::Recentred(MapParams { iterations: 15, ..MapParams::default() }, RankChoice::Auto(vec![1, 2, 4]));
    let found = go(source.view(), target.view(), &AdaptParams { map, ..AdaptParams::default() });
    assert_eq!(found.ranks.iter().map(|r| r.0).collect::<Vec<_>>(), [1, 2, 4]);
    let best = found.ranks.iter().fold((0, f64::INFINITY), |a, b| if b.1 < a.1 { *b } else { a });
    assert_eq!(found.rank, best.0);
}

/// The filter keeps the trace and the identity in whitened coordinates, finds the direction that tells the classes apart, and is the
/// identity where labels say nothing.
#[test]
fn the_class_filter_keeps_what_tells_the_classes_apart() {
    let (x, labels) = domain(60, 6, 3);
    let params = MeanParams::default().check().unwrap();
    let centre = mean(x.view(), None, Metric::AffineInvariant, &params).unwrap().matrix;
    let found = class_filter(x.view(), &labels, centre.view(), &FilterParams::default()).unwrap();
    assert_eq!(found.kept, Some(2), "{:?} {:?}", found.recentring, found.tried);
    assert_eq!(found.map.operators().dim(), (5, 6, 6));
    let fixed = found.map.apply(centre.view().insert_axis(Axis(0))).unwrap();
    assert!((&fixed.index_axis(Axis(0), 0) - &centre).iter().all(|e| e.abs() < 1e-12), "the mean moves");
    // tr(M^-1 F(X)) = tr(M^-1 X).
    let whiten = invsqrtm(centre.view().insert_axis(Axis(0))).unwrap();
    let inverse = whiten.index_axis(Axis(0), 0).dot(&whiten.index_axis(Axis(0), 0));
    let images = found.map.apply(x.view()).unwrap();
    for (a, b) in images.outer_iter().zip(x.outer_iter()) {
        assert!(((&inverse * &a).sum() - (&inverse * &b).sum()).abs() < 1e-12);
    }
    // The class means stay as far apart as they were, to a tenth.
    let apart = |x: &Array3<f64>| {
        let mdm = Mdm::fit(x.view(), &labels, Metric::AffineInvariant, &params).unwrap();
        distance(mdm.means()[0].matrix.view(), mdm.means()[1].matrix.view(), Metric::AffineInvariant).unwrap()
    };
    assert!(apart(&images) > 0.9 * apart(&x), "{} {}", apart(&images), apart(&x));
    // Fewer matrices of a class than folds: no evidence, so recentring.
    let six = labels.select(&[0, 1, 2, 3, 4, 5]).unwrap();
    let few = class_filter(x.slice(ndarray::s![..6, .., ..]), &six, centre.view(), &FilterParams::default());
    assert_eq!(few.unwrap().kept, None);
    assert!(class_filter(x.view(), &six, centre.view(), &FilterParams::default()).is_err());
}

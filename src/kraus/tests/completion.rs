//! Completion: theorem 5 end to end, low-rank matrices with holes, rows nobody saw, and the choice of the model.

use kraus::completion::{
    CompletionParams, HoldOut, Partial, assemble, blocks, candidates, choose, complete, complete_with,
};
use kraus::{AdamParams, Gamma, KrausMap, LbfgsParams, Mask};
use linalg::matmul;
use ndarray::{Array2, Ix2, s};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

fn low_rank(n: usize, rank: usize, seed: u64) -> Array2<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let w = Array2::from_shape_simple_fn((n, rank), || rng.sample::<f64, _>(StandardNormal));
    matmul(w.view(), w.t())
}

/// A symmetric mask with about that share of missing entries, entry by entry or block by block.
fn holes(n: usize, q: usize, share: f64, seed: u64) -> Mask<Ix2> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut mask = Array2::from_elem((n, n), true);
    for i in 0..n / q {
        for j in 0..=i {
            if rng.random::<f64>() < share {
                mask.slice_mut(s![i * q..(i + 1) * q, j * q..(j + 1) * q]).fill(false);
                mask.slice_mut(s![j * q..(j + 1) * q, i * q..(i + 1) * q]).fill(false);
            }
        }
    }
    Mask::new(mask)
}

/// Everything is observed but these rows and their columns.
fn without_rows(n: usize, rows: &[usize]) -> Mask<Ix2> {
    Mask::new(Array2::from_shape_fn((n, n), |(i, j)| !rows.contains(&i) && !rows.contains(&j)))
}

fn error_on_missing(truth: &Array2<f64>, done: &Array2<f64>, mask: &Mask<Ix2>) -> f64 {
    let (mut wrong, mut total) = (0.0, 0.0);
    for (at, _) in mask.flags().indexed_iter().filter(|(_, m)| !**m) {
        wrong += (truth[at] - done[at]).powi(2);
        total += truth[at].powi(2);
    }
    (wrong / total).sqrt()
}

#[test]
fn theorem_5_end_to_end() {
    for seed in 0..3 {
        // The Choi matrix of a random map of rank 4, 8 x 8 blocks of 5 x 5, a third of the blocks missing.
        let map = KrausMap::<f64>::glorot(4, 5, 8, seed).unwrap();
        let choi = map.choi().matrix().to_owned();
        let mask = holes(40, 5, 0.33, seed);
        let partial = Partial::new(choi.view(), &mask).unwrap();
        let params = CompletionParams { seed: 100 + seed, ..CompletionParams::single(8, 5, 4) };
        // Missing blocks make local minima; an exact fit ends the restarts.
        let solver = LbfgsParams { restarts: 10, ..LbfgsParams::default() };
        let done = complete(&partial, &params, &solver).unwrap();
        let error = error_on_missing(&choi, &done.matrix, &mask);
        println!("blocks, seed {seed}: {error:.1e} loss {:?} {:?}", done.history.loss.last(), done.history.notes);
        assert!(error < 1e-12, "{error:e}");
        // And back: the model found is the map (theorem 5, the other way).
        assert!(map.distance(&done.model.layers()[0]).unwrap() < 1e-5);
        assert!(done.is_psd());
    }
}

#[test]
fn rank_8_with_40_percent_missing() {
    let truth = low_rank(60, 8, 1);
    let mask = holes(60, 1, 0.4, 2);
    let partial = Partial::new(truth.view(), &mask).unwrap();
    let done = complete(&partial, &CompletionParams::single(10, 6, 8), &LbfgsParams::default()).unwrap();
    let error = error_on_missing(&truth, &done.matrix, &mask);
    println!("rank 8: {error:.1e} {:?}", done.history.notes);
    assert!(error < 1e-12, "{error:e}");
    for (at, _) in mask.flags().indexed_iter().filter(|(_, m)| **m) {
        assert_eq!(done.matrix[at].to_bits(), truth[at].to_bits());
    }
    assert!(done.is_psd() && done.empty_rows.is_empty());
}

#[test]
fn units_path_is_the_same_model() {
    let truth = low_rank(12, 2, 4);
    let mask = holes(12, 1, 0.2, 5);
    let partial = Partial::new(truth.view(), &mask).unwrap();
    let params = CompletionParams::single(4, 3, 2);
    let exact = complete(&partial, &params, &LbfgsParams::default()).unwrap();
    let units = complete_with::<f64>(&partial, &params, &LbfgsParams::default().check().unwrap()).unwrap();
    assert!((&exact.matrix - &units.matrix).iter().all(|e| e.abs() < 1e-6));
}

#[test]
fn two_maps_on_single_entries_are_the_same_model() {
    let truth = low_rank(12, 2, 4);
    let mask = holes(12, 1, 0.2, 5);
    let partial = Partial::new(truth.view(), &mask).unwrap();
    let params = CompletionParams { hidden: vec![3], ..CompletionParams::single(12, 1, 2) };
    let solver = |most| LbfgsParams { stopping: kraus::Stopping::after(most), ..LbfgsParams::default() };
    // One step from one start: the structured gradient is the one of matrix units up to the scale of the loss.
    let step = |done: &kraus::completion::Completion| {
        let start = kraus::Stack::<f64>::glorot(&params.architecture(), params.seed).unwrap();
        let moved = |l: usize| (&done.model.layers()[l].ops() - &start.layers()[l].ops()).into_raw_vec_and_offset().0;
        [moved(0), moved(1)].concat()
    };
    let (a, b) = (
        step(&complete(&partial, &params, &solver(1)).unwrap()),
        step(&complete_with::<f64>(&partial, &params, &solver(1).check().unwrap()).unwrap()),
    );
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let cosine = dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt();
    assert!((cosine - 1.0).abs() < 1e-12, "{cosine}");
    // The prediction has rank r min(r, h): two here, as the truth, so the seen entries determine the others.
    let done = complete(&partial, &CompletionParams { hidden: vec![1], ..params }, &solver(2000)).unwrap();
    let error = error_on_missing(&truth, &done.matrix, &mask);
    assert!(error < 1e-5, "{error:e}");
    let pairs: Vec<_> = (0..144).map(|k| (k / 12, k % 12)).collect();
    let again = assemble(done.model.apply_units(&pairs).unwrap().view(), 12, &pairs);
    assert!((&again - &done.prediction).iter().all(|e| e.abs() < 1e-12), "the stack predicts what was returned");
}

#[test]
fn a_row_nobody_saw_stays_where_it_started() {
    let truth = low_rank(12, 2, 3);
    let mask = without_rows(12, &[7]);
    let partial = Partial::new(truth.view(), &mask).unwrap();
    let params = CompletionParams::single(4, 3, 2);
    let done = complete(&partial, &params, &LbfgsParams::default()).unwrap();
    // M = W W^T with one row of W per row of M. Row 7 of W meets only missing entries, so no term of the loss contains it, its
    // gradient is exactly zero, and L-BFGS, whose steps are sums of gradients, never moves it.
    assert_eq!(done.empty_rows, vec![7]);
    let start = KrausMap::<f64>::glorot(2, 3, 4, params.seed).unwrap();
    // Row 7 = block row 2, row 1 inside the block: entries A_k[1, 2].
    for k in 0..2 {
        assert_eq!(done.model.layers()[0].ops()[[k, 1, 2]].to_bits(), start.ops()[[k, 1, 2]].to_bits());
        assert_ne!(done.model.layers()[0].ops()[[k, 0, 2]], start.ops()[[k, 0, 2]]);
    }
}

#[test]
fn depth_2_says_something_about_rows_nobody_saw() {
    // Blocks that repeat a pattern: what the second map learns from the others holds for the unseen rows too.
    let (p, q) = (6, 4);
    let inner = low_rank(q, q, 2);
    let outer = low_rank(p, 2, 3);
    let truth = Array2::from_shape_fn((p * q, p * q), |(i, j)| outer[[i / q, j / q]] * inner[[i % q, j % q]]);
    let mask = without_rows(p * q, &[5, 14]);
    let partial = Partial::new(truth.view(), &mask).unwrap();
    let solver = LbfgsParams { stopping: kraus::Stopping::after(400), ..LbfgsParams::default() };
    let one = complete(&partial, &CompletionParams::single(p, q, 8), &solver).unwrap();
    let two = complete(&partial, &CompletionParams::deep(p, q, 4, 2, Gamma::None), &solver).unwrap();
    let (one, two) = (error_on_missing(&truth, &one.matrix, &mask), error_on_missing(&truth, &two.matrix, &mask));
    println!("unseen rows: depth 1 {one:.2e}, depth 2 {two:.2e}");
    assert!(two < 0.01 * one, "{two:e} {one:e}");
}

#[test]
fn adam_completes_in_minibatches() {
    let truth = low_rank(20, 2, 4);
    let mask = holes(20, 1, 0.2, 5);
    let partial = Partial::new(truth.view(), &mask).unwrap();
    let adam = AdamParams { stopping: kraus::Stopping::after(400), batch: 4, rate: 1e-2, ..AdamParams::default() };
    let done = complete_with::<f32>(&partial, &CompletionParams::single(5, 4, 2), &adam.check().unwrap()).unwrap();
    let error = error_on_missing(&truth, &done.matrix, &mask);
    println!("adam: {error:.2e}");
    assert!(error < 2e-3, "{error:e}");
    assert_eq!(done.matrix, done.matrix.t());
}

#[test]
fn validation_finds_the_rank() {
    let truth = low_rank(40, 3, 6);
    let mask = holes(40, 1, 0.3, 7);
    let partial = Partial::new(truth.view(), &mask).unwrap();
    let list = candidates(40, &[1], &[], Gamma::None);
    let solver = LbfgsParams::default();
    let choice = choose(&partial, &list, &HoldOut::like(&partial, 0), |m, c| complete(m, c, &solver)).unwrap();
    assert_eq!(choice.params.rank, 3, "{:?}", choice.scores.iter().map(|(c, e)| (c.rank, *e)).collect::<Vec<_>>());
    assert!(choose(&partial, &[], &HoldOut::like(&partial, 0), |m, c| complete(m, c, &solver)).is_err());
    // A grid that does not fit is an error when it is the only candidate.
    let wrong = [CompletionParams::single(7, 3, 2)];
    assert!(choose(&partial, &wrong, &HoldOut::like(&partial, 0), |m, c| complete(m, c, &solver)).is_err());
}

#[test]
fn held_out_rows_where_rows_are_missing() {
    let truth = low_rank(10, 2, 3);
    let mask = without_rows(10, &[4]);
    let partial = Partial::new(truth.view(), &mask).unwrap();
    let hold_out = HoldOut::like(&partial, 1);
    assert!(hold_out.rows);
    let hidden = hold_out.draw(&partial).unwrap();
    let rest = partial.without(&hidden).unwrap();
    assert_eq!(rest.empty_rows().len(), 3); // row 4 and a fifth of the nine others
    assert!(HoldOut { share: 1.0, ..hold_out }.draw(&partial).is_err());
}

#[test]
fn rescaled_blocks_have_the_observed_range() {
    let truth = low_rank(12, 4, 8);
    let mask = holes(12, 1, 0.2, 9);
    let partial = Partial::new(truth.view(), &mask).unwrap();
    let params = CompletionParams { rescale: true, ..CompletionParams::single(4, 3, 2) };
    let done = complete(&partial, &params, &LbfgsParams::default()).unwrap();
    let pairs: Vec<_> = (0..16).map(|k| (k / 4, k % 4)).collect();
    let (values, masks) = (blocks(truth.view(), 3, &pairs), blocks(mask.flags(), 3, &pairs));
    assert_eq!(assemble(values.view(), 4, &pairs), truth);
    for ((v, m), b) in
        values.outer_iter().zip(masks.outer_iter()).zip(blocks(done.prediction.view(), 3, &pairs).outer_iter())
    {
        let seen: Vec<f64> = v.iter().zip(&m).filter(|(_, m)| **m).map(|(v, _)| *v).collect();
        let (lo, hi) = seen.iter().fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(*v), b.max(*v)));
        if hi > lo {
            let max = b.iter().fold(f64::MIN, |a, v| a.max(*v));
            assert!((max - hi).abs() < 1e-12 * hi.abs().max(1.0));
        }
    }
}

#[test]
fn refusals() {
    let m = Array2::<f64>::ones((6, 6));
    let one = without_rows(6, &[]);
    let partial = Partial::new(m.view(), &one).unwrap();
    let solver = LbfgsParams::default();
    assert!(complete(&partial, &CompletionParams::single(4, 2, 1), &solver).unwrap_err().to_string().contains("grid"));
    assert!(complete(&partial, &CompletionParams::single(3, 2, 0), &solver).is_err());
    let none = Mask::new(Array2::from_elem((6, 6), false));
    assert!(Partial::new(m.view(), &none).unwrap_err().to_string().contains("observed"));
    assert!(Mask::from_zeros_and_ones((&m * 0.5).view()).unwrap_err().to_string().contains("0.5"));
    assert!(Partial::new(m.slice(s![..5, ..]), &one).is_err());
    let mut skew = m.clone();
    skew[[1, 0]] = 2.0;
    assert!(Partial::new(skew.view(), &one).unwrap_err().to_string().contains("not symmetric"));
    // One-sided observations count for both sides.
    let half = Mask::new(Array2::from_shape_fn((6, 6), |at| at != (1, 0)));
    assert_eq!(Partial::new(skew.view(), &half).unwrap().values()[[1, 0]], 1.0);
    let mut bad = m.clone();
    bad[[2, 2]] = f64::INFINITY;
    assert!(Partial::new(bad.view(), &one).is_err());
}

#[test]
fn threads_change_no_bit() {
    let truth = low_rank(150, 3, 6);
    let mask = holes(150, 1, 0.3, 7);
    let partial = Partial::new(truth.view(), &mask).unwrap();
    let solver = LbfgsParams { stopping: kraus::Stopping::after(15), ..LbfgsParams::default() };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| complete(&partial, &CompletionParams::single(15, 10, 5), &solver).unwrap().matrix)
    };
    assert_eq!(on(1), on(3));
}

/// At every depth a completion has no moments: asking for them is refused, not ignored.
#[test]
fn moments_are_refused_at_every_depth() {
    let truth = low_rank(12, 2, 4);
    let mask = holes(12, 1, 0.2, 5);
    let partial = Partial::new(truth.view(), &mask).unwrap();
    let solver = LbfgsParams { source: kraus::LossSource::Moments, ..LbfgsParams::default() };
    for model in [
        CompletionParams::single(4, 3, 2),
        CompletionParams::single(12, 1, 2),
        CompletionParams::deep(4, 3, 2, 2, Gamma::None),
        CompletionParams::deep(12, 1, 2, 2, Gamma::None),
    ] {
        let wrong = complete(&partial, &model, &solver).unwrap_err().to_string();
        assert!(wrong.contains("moments describe"), "{wrong}");
    }
}

//! Moments: they are what they say, in any order of pieces and on any number of threads, and their gradient is right.

use kraus::simulate::{Recipe, Samples, Split};
use kraus::{Basis, KrausMap, MomentObjective, Moments, MomentsBuilder, Problem, Stack};
use ndarray::{Array3, s};

const RECIPE: Recipe = Recipe { p: 5, q: 3, rank: 2, noise: 0.3, seed: 5 };

/// Samples that are not symmetric, for the full basis.
fn general(l: usize) -> (Array3<f64>, Array3<f64>) {
    let f = |k: f64| {
        move |(s, i, j): (usize, usize, usize)| ((s * s * 13 + s * (i * 5 + j * 3) + i * i * 7 + j) as f64 * k).sin()
    };
    (Array3::from_shape_fn((l, 5, 5), f(0.7)), Array3::from_shape_fn((l, 3, 3), f(1.3)))
}

fn check(moments: &Moments, problem: &Problem<'_, f64>, centred: bool) {
    let map = KrausMap::<f64>::glorot(2, 3, 5, 9).unwrap();
    let ls = moments.least_squares().unwrap();
    let mut objective = MomentObjective::new(moments, centred.then_some(&ls), 2);
    let x = map.ops_slice().to_vec();
    let mut g = vec![0.0; x.len()];
    let f = objective.evaluate(&x, &mut g);
    let mse = Stack::from(map).mse(problem).unwrap();
    assert!((f - mse).abs() < 1e-11 * mse, "{f} {mse}");
    let scale = g.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let mut rough = vec![0.0; x.len()];
    let single = MomentObjective::new(moments, centred.then_some(&ls), 2).in_single().evaluate(&x, &mut rough);
    assert!(single != f && (single - f).abs() < 1e-5 * f, "{single} {f}");
    assert!(g.iter().zip(&rough).all(|(a, b)| (a - b).abs() < 1e-5 * scale));
    for i in 0..x.len() {
        let mut at = |h: f64| {
            let mut y = x.clone();
            y[i] += h;
            objective.evaluate(&y, &mut vec![0.0; x.len()])
        };
        let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
        assert!((difference - g[i]).abs() < 1e-6 * scale, "{i}: {difference} {}", g[i]);
    }
}

#[test]
fn value_and_gradient_in_both_bases() {
    let train: Samples<f64> = RECIPE.samples(Split::Train, 0..80);
    let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
    for basis in [Basis::Symmetric, Basis::Full] {
        if basis == Basis::Symmetric {
            let m = Moments::of(train.x.view(), train.y.view(), basis).unwrap();
            check(&m, &problem, true);
            check(&m, &problem, false);
        } else {
            let (x, y) = general(80);
            let m = Moments::of(x.view(), y.view(), basis).unwrap();
            check(&m, &Problem::matrices(x.view(), y.view()).unwrap(), true);
            check(&m, &Problem::matrices(x.view(), y.view()).unwrap(), false);
        }
    }
}

#[test]
fn skew_part_of_y_only_adds_a_constant() {
    let train: Samples<f64> = RECIPE.samples(Split::Train, 0..80);
    let (_, skew) = general(80);
    let y = &train.y + &skew;
    let problem = Problem::matrices(train.x.view(), y.view()).unwrap();
    check(&Moments::of(train.x.view(), y.view(), Basis::Symmetric).unwrap(), &problem, true);
}

#[test]
fn pieces_and_threads_change_no_bit() {
    let train: Samples<f64> = RECIPE.samples(Split::Train, 0..2500);
    let whole = Moments::of(train.x.view(), train.y.view(), Basis::Symmetric).unwrap();
    let mut builder = MomentsBuilder::new(5, 3, Basis::Symmetric);
    for (a, b) in [(0, 7), (7, 1500), (1500, 1501), (1501, 2500)] {
        builder.update(train.x.slice(s![a..b, .., ..]), train.y.slice(s![a..b, .., ..])).unwrap();
    }
    let pieces = builder.finish().unwrap();
    assert_eq!(whole.gram(), pieces.gram());
    assert_eq!(whole.cross(), pieces.cross());
    assert_eq!((whole.yy(), whole.samples()), (pieces.yy(), pieces.samples()));
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let three = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let on = |pool: &rayon::ThreadPool| {
        pool.install(|| {
            let m = Moments::of(train.x.view(), train.y.view(), Basis::Symmetric).unwrap();
            let map = KrausMap::<f64>::glorot(2, 3, 5, 9).unwrap();
            let mut g = vec![0.0; 30];
            let f = MomentObjective::new(&m, None, 2).evaluate(map.ops_slice(), &mut g);
            (m.gram().to_owned(), f, g)
        })
    };
    assert_eq!(on(&one), on(&three));
}

#[test]
fn refusals() {
    let (x, y) = general(40);
    let mut b = MomentsBuilder::new(5, 3, Basis::Symmetric);
    assert!(b.update(x.view(), y.view()).unwrap_err().to_string().contains("not symmetric"));
    let mut b = MomentsBuilder::new(4, 3, Basis::Full);
    assert!(b.update(x.view(), y.view()).unwrap_err().to_string().contains("expected shape [40, 4, 4]"));
    let mut bad = x.clone();
    bad[[3, 0, 0]] = f64::NAN;
    let mut b = MomentsBuilder::new(5, 3, Basis::Full);
    assert!(b.update(bad.view(), y.view()).unwrap_err().to_string().contains("element 3"));
    assert!(MomentsBuilder::new(5, 3, Basis::Full).finish().is_err());
}

/// 100 -> 40, rank 20, l = 10000 in blocks: `cargo test --release -p kraus --test moments -- --ignored --nocapture`.
#[test]
#[ignore = "half a minute of CPU"]
fn closed_form_at_the_large_size() {
    let recipe = Recipe { p: 100, q: 40, rank: 20, noise: 0.0, seed: 1 };
    let mut builder = MomentsBuilder::new(100, 40, Basis::Symmetric);
    let mut fitting = 0.0;
    for block in 0..10 {
        let train: Samples<f64> = recipe.samples(Split::Train, block * 1000..(block + 1) * 1000);
        let begun = cpu();
        builder.update(train.x.view(), train.y.view()).unwrap();
        fitting += cpu() - begun;
    }
    let begun = cpu();
    let map = kraus::closed_form(&builder.finish().unwrap(), 20).unwrap();
    println!("moments {fitting:.1} s, closed form {:.1} s CPU", cpu() - begun);
    let test: Samples<f64> = recipe.samples(Split::Test, 0..200);
    let e = map.apply_batch(test.x.view()).unwrap() - &test.clean;
    let square = |a: &Array3<f64>| a.iter().map(|v| v * v).sum::<f64>() / a.len() as f64;
    println!("MSE {:.2e} of E[Y^2] {:.2e}; {}", square(&e), square(&test.clean), peak());
    assert!(square(&e) < 1e-12 * square(&test.clean));
}

/// CPU seconds of this process, from the kernel; 0 where it does not say.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = after.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<f64>().ok()).sum();
    ticks / 100.0
}

fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|l| l.starts_with("VmHWM")).unwrap_or_default().to_owned()
}

#[test]
fn moments_of_parts_make_the_whole() {
    let recipe = kraus::simulate::Recipe { p: 4, q: 3, rank: 2, noise: 0.1, seed: 3 };
    let part = |range: std::ops::Range<usize>| {
        let s = recipe.samples::<f64>(kraus::simulate::Split::Train, range);
        Moments::of(s.x.view(), s.y.view(), Basis::Symmetric).unwrap()
    };
    let (whole, merged) = (part(0..90), Moments::merged(&[&part(0..40), &part(40..90)]).unwrap());
    assert_eq!(merged.samples(), 90);
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (1.0 + a.abs());
    assert!(whole.gram().iter().zip(merged.gram()).all(|(a, b)| close(*a, *b)));
    assert!(whole.cross().iter().zip(merged.cross()).all(|(a, b)| close(*a, *b)) && close(whole.yy(), merged.yy()));
    assert!(Moments::merged(&[]).is_err());
}

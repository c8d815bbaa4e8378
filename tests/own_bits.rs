//! `fit` and `complete` write the same bytes for any number of threads and at every instruction set.

mod common;
use common::folder::normal;
use common::{Finished, Project, SMALL};
use ndarray::{Array2, Array3};
use ndarray_npy::write_npy;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Pairs with noise, related by no completely positive map: both families are fitted.
fn pairs(p: &Project) {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut x = Array3::zeros((60, 6, 6));
    for mut m in x.outer_iter_mut() {
        let g = Array2::from_shape_simple_fn((6, 18), || normal(&mut rng));
        m.assign(&(g.dot(&g.t()) / 18.0));
    }
    let mut y = x.clone();
    for mut m in y.outer_iter_mut() {
        m[[0, 0]] *= 0.5;
        for i in 0..6 {
            let e = 0.05 * normal(&mut rng);
            m[[i, (i + 1) % 6]] += e;
            m[[(i + 1) % 6, i]] = m[[i, (i + 1) % 6]];
        }
    }
    write_npy(p.path().join("x.npy"), &x).unwrap();
    write_npy(p.path().join("y.npy"), &y).unwrap();
}

/// A kernel of random points; a third of its entries is missing, or a fifth of its rows.
fn kernel(p: &Project, name: &str, n: usize, rows: bool) {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let x = Array2::from_shape_simple_fn((n, 3), || normal(&mut rng));
    let k = Array2::from_shape_fn((n, n), |(i, j)| {
        (-(0..3).map(|a| (x[[i, a]] - x[[j, a]]).powi(2)).sum::<f64>() / 6.0).exp()
    });
    let mut m = k.clone();
    for i in 0..n {
        for j in 0..=i {
            let gone = if rows { i % 5 == 2 || j % 5 == 2 } else { rng.random::<f64>() < 0.3 };
            if gone {
                (m[[i, j]], m[[j, i]]) = (f64::NAN, f64::NAN);
            }
        }
    }
    write_npy(p.path().join(name), &m).unwrap();
    write_npy(p.path().join(format!("view_{name}")), &k.mapv(f64::sqrt)).unwrap();
}

#[test]
fn the_same_bytes_for_any_number_of_threads_and_at_every_instruction_set() {
    let p = Project::new(SMALL);
    pairs(&p);
    kernel(&p, "small.npy", 61, false);
    kernel(&p, "large.npy", 280, false); // beyond the size up to which the whole spectrum is computed
    kernel(&p, "rows.npy", 61, true);
    let lines = [
        ("fit --x x.npy --y y.npy -o out.npz --plot=out.svg", "out.npz"),
        ("fit --x x.npy --y y.npy --positivity complete -o out.npz", "out.npz"),
        ("complete --matrix small.npy -o out.npy", "out.npy"),
        ("complete --matrix large.npy -o out.npy", "out.npy"),
        ("complete --matrix rows.npy -o out.npy", "out.npy"),
        ("complete --matrix rows.npy --view view_rows.npy -o out.npy", "out.npy"),
    ];
    let has = |level: &str| p.command("completions bash").env("REPRO_SIMD", level).output().unwrap().status.success();
    let levels: Vec<&str> = ["plain", "avx2", "avx512"].into_iter().filter(|l| has(l)).collect();
    assert!(levels.contains(&"plain"));
    for (line, file) in lines {
        let mut first: Option<Vec<u8>> = None;
        // Without vector instructions a fused multiply-add is a call: the large matrix would take ten minutes.
        let slow = line.contains("large.npy") && levels.len() > 1;
        let used = if slow { &levels[1..] } else { &levels[..] };
        let settings = used.iter().map(|l| (*l, "2")).chain([(used[used.len() - 1], "1"), (used[0], "5")]);
        for (level, threads) in settings {
            let mut command = p.command(line);
            let said: Finished =
                command.env("REPRO_SIMD", level).env("RAYON_NUM_THREADS", threads).output().unwrap().into();
            assert_eq!(said.code, 0, "{line}: {}{}", said.out, said.err);
            let bytes = std::fs::read(p.path().join(file)).unwrap();
            match &first {
                None => first = Some(bytes),
                Some(kept) => assert!(*kept == bytes, "{line}: {level}, {threads} threads differ"),
            }
        }
    }
}

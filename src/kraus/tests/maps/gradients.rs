//! Hand-written gradients against central differences in f64: every depth, with and without clamp, mask, symmetry.

use kraus::{Architecture, Gamma, KrausMap, Mask, Problem, Stack, loss_and_gradient};
use ndarray::{Array2, Array3, Axis};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn random(shape: (usize, usize, usize), seed: u64) -> Array3<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Array3::from_shape_simple_fn(shape, || rng.random_range(-1.0..1.0))
}

fn symmetric(a: Array3<f64>) -> Array3<f64> {
    let t = a.view().permuted_axes([0, 2, 1]).to_owned();
    a + t
}

fn psd(a: Array3<f64>) -> Array3<f64> {
    let mut out = a.clone();
    for (mut o, a) in out.outer_iter_mut().zip(a.outer_iter()) {
        o.assign(&a.dot(&a.t()));
    }
    out
}

/// Largest difference between gradient and central differences, relative to the largest entry.
fn error(stack: &Stack<f64>, problem: &Problem<'_, f64>) -> f64 {
    let (_, gradient) = loss_and_gradient(stack, problem).unwrap();
    let (base, mut moved) = (stack.to_vec(), stack.clone());
    let mut at = |n: usize, by: f64| {
        let mut w = base.clone();
        w[n] += by;
        moved.set(&w);
        loss_and_gradient(&moved, problem).unwrap().0
    };
    let h = 1e-5;
    // A fourth-order difference: the plain one is off by h^2 times a third derivative, which is not small here.
    let slope = |n| (8.0 * (at(n, h) - at(n, -h)) - (at(n, 2.0 * h) - at(n, -2.0 * h))) / (12.0 * h);
    let numeric = (0..base.len()).map(slope).collect::<Vec<_>>();
    let size = numeric.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    gradient.iter().zip(&numeric).fold(0.0f64, |m, (a, b)| m.max((a - b).abs())) / size
}

/// Rank 6: with fewer operators than rows Phi(E_ij) is singular, and the clamp of singular values jumps there.
fn arch(depth: usize, gamma: Gamma) -> Architecture {
    Architecture::deep(&[4, 5, 4, 3][..depth + 1], 6, gamma)
}

#[test]
fn gradients_agree_with_central_differences() {
    let mut cases = 0;
    for depth in 1..=3 {
        for gamma in [Gamma::None, Gamma::Clamp(0.4)] {
            for masked in [false, true] {
                // Few samples are worked on one by one, many sixteen at a time (29: a full group and a part of one).
                for (kind, l) in
                    [("symmetric", 7), ("general", 7), ("units", 7), ("symmetric", 29), ("general", 29), ("mixed", 29)]
                {
                    let seed = depth as u64 * 10;
                    let stack = Stack::<f64>::glorot(&arch(depth, gamma), seed + 1).unwrap();
                    let q = stack.q();
                    let mut x = random((l, 4, 4), seed + 2);
                    let mut y = random((l, q, q), seed + 3);
                    let mut mask = random((l, q, q), seed + 4);
                    if kind == "symmetric" {
                        (x, y, mask) = (psd(x), symmetric(y), symmetric(mask));
                    } else if kind == "mixed" {
                        // Eigenvalues are clamped in some samples, singular values in others.
                        for (mut x, a) in
                            x.outer_iter_mut().zip(psd(random((l, 4, 4), seed + 5)).outer_iter()).step_by(3)
                        {
                            x.assign(&a);
                        }
                    }
                    let mask = Mask::new(mask.mapv(|v| v > -0.2));
                    let pairs = vec![(0, 1), (1, 1), (2, 0), (3, 3), (1, 2), (0, 3), (2, 2)];
                    let problem = if kind == "units" {
                        Problem::units(4, pairs, y.view())
                    } else {
                        Problem::matrices(x.view(), y.view())
                    };
                    let problem = problem.unwrap();
                    let problem = if masked { problem.with_mask(&mask).unwrap() } else { problem };
                    assert_eq!(problem.is_symmetric(), kind == "symmetric");
                    let e = error(&stack, &problem);
                    assert!(e < 1e-6, "depth {depth} {gamma:?} masked {masked} {kind} {l}: {e:e}");
                    cases += 1;
                }
            }
        }
    }
    assert_eq!(cases, 72);
}

#[test]
fn units_give_the_gradient_of_the_matrices_they_stand_for() {
    let stack = Stack::<f64>::glorot(&Architecture::deep(&[4, 5, 3], 6, Gamma::Clamp(0.3)), 5).unwrap();
    let pairs = vec![(0, 1), (1, 1), (2, 0), (3, 3)];
    let y = random((4, 3, 3), 6);
    let mut x = Array3::zeros((4, 4, 4));
    pairs.iter().enumerate().for_each(|(s, &(i, j))| x[[s, i, j]] = 1.0);
    let (a, ga) = loss_and_gradient(&stack, &Problem::units(4, pairs, y.view()).unwrap()).unwrap();
    let (b, gb) = loss_and_gradient(&stack, &Problem::matrices(x.view(), y.view()).unwrap()).unwrap();
    assert!((a - b).abs() < 1e-13);
    assert!(ga.iter().zip(&gb).all(|(a, b)| (a - b).abs() < 1e-12));
}

/// The first layer is a multiple of an orthogonal map, so all singular values of what the clamp sees are equal.
#[test]
fn clamp_gradient_is_exact_with_repeated_singular_values() {
    for (scale, general) in [(0.5, true), (2.0, true), (0.5, false), (2.0, false)] {
        let ops = (Array2::<f64>::eye(4) * scale).insert_axis(Axis(0));
        let second = KrausMap::glorot(3, 3, 4, 9).unwrap();
        let stack = Stack::new(vec![KrausMap::new(ops).unwrap(), second], Gamma::Clamp(1.0)).unwrap();
        // A rotation has four singular values 1; the identity four eigenvalues 1.
        let (c, s) = (0.6, 0.8);
        let turn = ndarray::array![[c, -s, 0.0, 0.0], [s, c, 0.0, 0.0], [0.0, 0.0, s, -c], [0.0, 0.0, c, s]];
        let x = if general { turn } else { Array2::eye(4) }.insert_axis(Axis(0));
        let y = symmetric(random((1, 3, 3), 3));
        let problem = Problem::matrices(x.view(), y.view()).unwrap();
        let e = error(&stack, &problem);
        assert!(e < 1e-6, "scale {scale} general {general}: {e:e}");
    }
}

#[test]
fn forward_pass_agrees_with_the_plain_definition() {
    for (gamma, l) in [(Gamma::None, 40), (Gamma::Clamp(0.3), 40), (Gamma::Clamp(0.3), 3)] {
        let stack = Stack::<f64>::glorot(&Architecture::deep(&[6, 5, 4], 3, gamma), 1).unwrap();
        for x in [random((l, 6, 6), 2), psd(random((l, 6, 6), 2))] {
            let y = random((l, 4, 4), 4);
            let problem = Problem::matrices(x.view(), y.view()).unwrap();
            let (fast, plain) = (loss_and_gradient(&stack, &problem).unwrap().0, stack.mse(&problem).unwrap());
            assert!((fast - plain).abs() < 1e-12 * plain, "{fast} {plain}");
        }
    }
}

/// Many samples of one small map go through its Choi matrix; a few of them, operator by operator. Both give the same sums.
#[test]
fn the_choi_matrix_gives_the_gradient_of_the_operators() {
    let (x, y) = (psd(random((84, 6, 6), 2)), symmetric(random((84, 4, 4), 3)));
    let mask = random((84, 4, 4), 4).mapv(|v| v <= 0.3);
    let mask = &mask & &mask.view().permuted_axes([0, 2, 1]);
    for masked in [false, true] {
        let stack = Stack::<f64>::glorot(&Architecture::deep(&[6, 4], 12, Gamma::None), 1).unwrap();
        let of = |from: usize, to: usize| {
            let part = ndarray::s![from..to, .., ..];
            let problem = Problem::matrices(x.slice(part), y.slice(part)).unwrap();
            let here = Mask::new(mask.slice(part).to_owned());
            let problem = if masked { problem.with_mask(&here).unwrap() } else { problem };
            loss_and_gradient(&stack, &problem).unwrap()
        };
        let (loss, gradient) = of(0, 84);
        let (mut sum, mut total) = (0.0, vec![0.0; stack.len()]);
        for from in (0..84).step_by(4) {
            let (loss, gradient) = of(from, from + 4);
            sum += loss / 21.0;
            total.iter_mut().zip(&gradient).for_each(|(t, g)| *t += g / 21.0);
        }
        let size = gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
        assert!((loss - sum).abs() < 1e-13 * loss, "{loss} {sum}");
        assert!(gradient.iter().zip(&total).all(|(a, b)| (a - b).abs() < 1e-13 * size), "masked {masked}");
    }
}

/// Matrix units on the diagonal with symmetric targets count as symmetric data: L_i and L_j are then the same columns.
#[test]
fn gradients_at_diagonal_units() {
    let y = symmetric(random((4, 3, 3), 5));
    let problem = Problem::units(4, vec![(0, 0), (2, 2), (1, 1), (2, 2)], y.view()).unwrap();
    assert!(problem.is_symmetric());
    for dims in [&[4, 3][..], &[4, 5, 3]] {
        let stack = Stack::<f64>::glorot(&Architecture::deep(dims, 6, Gamma::None), 1).unwrap();
        assert!(error(&stack, &problem) < 1e-7, "{dims:?}: {}", error(&stack, &problem));
    }
}

/// Layers too large for the second cache keep their operators apart; one direction tells as much as all parameters.
#[test]
fn large_layers_agree_with_the_slope_along_a_direction() {
    for dims in [&[50, 50][..], &[50, 50, 50], &[50, 50, 3], &[3, 50, 50]] {
        for general in [false, true] {
            let stack = Stack::<f64>::glorot(&Architecture::deep(dims, 4, Gamma::None), 1).unwrap();
            let (mut x, mut y) = (random((6, dims[0], dims[0]), 2), random((6, stack.q(), stack.q()), 3));
            if !general {
                (x, y) = (psd(x), symmetric(y));
            }
            let problem = Problem::matrices(x.view(), y.view()).unwrap();
            let (base, along) = (stack.to_vec(), random((1, 1, stack.len()), 4));
            let loss = |by: f64| {
                let mut moved = stack.clone();
                moved.set(&base.iter().zip(&along).map(|(w, d)| w + by * d).collect::<Vec<_>>());
                loss_and_gradient(&moved, &problem).unwrap().0
            };
            let h = 1e-5;
            let slope = (8.0 * (loss(h) - loss(-h)) - (loss(2.0 * h) - loss(-2.0 * h))) / (12.0 * h);
            let gradient = loss_and_gradient(&stack, &problem).unwrap().1;
            let dot = gradient.iter().zip(&along).map(|(g, d)| g * d).sum::<f64>();
            assert!((dot - slope).abs() <= 1e-6 * slope.abs(), "{dims:?} general {general}: {dot} {slope}");
        }
    }
}

/// With fewer operators than rows Phi(X) is singular for inputs that are not symmetric, and Gamma raises vanishing singular
/// values, whose vectors are any bases of two null spaces. Training and prediction must mean the same by it.
#[test]
fn training_and_prediction_agree_where_singular_values_vanish() {
    for (rank, l) in [(1, 7), (2, 7), (3, 40)] {
        let stack = Stack::<f64>::glorot(&Architecture::deep(&[4, 6, 3], rank, Gamma::Clamp(0.3)), 5).unwrap();
        let (mut x, y) = (random((l, 4, 4), 2), random((l, 3, 3), 3));
        // A matrix of rank one: Phi(X) then has at most `rank` singular values that do not vanish.
        for mut x in x.outer_iter_mut() {
            let (a, b) = (x.column(0).to_owned(), x.row(1).to_owned());
            x.assign(&Array2::from_shape_fn((4, 4), |(i, j)| a[i] * b[j]));
        }
        let pairs: Vec<_> = (0..l).map(|n| (n % 4, (n * 3 + 1) % 4)).collect();
        for problem in [Problem::matrices(x.view(), y.view()).unwrap(), Problem::units(4, pairs, y.view()).unwrap()] {
            let (trained, _) = loss_and_gradient(&stack, &problem).unwrap();
            let predicted = stack.mse(&problem).unwrap();
            assert!((trained - predicted).abs() <= 1e-12 * trained, "rank {rank}: {trained} {predicted}");
            // No basis enters: one sample at a time gives the same as all of them.
            let all = stack.predict(&problem).unwrap();
            if let kraus::Inputs::Matrices(x) = problem.inputs() {
                for s in 0..l {
                    let one = stack.apply_batch(x.matrix(s).insert_axis(Axis(0))).unwrap();
                    let gap = (&one.index_axis(Axis(0), 0) - &all.index_axis(Axis(0), s)).mapv(f64::abs);
                    assert!(gap.iter().all(|g| *g < 1e-11), "rank {rank}, sample {s}: {gap}");
                }
            }
        }
    }
}

/// The rule for vanishing values: the limit of Gamma(M + t I) for t > 0 that falls to 0. On symmetric positive semidefinite
/// matrices that is the eigenvalue clamp.
#[test]
fn vanishing_values_are_raised_as_if_a_little_of_the_identity_were_added() {
    let a = random((1, 6, 3), 8);
    let b = random((1, 6, 3), 9);
    let (a, b) = (a.index_axis(Axis(0), 0), b.index_axis(Axis(0), 0));
    let m = a.dot(&b.t());
    let exact = kraus::map::gamma::clamp(m.view(), 0.5, false).unwrap();
    let mut gap = f64::INFINITY;
    for t in [1e-4, 1e-5, 1e-6] {
        let near = kraus::map::gamma::clamp((&m + &(Array2::<f64>::eye(6) * t)).view(), 0.5, false).unwrap();
        let now = (&near - &exact).mapv(|v| v * v).sum().sqrt();
        assert!(now < 0.2 * gap && now < 100.0 * t, "{t}: {now}");
        gap = now;
    }
    let psd = a.dot(&a.t());
    let (values, vectors) =
        (kraus::map::gamma::clamp(psd.view(), 0.5, true), kraus::map::gamma::clamp(psd.view(), 0.5, false));
    assert!((&values.unwrap() - &vectors.unwrap()).iter().all(|e| e.abs() < 1e-12));
}

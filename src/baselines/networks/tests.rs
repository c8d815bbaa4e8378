//! Gradients of every format against central differences, and dense weights against their definitions.

use super::format::{Format, loss_and_gradient};
use super::scratch::Scratch;
use super::symmetric_input::SymmetricInput;
use super::training::Training;
use crate::Layout;
use crate::{TensorTrain, Tucker};
use ndarray::Array2;

fn wave(rows: usize, cols: usize, m: f64) -> Array2<f64> {
    Array2::from_shape_fn((rows, cols), |(i, j)| (m * (1 + i * cols + j) as f64).sin())
}

/// Every component of the gradient against a central difference; the loss is quartic or less in each parameter.
fn check(format: &dyn Format, inputs: usize, outputs: usize) {
    let (x, y) = (wave(7, inputs, 1.3), wave(7, outputs, 0.7));
    for bias in [false, true] {
        let n = format.len() + if bias { outputs } else { 0 };
        let theta: Vec<f64> = wave(1, n, 2.1).into_raw_vec_and_offset().0;
        let (pair, scratch) = ((x.view(), y.view()), Scratch::default());
        // What the arrays hold before must not matter.
        let mut gradient = vec![f64::NAN; n];
        loss_and_gradient(format, &theta, pair, &scratch, &mut gradient);
        let largest = gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
        for k in 0..n {
            let at = |h: f64| {
                let mut moved = theta.clone();
                moved[k] += h;
                loss_and_gradient(format, &moved, pair, &scratch, &mut vec![0.0; n])
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((difference - gradient[k]).abs() < 1e-8 * largest, "{k}: {difference} against {}", gradient[k]);
        }
    }
}

/// The gradient through W is the one through the batch.
fn check_pull(format: &dyn Format, inputs: usize, outputs: usize) {
    let (x, dy) = (wave(5, inputs, 1.3), wave(5, outputs, 0.7));
    let theta: Vec<f64> = wave(1, format.len(), 2.1).into_raw_vec_and_offset().0;
    let (mut batch, mut dense) = (vec![f64::NAN; format.len()], vec![f64::NAN; format.len()]);
    let (scratch, mut y) = (Scratch::default(), Array2::zeros((0, 0)));
    let turn = &mut |out: &mut Array2<f64>| y = std::mem::replace(out, dy.clone());
    format.step(&theta, x.view(), turn, &scratch, &mut batch);
    format.pull(&theta, x.t().dot(&dy), &scratch, &mut dense);
    let largest = batch.iter().fold(0.0f64, |m, g| m.max(g.abs()));
    assert!(batch.iter().zip(&dense).all(|(a, b)| (a - b).abs() < 1e-12 * largest));
    assert!((y - x.dot(&format.dense(&theta, &scratch))).iter().all(|e| e.abs() < 1e-12));
}

/// On symmetric inputs half of the weights' rows say the same as all of them, and so do their gradients.
#[test]
fn half_of_the_rows_is_enough_for_symmetric_inputs() {
    let layer = Tucker { ranks: [2, 3, 1, 2], training: Training::default() }.format([3, 3, 2, 2]).unwrap();
    let layout = Layout { rows: 3, cols: 3, half: true };
    let half = SymmetricInput::new(&layer, layout);
    check(&half, 6, 4);
    let x = ndarray::Array3::from_shape_fn((4, 3, 3), |(s, i, j)| ((1 + s + 5 * i + 5 * j) as f64).sin());
    let theta: Vec<f64> = wave(1, layer.len(), 2.1).into_raw_vec_and_offset().0;
    let scratch = Scratch::default();
    let full = Layout::full(x.view()).encode(x.view()).dot(&layer.dense(&theta, &scratch));
    let short = layout.encode(x.view()).dot(&half.dense(&theta, &scratch));
    assert!((&full - &short).iter().all(|e| e.abs() < 1e-12));
}

#[test]
fn tensor_train_gradient_agrees_with_central_differences() {
    let (inputs, outputs, training) = (vec![2, 3, 2], vec![2, 1, 3], Training::default());
    let layer = TensorTrain { inputs, outputs, ranks: vec![2, 3], training };
    check(&layer.format().unwrap(), 12, 6);
    check_pull(&layer.format().unwrap(), 12, 6);
}

#[test]
fn tucker_gradient_agrees_with_central_differences() {
    let layer = Tucker { ranks: [2, 3, 1, 2], training: Training::default() };
    check(&layer.format([3, 4, 2, 3]).unwrap(), 12, 6);
    check_pull(&layer.format([3, 4, 2, 3]).unwrap(), 12, 6);
}

/// W entry by entry from the definitions.
#[test]
fn dense_weights_follow_the_definitions() {
    let (inputs, outputs, training) = (vec![2, 3], vec![2, 2], Training::default());
    let tt = TensorTrain { inputs, outputs, ranks: vec![2], training }.format().unwrap();
    let theta: Vec<f64> = wave(1, tt.len(), 2.1).into_raw_vec_and_offset().0;
    let (first, second) = theta.split_at(8);
    let w = tt.dense(&theta, &Scratch::default());
    let entry = |i: (usize, usize), j: (usize, usize)| -> f64 {
        (0..2).map(|r| first[(i.0 * 2 + j.0) * 2 + r] * second[(r * 3 + i.1) * 2 + j.1]).sum()
    };
    for (i, j) in [((0, 0), (0, 0)), ((1, 2), (0, 1)), ((1, 0), (1, 1)), ((0, 2), (1, 0))] {
        assert!((w[[i.0 * 3 + i.1, j.0 * 2 + j.1]] - entry(i, j)).abs() < 1e-14);
    }

    let tucker = Tucker { ranks: [1, 2, 2, 1], training }.format([2, 3, 2, 2]).unwrap();
    let theta: Vec<f64> = wave(1, tucker.len(), 2.1).into_raw_vec_and_offset().0;
    let (core, rest) = theta.split_at(4);
    let (u1, rest) = rest.split_at(2);
    let (u2, rest) = rest.split_at(6);
    let (u3, u4) = rest.split_at(4);
    let w = tucker.dense(&theta, &Scratch::default());
    for (i, j, k, l) in [(0, 0, 0, 0), (1, 2, 1, 0), (0, 1, 1, 1), (1, 0, 0, 1)] {
        let terms = (0..2).flat_map(|b| (0..2).map(move |c| (b, c)));
        let entry: f64 = terms.map(|(b, c)| core[b * 2 + c] * u1[i] * u2[j * 2 + b] * u3[k * 2 + c] * u4[l]).sum();
        assert!((w[[i * 3 + j, k * 2 + l]] - entry).abs() < 1e-14);
    }
}

//! Gradients of every format against central differences, and dense weights against their definitions.

use super::format::Format;
use super::lanes::{Crossed, Dense, Layer, Pass};
use super::scratch::Scratch;
use super::symmetric_input::SymmetricInput;
use super::training::Training;
use crate::Layout;
use crate::{TensorTrain, Tucker};
use ndarray::Array2;

fn wave(rows: usize, cols: usize, m: f64) -> Array2<f64> {
    Array2::from_shape_fn((rows, cols), |(i, j)| (m * (1 + i * cols + j) as f64).sin())
}

/// The mean squared error of a layer and its gradient. The tests use 19 samples: one full group of lanes and a part of a second one.
fn loss_and_gradient(pass: &mut Pass<'_, f64>, theta: &[f64], x: &Array2<f64>, y: &Array2<f64>) -> (f64, Vec<f64>) {
    let (rows, entries) = ((x.as_slice().unwrap(), y.as_slice().unwrap()), y.len() as f64);
    let all: Vec<usize> = (0..x.nrows()).collect();
    // The result must not depend on what the array holds before: NaN would show.
    let mut gradient = vec![f64::NAN; theta.len()];
    let loss = pass.run(&pass.to_layer(theta), rows, &all, &[], &mut gradient) / entries;
    (loss, pass.to_format(&gradient).iter().map(|g| g * 2.0 / entries).collect())
}

/// Compares every component of the gradient with a central difference, which is exact up to rounding: the loss is quadratic in each
/// single parameter.
fn check<'a>(layer: impl Fn() -> Box<dyn Layer<f64> + 'a>, weights: usize, inputs: usize, outputs: usize) {
    let (x, y) = (wave(19, inputs, 1.3), wave(19, outputs, 0.7));
    for bias in [false, true] {
        let n = weights + if bias { outputs } else { 0 };
        let theta: Vec<f64> = wave(1, n, 2.1).into_raw_vec_and_offset().0;
        let mut pass = Pass::new(layer(), weights, inputs, outputs);
        let (_, gradient) = loss_and_gradient(&mut pass, &theta, &x, &y);
        let largest = gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
        for k in 0..n {
            let mut at = |h: f64| {
                let mut moved = theta.clone();
                moved[k] += h;
                loss_and_gradient(&mut pass, &moved, &x, &y).0
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((difference - gradient[k]).abs() < 1e-8 * largest, "{k}: {difference} against {}", gradient[k]);
        }
    }
}

/// Checks that the layer predicts the same as its dense weights W, and that its gradient is the one computed through W.
fn check_parameter_gradient<'a>(layer: Box<dyn Layer<f64> + 'a>, format: &dyn Format, inputs: usize, outputs: usize) {
    let (x, y) = (wave(19, inputs, 1.3), wave(19, outputs, 0.7));
    let theta: Vec<f64> = wave(1, format.len(), 2.1).into_raw_vec_and_offset().0;
    let (loss, batch) = loss_and_gradient(&mut Pass::new(layer, format.len(), inputs, outputs), &theta, &x, &y);
    let scratch = Scratch::default();
    let residual = x.dot(&format.dense(&theta, &scratch)) - &y;
    let (entries, mut dense) = (y.len() as f64, vec![f64::NAN; format.len()]);
    format.parameter_gradient(&theta, x.t().dot(&residual) * (2.0 / entries), &scratch, &mut dense);
    let largest = batch.iter().fold(0.0f64, |m, g| m.max(g.abs()));
    assert!(batch.iter().zip(&dense).all(|(a, b)| (a - b).abs() < 1e-12 * largest));
    let expected = residual.iter().map(|r| r * r).sum::<f64>() / entries;
    assert!((loss - expected).abs() < 1e-12 * expected);
}

/// A tensor train of two cores from 3 x 4 to 2 x 3 matrices, by each of its layers: `Sides`, `Crossed` and `Dense`.
#[test]
fn two_cores_are_the_general_layer() {
    let (inputs, outputs, training) = (vec![3, 4], vec![2, 3], Training::default());
    for rank in [1, 3, 6] {
        let layer = TensorTrain { inputs: inputs.clone(), outputs: outputs.clone(), ranks: vec![rank], training };
        let format = layer.format().unwrap();
        check(|| format.layer_of(), format.len(), 12, 6);
        check_parameter_gradient(format.layer_of(), &format, 12, 6);
        check_parameter_gradient(Box::new(Dense::new(&format)), &format, 12, 6);
        check(|| Box::new(Crossed::new([3, 4], [2, 3], rank)), format.len(), 12, 6);
        check_parameter_gradient(Box::new(Crossed::new([3, 4], [2, 3], rank)), &format, 12, 6);
    }
}

/// On symmetric inputs the folded weights of `SymmetricInput` predict the same as all weights, and their gradient is right.
#[test]
fn half_of_the_rows_is_enough_for_symmetric_inputs() {
    let layer = Tucker { ranks: [2, 3, 1, 2], training: Training::default() }.format([3, 3, 2, 2]).unwrap();
    let layout = Layout { rows: 3, cols: 3, half: true };
    let half = SymmetricInput::new(&layer, layout);
    check(|| Box::new(Dense::new(&half)), half.len(), 6, 4);
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
    let format = layer.format().unwrap();
    check(|| format.layer_of(), format.len(), 12, 6);
    check_parameter_gradient(format.layer_of(), &format, 12, 6);
}

#[test]
fn tucker_gradient_agrees_with_central_differences() {
    let layer = Tucker { ranks: [2, 3, 1, 2], training: Training::default() };
    let format = layer.format([3, 4, 2, 3]).unwrap();
    check(|| format.layer_of(), format.len(), 12, 6);
    check_parameter_gradient(format.layer_of(), &format, 12, 6);
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

//! Adam against Keras' own optimiser, step by step in f64: losses and parameters of golden/adam_keras.py.

use kraus::{AdamParams, Gamma, KrausMap, Problem, Solver, Stack, Start, Stopping};
use ndarray::Array3;

#[derive(serde::Deserialize)]
struct Golden {
    made_by: String,
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    dims: Vec<usize>,
    ranks: Vec<usize>,
    samples: usize,
    rate: f64,
    x: Vec<f64>,
    y: Vec<f64>,
    start: Vec<f64>,
    losses: Vec<f64>,
    end: Vec<f64>,
}

#[test]
fn twenty_five_steps_are_those_of_keras() {
    let golden: Golden = serde_json::from_str(include_str!("../golden/adam_keras.json")).unwrap();
    println!("{}", golden.made_by);
    for case in golden.cases {
        let (l, p, q) = (case.samples, case.dims[0], case.dims[case.dims.len() - 1]);
        let x = Array3::from_shape_vec((l, p, p), case.x).unwrap();
        let y = Array3::from_shape_vec((l, q, q), case.y).unwrap();
        let problem = Problem::matrices(x.view(), y.view()).unwrap();
        let mut rest = case.start.as_slice();
        let mut layers = Vec::new();
        for (d, &r) in case.dims.windows(2).zip(&case.ranks) {
            let (now, later) = rest.split_at(r * d[1] * d[0]);
            layers.push(KrausMap::new(Array3::from_shape_vec((r, d[1], d[0]), now.to_vec()).unwrap()).unwrap());
            rest = later;
        }
        let start = Start::Given(Stack::new(layers, Gamma::None).unwrap());
        let stopping = Stopping::after(case.losses.len());
        let adam = AdamParams { stopping, batch: l, rate: case.rate, ..Default::default() }.check().unwrap();
        let fit = adam.fit(&problem, start).unwrap();
        for (ours, theirs) in fit.history.loss.iter().zip(&case.losses) {
            assert!((ours - theirs).abs() <= 1e-13 * theirs, "{ours} {theirs}");
        }
        for (ours, theirs) in fit.model.to_vec().iter().zip(&case.end) {
            assert!((ours - theirs).abs() <= 1e-12, "{ours} {theirs}");
        }
    }
}

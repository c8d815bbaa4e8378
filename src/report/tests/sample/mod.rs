//! Made-up inputs with the shape of the paper's results, shared by the tests.
#![allow(dead_code)]

pub mod page;

use ndarray::Array2;
use report::axis::Axis;
use report::figure::{Figure, Line, Source};
use report::figures::*;
use report::frames::Summary;
use report::polars::prelude::{DataFrame, df};

pub fn noise(i: usize) -> f64 {
    // A fixed scramble in [0, 1): tests need variety, not randomness.
    let x = (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x >> 11) as f64 / (1u64 << 53) as f64
}

pub fn matrix(n: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, n), |(i, j)| {
        let d = (i as f64 - j as f64).abs();
        (-d / 6.0).exp() * 3.0 + noise(i.min(j) * 97 + i.max(j)) - 0.4
    })
}

/// The points of two panels of figure 2.
fn rank_points() -> DataFrame {
    let (mut panel, mut l, mut true_rank, mut rank, mut mean) = (vec![], vec![], vec![], vec![], vec![]);
    for (title, floor) in [("20×20 → 10×10, Adam", 1e-4f64), ("100×100 → 40×40, exact solver", 1e-9)] {
        for (k, samples) in [100i64, 1000, 10000].into_iter().enumerate() {
            for (t, r) in
                [5i64, 20].into_iter().flat_map(|t| [1i64, 2, 3, 4, 5, 7, 10, 14, 20, 30, 50, 70, 100].map(|r| (t, r)))
            {
                let below = 800.0 / r as f64;
                panel.push(title);
                l.push(samples);
                true_rank.push(t);
                rank.push(r);
                mean.push(if r < t { below } else { below * floor.powi(k as i32) * 0.3 });
            }
        }
    }
    let (min, max): (Vec<f64>, Vec<f64>) = mean.iter().map(|v| (v * 0.6, v * 1.7)).unzip();
    df!("panel" => panel, "l" => l, "true_rank" => true_rank, "rank" => rank, "mean" => mean, "min" => min, "max" => max)
        .unwrap()
}

fn levels(names: &[&str], seed: usize, from: f64, slope: f64) -> Vec<Line> {
    let curve = |(k, name): (usize, &&str)| {
        let point = |i: usize| {
            let x = (i + 1) as f64 * 10.0;
            let (mean, sd) = (from + slope * x * (1.0 + k as f64) * 0.3 + noise(seed + i * 7 + k), 0.5 + x / 60.0);
            (x, Summary { n: 3, mean, sd, min: mean - sd, max: mean + sd })
        };
        Line::summarised(*name, &(0..9).map(point).collect::<Vec<_>>())
    };
    names.iter().enumerate().map(curve).collect()
}

pub fn all() -> Vec<Figure> {
    let full = matrix(28);
    let holes = Array2::from_shape_fn((28, 28), |(i, j)| {
        if noise((i / 4).min(j / 4) * 31 + (i / 4).max(j / 4)) < 0.3 { f64::NAN } else { full[[i, j]] }
    });
    let mfeat = Source::Embedded("Multiple Features, 200 digits".into());
    let named = |names: &[&str]| {
        names
            .iter()
            .map(|n| (n.to_string(), if n.contains("missing") { holes.clone() } else { full.clone() }))
            .collect::<Vec<_>>()
    };
    let rank: Vec<f64> = (1..=40).map(f64::from).collect();
    let cloud = |shift: f64| Cloud {
        at: (0..240)
            .map(|i| {
                (
                    noise(i) * 2.0 + (i % 4) as f64 + shift * (i / 120) as f64,
                    noise(i + 999) * 3.0 - shift * (i / 120) as f64,
                )
            })
            .collect(),
        class: (0..240).map(|i| i % 4).collect(),
        session: (0..240).map(|i| i / 120).collect(),
    };
    let plan_matrix = Array2::from_shape_fn((90, 100), |(i, j)| {
        let d = i as f64 / 90.0 - j as f64 / 100.0;
        (-80.0 * d * d).exp() * noise(i * 101 + j) / 90.0
    });
    let curve =
        |title: &'static str, y: &str, names: &[&str], a: f64, b: f64| (title, Axis::linear(y), levels(names, 3, a, b));
    let mut level7 = vec![
        curve(
            "methods",
            "SVM accuracy (%)",
            &["PTR", "trace regression", "CVKT", "mean imputation", "zero imputation", "full kernels"],
            98.0,
            -0.3,
        ),
        curve(
            "by depth",
            "SVM accuracy (%)",
            &["(20,10), depth 1", "(20,10), depth 2", "(10,20), depth 1", "(10,20), depth 2"],
            98.0,
            -0.2,
        ),
        curve("by rank", "SVM accuracy (%)", &["rank 50", "rank 100", "rank 200"], 98.0, -0.2),
        curve("by sample order", "SVM accuracy (%)", &["by class (leaks labels)", "shuffled", "seriated"], 98.0, -0.4),
    ];
    level7.iter_mut().for_each(|p| p.1 = p.1.clone().between(0.0, 100.0));
    let node = |name: &str, inputs: &[&str], units: usize, cached: usize, seconds: f64| DagNode {
        name: name.into(),
        inputs: inputs.iter().map(|s| s.to_string()).collect(),
        detail: format!(
            "{units} units, {}",
            if cached == units { "cached".into() } else { report::figures::seconds(seconds) }
        ),
        seconds,
    };
    let nodes = vec![
        node("simulate", &[], 24, 24, 0.0),
        node("fetch-mfeat", &[], 1, 0, 0.3),
        node("simulate-eeg", &[], 10, 0, 11.2),
        node("train", &["simulate"], 480, 12, 95.0),
        node("baselines", &["simulate"], 120, 0, 61.0),
        node("kernels", &["fetch-mfeat"], 6, 0, 1.1),
        node("masks", &["kernels"], 9, 0, 0.2),
        node("complete", &["masks", "kernels"], 324, 0, 140.0),
        node("covariances", &["simulate-eeg"], 10, 0, 3.0),
        node("transport", &["covariances"], 5, 0, 4.0),
        node("evaluate-regression", &["train", "baselines"], 1, 0, 1.0),
        node("evaluate-kernels", &["complete"], 1, 0, 9.0),
        node("evaluate-bci", &["transport"], 50, 0, 31.0),
        node("figure2", &["evaluate-regression"], 1, 0, 0.2),
        node("table2", &["evaluate-regression"], 1, 0, 0.1),
        node("figure7", &["evaluate-kernels"], 1, 0, 0.2),
        node("table3", &["evaluate-bci"], 1, 0, 0.1),
    ];
    vec![
        partial_trace(&matrix(12), 4),
        error_against_rank("figure2", "Test error against the model’s Kraus rank", &rank_points(), Source::Generated)
            .unwrap(),
        completion(
            "figure3",
            "Block completion, 28 × 28, p = 7, q = 4",
            &named(&["target", "missing blocks", "rank 1", "rank 5", "rank 30", "rank 100"]),
            3,
            Some(4),
            Source::Generated,
        ),
        completion(
            "figure4",
            "35 % of the entries missing",
            &named(&["target", "target with missing entries", "depth 1", "depth 2"]),
            2,
            None,
            Source::Generated,
        ),
        missing_level(
            "figure6",
            "Sum of completion errors over the six views",
            vec![
                curve(
                    "blocks and depth",
                    "sum of Frobenius errors",
                    &[
                        "(20,10), depth 1",
                        "(20,10), depth 2",
                        "(10,20), depth 1",
                        "(10,20), depth 2",
                        "(200,1), depth 1",
                        "(200,1), depth 2",
                    ],
                    10.0,
                    1.0,
                ),
                curve(
                    "sample order, (10,20), depth 2",
                    "sum of Frobenius errors",
                    &["by class", "shuffled", "seriated"],
                    10.0,
                    1.0,
                ),
            ],
            2,
            mfeat.clone(),
        ),
        missing_level("figure7", "SVM accuracy on completed kernels", level7, 2, mfeat),
        bound(
            &rank,
            &rank.iter().map(|r| if *r < 5.0 { 50.0 / r } else { 1e-3 }).collect::<Vec<_>>(),
            &rank.iter().map(|r| 2e-3 * r).collect::<Vec<_>>(),
            &[
                ("theorem 4’s term as printed", &rank, &rank.iter().map(|r| 5.0 * r.sqrt()).collect::<Vec<_>>()),
                ("theorem 4’s term as proved", &rank[..2], &[9.0, 12.0]),
            ],
            Source::Generated,
        ),
        embedding(
            "embedding",
            "Covariances of subject 9 before and after mapping",
            &[
                ("before".into(), cloud(3.0)),
                ("after transport".into(), cloud(0.5)),
                ("after the learned map".into(), cloud(0.8)),
            ],
            &["left hand", "right hand", "feet", "tongue"],
            &["session T", "session E"],
            Source::Simulated,
        ),
        plan("plan", "Transport plan, subject 9", &plan_matrix, Source::Simulated),
        speed(&read_timings(TIMINGS).unwrap()).unwrap(),
        dag("Stages, units and time", &nodes),
    ]
}

/// Times as `benches/` writes them.
const TIMINGS: &str = r#"{"date": "2026-01-01", "machine": {"model": "a processor", "cores": 2, "load": 0.1}, "rows": [
    {"group": "epoch", "case": "S1", "who": "ours", "threads": 1, "milliseconds": 10.0},
    {"group": "epoch", "case": "S1", "who": "JAX, by hand", "threads": 1, "milliseconds": 40.0},
    {"group": "epoch", "case": "S1", "who": "PyTorch", "threads": 1, "milliseconds": 300.0},
    {"group": "epoch", "case": "S5", "who": "ours", "threads": 1, "milliseconds": 20.0},
    {"group": "epoch", "case": "S5", "who": "PyTorch", "threads": 1, "milliseconds": 200.0},
    {"group": "geometry", "case": "distances", "who": "ours", "threads": 1, "milliseconds": 5.0},
    {"group": "geometry", "case": "distances", "who": "pyRiemann", "threads": 1, "milliseconds": 35.0}
]}"#;

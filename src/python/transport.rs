//! `KrausTransport`: the procedure of `repro adapt`.

use crate::arrays::{definite, refused};
use crate::run::{compute, run};
use numpy::{IntoPyArray, PyArray3, PyReadonlyArray3};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spd::{
    AdaptParams, CommonChannels, LearnedMap, MapChoice, MapParams, PaperMapParams, RankChoice, Regularisation, Scaling,
    Step, adapt as learn,
};

/// The settings that `repro adapt` makes of its options.
fn params(
    paper: bool,
    neighbours: usize,
    relative: Option<f64>,
    regularisation: Option<f64>,
    iterations: usize,
    rank: Option<usize>,
    auto: bool,
    (epochs, whitened): (usize, bool),
    seed: u64,
) -> AdaptParams {
    let mut params = if paper { AdaptParams::paper() } else { AdaptParams::default() };
    params.pairs.neighbours = neighbours;
    params.pairs.iterations = iterations;
    params.pairs.regularisation = match (relative, regularisation) {
        (Some(share), _) => Regularisation::Relative(share),
        (None, Some(value)) => Regularisation::Absolute(value),
        (None, None) => params.pairs.regularisation,
    };
    params.map = if paper {
        let base = PaperMapParams::default();
        let scaling = if whitened { Scaling::Whitened } else { Scaling::Unit };
        MapChoice::Paper(PaperMapParams { rank: rank.unwrap_or(base.rank), epochs, scaling, seed, ..base })
    } else {
        let base = MapParams::default();
        let choice = if auto { RankChoice::Auto(vec![1, 2, 3, 5, 8]) } else { RankChoice::Given };
        MapChoice::Recentred(MapParams { rank: rank.unwrap_or(base.rank), seed, ..base }, choice)
    };
    params
}

/// Learns a map from the domain of `source` to that of `target`.
#[pyfunction]
#[pyo3(signature = (source, target, labels, *, single, common, paper, neighbours, relative, regularisation, iterations, rank, auto, epochs, whitened, seed, threads, callback))]
pub fn adapt<'py>(
    py: Python<'py>,
    source: PyReadonlyArray3<'py, f64>,
    target: PyReadonlyArray3<'py, f64>,
    labels: Option<Vec<i64>>,
    single: (bool, bool),
    common: Option<Vec<(usize, usize)>>,
    paper: bool,
    neighbours: usize,
    relative: Option<f64>,
    regularisation: Option<f64>,
    iterations: usize,
    rank: Option<usize>,
    auto: bool,
    epochs: usize,
    whitened: bool,
    seed: u64,
    threads: usize,
    callback: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (source, target) = (source.as_array(), target.as_array());
    let (p, q) = (source.dim().1, target.dim().1);
    let common = match common {
        Some(pairs) => CommonChannels::new(pairs, p, q).map_err(refused)?,
        None => CommonChannels::all(q),
    };
    let settings =
        params(paper, neighbours, relative, regularisation, iterations, rank, auto, (epochs, whitened), seed);
    let found = run(py, threads, callback, |watcher| {
        let (source, target) = (definite("Xs", source, single.0)?, definite("Xt", target, single.1)?);
        let mut watch = |step: Step, share: f64, _: f64| {
            let name = match step {
                Step::Transport => "transport",
                Step::Rank => "rank",
                Step::Training => "training",
            };
            watcher.go_on(name, share)
        };
        learn(source.view(), target.view(), labels.as_deref(), &common, &settings, &mut watch)
            .map_err(|e| e.to_string())
    })?
    .map_err(refused)?;
    let out = PyDict::new(py);
    out.set_item("operators", found.map.operators.into_pyarray(py))?;
    out.set_item("transported", found.pairs.mapped.into_pyarray(py))?;
    out.set_item("plan", found.pairs.plan.plan.into_pyarray(py))?;
    out.set_item("held_out", found.map.held_out)?;
    out.set_item("iterations", found.map.iterations)?;
    out.set_item("fell_back", found.map.fell_back)?;
    out.set_item("rank", found.rank)?;
    out.set_item("distance_before", found.distance_before)?;
    out.set_item("distance_after", found.distance_after)?;
    Ok(out)
}

/// sum_k A_k X A_k^T of a learned map.
#[pyfunction]
pub fn apply_map<'py>(
    py: Python<'py>,
    operators: PyReadonlyArray3<'py, f64>,
    x: PyReadonlyArray3<'py, f64>,
    single: bool,
    threads: usize,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let map =
        LearnedMap { operators: operators.as_array().to_owned(), held_out: None, iterations: 0, fell_back: false };
    let x = x.as_array();
    let done = compute(py, threads, || map.apply(definite("X", x, single)?.view()).map_err(|e| e.to_string()))?;
    Ok(done.map_err(refused)?.into_pyarray(py))
}

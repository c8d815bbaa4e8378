//! `KrausTransport`: the procedure of `repro adapt`.

use crate::arrays::{definite, refused};
use crate::run::{compute, run};
use ndarray::{Array3, Axis};
use numpy::{IntoPyArray, PyArray3, PyReadonlyArray3};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spd::{
    AdaptParams, ClassFilter, CommonChannels, FilterParams, Labels, MapChoice, MapParams, PaperMapParams, PositiveMap,
    RankChoice, Regularisation, Scaling, Step, adapt as learn,
};

/// The settings that `repro adapt` makes of its options. `kept` are the directions of the class filter to try; none for no filter.
fn params(
    paper: bool,
    neighbours: usize,
    relative: Option<f64>,
    regularisation: Option<f64>,
    iterations: usize,
    rank: Option<usize>,
    auto: bool,
    kept: Option<Vec<usize>>,
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
    params.filter = kept.map(|kept| FilterParams { kept });
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
#[pyo3(signature = (source, target, labels, *, single, common, paper, neighbours, relative, regularisation, iterations, rank, auto, kept, epochs, whitened, seed, threads, callback))]
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
    kept: Option<Vec<usize>>,
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
    let labels = labels.map(|l| Labels::new(&l)).transpose().map_err(refused)?;
    let settings =
        params(paper, neighbours, relative, regularisation, iterations, rank, auto, kept, (epochs, whitened), seed);
    let (found, kraus) = run(py, threads, callback, |watcher| -> Result<_, String> {
        let (source, target) = (definite("Xs", source, single.0)?, definite("Xt", target, single.1)?);
        let mut watch = |step: Step, share: f64, _: f64| {
            let name = match step {
                Step::Transport => "transport",
                Step::Rank => "rank",
                Step::Training => "training",
            };
            watcher.go_on(name, share)
        };
        let found = learn(source.view(), target.view(), labels.as_ref(), &common, &settings, &mut watch);
        let found = found.map_err(|e| e.to_string())?;
        let kraus = found.map.map.kraus().map_err(|e| e.to_string())?;
        Ok((found, kraus))
    })?
    .map_err(refused)?;
    let out = PyDict::new(py);
    let map = found.map.map;
    let measured = map.measurements();
    let stacked = |n: usize, part: &dyn Fn(usize, usize, usize) -> f64| {
        Array3::from_shape_fn((measured.len(), n, n), |(k, i, j)| part(k, i, j)).into_pyarray(py)
    };
    let answers = stacked(q, &|k, i, j| measured[k].0[[i, j]]);
    let measures = stacked(p, &|k, i, j| measured[k].1[[i, j]]);
    out.set_item("map", (map.operators().to_owned().into_pyarray(py), answers, measures))?;
    out.set_item("operators", kraus.into_pyarray(py))?;
    out.set_item("transported", found.pairs.mapped.into_pyarray(py))?;
    out.set_item("plan", found.pairs.plan.plan.into_pyarray(py))?;
    out.set_item("held_out", found.map.held_out)?;
    out.set_item("iterations", found.map.iterations)?;
    out.set_item("fell_back", found.map.fell_back)?;
    out.set_item("filter", found.filter.map(|f| filter(py, f)).transpose()?)?;
    out.set_item("rank", found.rank)?;
    Ok(out)
}

/// What the class filter keeps, and the evidence for it.
fn filter(py: Python<'_>, found: ClassFilter) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("kept", found.kept)?;
    out.set_item("recentring", found.recentring)?;
    out.set_item("tried", found.tried)?;
    Ok(out)
}

/// The images of matrices under a learned map, given by its parts: operators, answers and measurements.
#[pyfunction]
pub fn apply_map<'py>(
    py: Python<'py>,
    operators: PyReadonlyArray3<'py, f64>,
    answers: PyReadonlyArray3<'py, f64>,
    measures: PyReadonlyArray3<'py, f64>,
    x: PyReadonlyArray3<'py, f64>,
    single: bool,
    threads: usize,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let each = |a: &PyReadonlyArray3<'py, f64>, k: usize| a.as_array().index_axis(Axis(0), k).to_owned();
    let measured = (0..answers.as_array().dim().0.min(measures.as_array().dim().0))
        .map(|k| (each(&answers, k), each(&measures, k)))
        .collect();
    let map = PositiveMap::from_parts(operators.as_array().to_owned(), measured).map_err(refused)?;
    let x = x.as_array();
    let done = compute(py, threads, || map.apply(definite("X", x, single)?.view()).map_err(|e| e.to_string()))?;
    Ok(done.map_err(refused)?.into_pyarray(py))
}

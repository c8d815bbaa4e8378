//! `PSDCompleter`: the procedures of `repro complete`, the paper's block model, and cross-view kernel transfer.

use crate::arrays::refused;
use crate::regress::gamma;
use crate::run::{Watcher, compute, run};
use baselines::cvkt::Cvkt;
use kraus::completion::{
    Completion, CompletionParams, Cone, FillParams, Filled, HoldOut, Partial, candidates, choose, complete_watched,
    fill_from, fill_watched,
};
use kraus::{FitError, Flow, LbfgsParams, Mask, Progress, Session, Stopping};
use ndarray::{Array2, ArrayView2};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A matrix in which NaN marks what is missing, exactly symmetric where it is so up to rounding. The error names the entries.
fn partial(what: &str, m: ArrayView2<'_, f64>, tolerance: f64) -> Result<Partial, String> {
    let scale = m.iter().filter(|v| v.is_finite()).fold(0.0f64, |s, v| s.max(v.abs()));
    let mut even = m.to_owned();
    for ((i, j), v) in m.indexed_iter().filter(|(_, v)| !v.is_nan()) {
        if !v.is_finite() {
            return Err(format!("{what}: entry ({i}, {j}) is {v}; NaN marks what is missing"));
        }
        if i == j && *v < 0.0 {
            return Err(format!(
                "{what}: diagonal entry {i} is {v}, so no completion is positive semidefinite; check that it is a kernel or a covariance"
            ));
        }
        let mirror = m[[j, i]];
        if i > j && !mirror.is_nan() {
            if (v - mirror).abs() > tolerance * scale {
                return Err(format!(
                    "{what}: entries ({i}, {j}) = {v} and ({j}, {i}) = {mirror} differ; a matrix to complete is symmetric"
                ));
            }
            (even[[i, j]], even[[j, i]]) = (0.5 * (v + mirror), 0.5 * (v + mirror));
        }
    }
    Partial::from_nan(even.view()).map_err(|e| format!("{what}: {e}"))
}

fn cone(psd: Option<bool>) -> Cone {
    match psd {
        None => Cone::IfPossible,
        Some(true) => Cone::Always,
        Some(false) => Cone::No,
    }
}

fn result_dict<'py>(py: Python<'py>, m: ArrayView2<'_, f64>, done: Filled, keep: bool) -> PyResult<Bound<'py, PyDict>> {
    let full = Array2::from_shape_fn(m.dim(), |at| if keep && !m[at].is_nan() { m[at] } else { done.matrix[at] });
    let out = PyDict::new(py);
    let scores: Vec<(String, f64)> = done.scores.iter().map(|s| (s.name.clone(), s.error)).collect();
    out.set_item("scores", scores)?;
    out.set_item("rank", done.rank)?;
    out.set_item("penalty", done.penalty)?;
    out.set_item("spectrum", done.spectrum)?;
    out.set_item("moved", done.moved)?;
    out.set_item("converged", done.converged)?;
    out.set_item("empty_rows", &done.empty_rows)?;
    out.set_item("matrix", full.into_pyarray(py))?;
    Ok(out)
}

/// The chosen model of `repro complete`; `views` are other matrices of the same samples.
#[pyfunction]
#[pyo3(signature = (m, views, *, tolerance, psd, denoise, seed, threads, callback))]
pub fn complete<'py>(
    py: Python<'py>,
    m: PyReadonlyArray2<'py, f64>,
    views: Vec<PyReadonlyArray2<'py, f64>>,
    tolerance: f64,
    psd: Option<bool>,
    denoise: bool,
    seed: u64,
    threads: usize,
    callback: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let m = m.as_array();
    let views: Vec<ArrayView2<'_, f64>> = views.iter().map(|v| v.as_array()).collect();
    let params = FillParams { cone: cone(psd), denoise, seed, ..FillParams::default() };
    let done = run(py, threads, callback, |watcher| {
        let main = partial("M", m, tolerance)?;
        let others = views
            .iter()
            .enumerate()
            .map(|(k, v)| partial(&format!("view {}", k + 1), *v, tolerance))
            .collect::<Result<Vec<_>, _>>()?;
        match main.observed() == main.n() * main.n() {
            true => fill_from(&main, main.values().to_owned(), &params),
            false => fill_watched(&main, &others, &params, &watcher.kraus()),
        }
        .map_err(|e| e.to_string())
    })?
    .map_err(refused)?;
    let keep = !(denoise || psd == Some(true) && done.moved > 0.0);
    result_dict(py, m, done, keep)
}

/// One completion by blocks that the watcher can end.
fn by_blocks(
    m: &Partial,
    model: &CompletionParams,
    solver: &LbfgsParams,
    watcher: &Watcher,
    step: &str,
) -> Result<Completion, FitError> {
    let mut ended = !watcher.go_on(step, 0.0);
    let mut each = |now: &Progress| {
        ended |= !watcher.go_on(step, now.epoch as f64 / now.max.max(1) as f64);
        if ended { Flow::Cancel } else { Flow::Continue }
    };
    let done = complete_watched(m, model, solver, &mut Session { validation: None, watch: Some(&mut each) });
    if ended { Err(kraus::Error::Cancelled.into()) } else { done }
}

/// The paper's model: blocks (p, q), a rank and a depth, each given or chosen by hidden entries.
#[pyfunction]
#[pyo3(signature = (m, *, tolerance, blocks, rank, depth, clamp, psd, denoise, seed, threads, callback))]
pub fn complete_blocks<'py>(
    py: Python<'py>,
    m: PyReadonlyArray2<'py, f64>,
    tolerance: f64,
    blocks: Option<(usize, usize)>,
    rank: Option<usize>,
    depth: usize,
    clamp: Option<f64>,
    psd: Option<bool>,
    denoise: bool,
    seed: u64,
    threads: usize,
    callback: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let m = m.as_array();
    let fill = FillParams { cone: cone(psd), denoise, seed, ..FillParams::default() };
    let (done, params) = run(py, threads, callback, |watcher| {
        let partial = partial("M", m, tolerance)?;
        let n = partial.n();
        let whole_rows = !partial.empty_rows().is_empty();
        let ranks: Vec<usize> =
            rank.map_or_else(|| [1, 2, 5, 10, 20].into_iter().filter(|r| *r <= n).collect(), |r| vec![r]);
        let mut list = candidates(n, &[depth], &ranks, gamma(clamp));
        if list.is_empty() {
            let (p, q) = blocks.ok_or_else(|| format!("n = {n} cannot be cut into blocks; give blocks=(p, q)"))?;
            list = ranks.iter().map(|r| CompletionParams::deep(p, q, *r, depth, gamma(clamp))).collect();
        }
        for c in &mut list {
            let (p, q) = blocks.unwrap_or((c.p, c.q));
            let rank = rank.unwrap_or(c.rank);
            *c = match depth {
                1 => CompletionParams::single(p, q, rank),
                _ => CompletionParams::deep(p, q, rank, depth, gamma(clamp)),
            };
            c.seed = seed;
        }
        let mut different: Vec<CompletionParams> = Vec::new();
        list.into_iter().for_each(|c| {
            if !different.contains(&c) {
                different.push(c)
            }
        });
        let params = match different.as_slice() {
            [one] => one.clone(),
            several => {
                let stopping = Stopping { max: 300, tolerance: 1e-7, target: 0.0, patience: None };
                let restarts = if depth == 1 { 2 } else { 1 };
                let quick = LbfgsParams { stopping, restarts, ..LbfgsParams::default() };
                let hidden = HoldOut { rows: whole_rows, ..HoldOut::like(&partial, seed) };
                let each = |m: &Partial, c: &CompletionParams| by_blocks(m, c, &quick, watcher, "blocks and rank");
                choose(&partial, several, &hidden, each).map_err(|e| e.to_string())?.params
            }
        };
        let solver = LbfgsParams { stopping: Stopping::after(3000), restarts: 3, ..LbfgsParams::default() };
        let done = by_blocks(&partial, &params, &solver, watcher, "all entries").map_err(|e| e.to_string())?;
        let filled = fill_from(&partial, done.prediction, &fill).map_err(|e| e.to_string())?;
        Ok::<_, String>((filled, params))
    })?
    .map_err(refused)?;
    let keep = !(denoise || psd == Some(true) && done.moved > 0.0);
    let out = result_dict(py, m, done, keep)?;
    out.set_item("rank", params.rank)?;
    out.set_item("blocks", (params.p, params.q))?;
    out.set_item("depth", params.depth())?;
    Ok(out)
}

/// Cross-view kernel transfer: every view completed from the others; `observed` says which samples each view has.
#[pyfunction]
pub fn cvkt<'py>(
    py: Python<'py>,
    kernels: Vec<PyReadonlyArray2<'py, f64>>,
    observed: Vec<Vec<bool>>,
    seed: u64,
    threads: usize,
) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
    // Entries of missing samples are never read; NaN there must not reach a product.
    let kernels: Vec<Array2<f64>> =
        kernels.iter().map(|k| k.as_array().mapv(|v| if v.is_nan() { 0.0 } else { v })).collect();
    let n = kernels.first().map_or(0, |k| k.nrows());
    if let Some(v) = observed.iter().position(|seen| seen.len() != n) {
        return Err(refused(format!("view {v}: {} flags for {n} samples; give one for each", observed[v].len())));
    }
    let observed = Mask::new(Array2::from_shape_fn((n, observed.len()), |(i, v)| observed[v][i]));
    let done = compute(py, threads, || {
        let views: Vec<ArrayView2<'_, f64>> = kernels.iter().map(|k| k.view()).collect();
        let method = Cvkt { seed, ..Cvkt::default() };
        let one = |v| method.complete(&views, &observed, v).map(|t| t.completed).map_err(|e| e.to_string());
        (0..views.len()).map(one).collect::<Result<Vec<_>, _>>()
    })?
    .map_err(refused)?;
    Ok(done.into_iter().map(|m| m.into_pyarray(py)).collect())
}

//! Functions: Riemannian geometry, transport plans, kernels, and the forms of a map.

use crate::arrays::{definite, finite_matrix, refused};
use crate::run::compute;
use kraus::{Choi, KrausMap, Truncation, tr_m};
use multiview::{FeatureKernel, Similarity, Width};
use numpy::{IntoPyArray, PyArray2, PyArray3, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spd::{MeanParams, Metric, SinkhornParams};

fn metric(word: &str) -> PyResult<Metric> {
    match word {
        "riemann" => Ok(Metric::AffineInvariant),
        "logeuclid" => Ok(Metric::LogEuclidean),
        "wasserstein" => Ok(Metric::BuresWasserstein),
        other => Err(refused(format!("metric = '{other}' is not known; use riemann, logeuclid or wasserstein"))),
    }
}

/// All distances between two batches, (k, m).
#[pyfunction]
pub fn distances<'py>(
    py: Python<'py>,
    a: PyReadonlyArray3<'py, f64>,
    b: PyReadonlyArray3<'py, f64>,
    metric: &str,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (a, b, metric) = (a.as_array(), b.as_array(), self::metric(metric)?);
    let done = compute(py, threads, || {
        let (a, b) = (definite("A", a, false)?, definite("B", b, false)?);
        spd::pairwise_distances(a.view(), b.view(), metric).map_err(|e| e.to_string())
    })?;
    Ok(done.map_err(refused)?.into_pyarray(py))
}

/// The weighted mean of each group of matrices: `groups[i]` is the group of matrix i.
#[pyfunction]
#[pyo3(signature = (x, weights, groups, metric, tolerance, max_iterations, threads))]
pub fn means<'py>(
    py: Python<'py>,
    x: PyReadonlyArray3<'py, f64>,
    weights: Option<Vec<f64>>,
    groups: Vec<usize>,
    metric: &str,
    tolerance: f64,
    max_iterations: usize,
    threads: usize,
) -> PyResult<(Bound<'py, PyArray3<f64>>, Vec<bool>)> {
    let (x, metric) = (x.as_array(), self::metric(metric)?);
    let params = MeanParams { tolerance, max_iterations }.check().map_err(refused)?;
    let done = compute(py, threads, || {
        let x = definite("X", x, false)?;
        let count = groups.iter().max().map_or(0, |g| g + 1);
        let weight = |i: usize| weights.as_ref().map_or(1.0, |w| w[i]);
        let selections: Vec<spd::Selection> = (0..count)
            .map(|g| (0..groups.len()).filter(|i| groups[*i] == g).map(|i| (i, weight(i))).collect())
            .collect();
        spd::means(x.view(), &selections, metric, &params).map_err(|e| e.to_string())
    })?
    .map_err(refused)?;
    let n = x.dim().1;
    let stacked = ndarray::Array3::from_shape_fn((done.len(), n, n), |(k, i, j)| done[k].matrix[[i, j]]);
    Ok((stacked.into_pyarray(py), done.iter().map(|m| m.converged).collect()))
}

/// An entropic transport plan, and how it was found.
#[pyfunction]
pub fn sinkhorn<'py>(
    py: Python<'py>,
    cost: PyReadonlyArray2<'py, f64>,
    a: PyReadonlyArray1<'py, f64>,
    b: PyReadonlyArray1<'py, f64>,
    regularisation: f64,
    iterations: usize,
    tolerance: f64,
    threads: usize,
) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyDict>)> {
    let (cost, a, b) = (cost.as_array(), a.as_array(), b.as_array());
    let params = SinkhornParams { regularisation, iterations, tolerance }.check().map_err(refused)?;
    let plan = compute(py, threads, || {
        finite_matrix("M", cost)?;
        spd::sinkhorn_any(cost, a, b, &params).map_err(|e| e.to_string())
    })?
    .map_err(refused)?;
    let log = PyDict::new(py);
    log.set_item("iterations", plan.iterations)?;
    log.set_item("marginal_error", plan.marginal_error)?;
    log.set_item("log_domain", plan.log_domain)?;
    Ok((plan.plan.into_pyarray(py), log))
}

/// Kernel values of the rows of `x` with the rows of `train`, and the width.
#[pyfunction]
#[pyo3(signature = (kind, train, x, rule, value, threads))]
pub fn kernel<'py>(
    py: Python<'py>,
    kind: &str,
    train: PyReadonlyArray2<'py, f64>,
    x: Option<PyReadonlyArray2<'py, f64>>,
    rule: &str,
    value: f64,
    threads: usize,
) -> PyResult<(Bound<'py, PyArray2<f64>>, Option<f64>)> {
    let similarity = if kind == "chi2" { Similarity::Chi2 } else { Similarity::Rbf };
    let width = match rule {
        "mean" => Width::Mean,
        "median" => Width::Median,
        "published" => Width::Published,
        _ => Width::Value(value),
    };
    let (train, x) = (train.as_array(), x.as_ref().map(|x| x.as_array()));
    let (k, w) = compute(py, threads, || -> Result<_, String> {
        finite_matrix("X", train)?;
        let kernel = FeatureKernel::fit(similarity, width, train).map_err(|e| e.to_string())?;
        let matrix = match x {
            Some(x) => finite_matrix("Y", x).map(|()| kernel.matrix(x))?,
            None => kernel.train_matrix(),
        };
        Ok((matrix.map_err(|e| e.to_string())?, kernel.width()))
    })?
    .map_err(refused)?;
    Ok((k.into_pyarray(py), w))
}

/// tr_m of a (q m) x (q m) matrix.
#[pyfunction]
pub fn partial_trace<'py>(
    py: Python<'py>,
    matrix: PyReadonlyArray2<'py, f64>,
    m: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    Ok(tr_m(matrix.as_array(), m).map_err(refused)?.into_pyarray(py))
}

/// The Choi matrix of operators (r, q, p) with signs.
#[pyfunction]
#[pyo3(signature = (operators, signs))]
pub fn choi<'py>(
    py: Python<'py>,
    operators: PyReadonlyArray3<'py, f64>,
    signs: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let ops = operators.as_array();
    let signs = signs.map_or_else(|| vec![1.0; ops.dim().0], |s| s.as_array().to_vec());
    if signs.len() != ops.dim().0 || signs.iter().any(|s| *s != 1.0 && *s != -1.0) {
        return Err(refused(format!("signs: expected one +1 or -1 for each of {} operators", ops.dim().0)));
    }
    let mut sum: Option<ndarray::Array2<f64>> = None;
    for sign in [1.0, -1.0] {
        let these: Vec<usize> = (0..signs.len()).filter(|k| signs[*k] == sign).collect();
        if these.is_empty() {
            continue;
        }
        let map = KrausMap::new(ops.select(ndarray::Axis(0), &these)).map_err(refused)?;
        let part = map.choi().matrix().mapv(|v| sign * v);
        sum = Some(sum.map_or(part.clone(), |s| s + &part));
    }
    let sum = sum.ok_or_else(|| refused("operators: a map needs at least one"))?;
    Ok(sum.into_pyarray(py))
}

/// Operators of a completely positive map, largest first.
#[pyfunction]
#[pyo3(signature = (matrix, p, rank, tolerance))]
pub fn kraus_from_choi<'py>(
    py: Python<'py>,
    matrix: PyReadonlyArray2<'py, f64>,
    p: usize,
    rank: Option<usize>,
    tolerance: f64,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let matrix = matrix.as_array();
    finite_matrix("C", matrix).map_err(refused)?;
    if p == 0 || !matrix.nrows().is_multiple_of(p) {
        return Err(refused(format!("p = {p} does not divide the {} rows of C, which are p q", matrix.nrows())));
    }
    let choi = Choi::new(p, matrix.nrows() / p, matrix.to_owned()).map_err(refused)?;
    let keep = rank.map_or(Truncation::Above(tolerance), Truncation::Rank);
    Ok(choi.to_kraus(keep).map_err(refused)?.into_ops().into_pyarray(py))
}

//! `KrausRegressor`: the procedure of `repro fit`, and models as it writes them.

use crate::arrays::{disk, refused, tidy};
use crate::run::{compute, run};
use kraus::regress::{
    Family, FitParams, Method, Outcome, Pairs, Positivity, SavedAffine, Score, SolverPlan, fit_watched,
};
use kraus::{BoundParams, BoundVersion, Gamma, Stop};
use linalg::is_symmetric;
use numpy::{IntoPyArray, PyArray2, PyArray3, PyReadonlyArray3};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A fitted model: completely positive layers, or one map with signs and intercept.
#[pyclass(frozen, module = "kraus._kraus")]
pub struct Model(pub kraus::regress::Model);

fn method(word: &str) -> PyResult<Method> {
    Ok(match word {
        "auto" => Method::Auto,
        "adam" => Method::Adam,
        "lbfgs" => Method::Lbfgs,
        "closed-form" => Method::ClosedForm,
        "block-coordinate" => Method::BlockCoordinate,
        other => {
            let known = "auto, adam, lbfgs, closed-form or block-coordinate";
            return Err(refused(format!("solver = '{other}' is not known; use {known}")));
        }
    })
}

fn family(word: &str) -> PyResult<Family> {
    match (word, Positivity::of(word)) {
        ("auto", _) => Ok(Family::Auto),
        (_, Some(p)) => Ok(Family::Only(p)),
        (other, None) => {
            Err(refused(format!("positivity = '{other}' is not known; use auto, complete, output or none")))
        }
    }
}

/// `None`, or the least eigenvalue between layers.
pub fn gamma(clamp: Option<f64>) -> Gamma {
    clamp.map_or(Gamma::None, Gamma::Clamp)
}

/// Fits; what was found as a dictionary.
#[pyfunction]
#[pyo3(signature = (x, y, *, single, positivity, solver, hidden, clamp, max_iter, batch_size, learning_rate, restarts, seed, rank, ranks, noise_free, folds, memory, threads, callback))]
pub fn fit<'py>(
    py: Python<'py>,
    x: PyReadonlyArray3<'py, f64>,
    y: PyReadonlyArray3<'py, f64>,
    single: (bool, bool),
    positivity: &str,
    solver: &str,
    hidden: Vec<usize>,
    clamp: Option<f64>,
    max_iter: Option<usize>,
    batch_size: usize,
    learning_rate: f64,
    restarts: usize,
    seed: u64,
    rank: Option<usize>,
    ranks: Option<Vec<usize>>,
    noise_free: bool,
    folds: usize,
    memory: u64,
    threads: usize,
    callback: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, y) = (x.as_array(), y.as_array());
    let plan = SolverPlan {
        method: method(solver)?,
        hidden,
        gamma: gamma(clamp),
        epochs: max_iter,
        batch: batch_size,
        rate: learning_rate,
        restarts,
        seed,
    };
    let only = ranks.is_some();
    let ranks = ranks.unwrap_or_else(|| (1..=20).collect());
    let mut params = FitParams { family: family(positivity)?, plan, rank, ranks, only_ranks: only, noise_free, seed };
    let found = run(py, threads, callback, |watcher| -> Result<_, String> {
        let (x, y) = (tidy("X", x, single.0)?, tidy("Y", y, single.1)?);
        let lopsided = y.outer_iter().position(|m| !is_symmetric(m, 1e-9));
        params.only_ranks |= lopsided.is_some();
        let limit = if params.plan.samples_for().is_some() { 0 } else { memory };
        let folds = if noise_free || folds < 2 { 1 } else { folds };
        let began = Instant::now();
        let pairs = Pairs::new(x, y, folds, seed, limit).map_err(|e| e.to_string())?;
        let outcome = fit_watched(&pairs, &params, &watcher.kraus()).map_err(|e| e.to_string())?;
        let seconds = began.elapsed().as_secs_f64();
        Ok((outcome, pairs.asymmetric, lopsided, pairs.peak, pairs.mean_square, seconds))
    })?;
    let (outcome, asymmetric, lopsided, peak, mean_square, seconds) = found.map_err(refused)?;
    let out = PyDict::new(py);
    out.set_item("asymmetric", asymmetric)?;
    out.set_item("lopsided", lopsided)?;
    out.set_item("peak", peak)?;
    out.set_item("mean_square", mean_square)?;
    out.set_item("seconds", seconds)?;
    out.set_item("reason", &outcome.reason)?;
    add_model(py, outcome, &out)?;
    Ok(out)
}

/// Adds the model, its curve and how its fit ended.
fn add_model(py: Python<'_>, outcome: Outcome, out: &Bound<'_, PyDict>) -> PyResult<()> {
    let curve =
        |scores: &[Score]| -> Vec<(usize, Vec<f64>)> { scores.iter().map(|s| (s.rank, s.folds.clone())).collect() };
    let model = match (outcome.regression, outcome.unpenalised) {
        (Some(found), _) if outcome.use_regression => {
            let tried: Vec<_> =
                found.tried.iter().map(|t| (t.complete, curve(&t.curve), t.chosen, t.note.clone())).collect();
            out.set_item("tried", tried)?;
            out.set_item("converged", found.converged)?;
            out.set_item("iterations", found.iterations)?;
            // The notes that `repro fit` saves.
            let how = found.chosen().map(|t| t.note.clone()).unwrap_or_default();
            let notes = vec![found.reason.clone(), how];
            kraus::regress::Model::Affine(SavedAffine { map: found.map, notes })
        }
        (_, Some(found)) => {
            out.set_item("tried", vec![(true, curve(&found.curve), found.chosen, "no penalty, no intercept")])?;
            out.set_item("train", found.train)?;
            let history = &found.fit.history;
            // Adam runs the epochs it is given.
            out.set_item("converged", history.stop != Stop::Max || history.solver == "adam")?;
            out.set_item("iterations", history.loss.len())?;
            kraus::regress::Model::Stack(found.fit)
        }
        _ => return Err(refused("nothing was fitted")),
    };
    out.set_item("model", Bound::new(py, Model(model))?)
}

#[pymethods]
impl Model {
    /// Reads a model that `save` or `repro fit` wrote.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        kraus::regress::Model::load(&path).map(Model).map_err(disk)
    }

    /// The model of the bytes that `to_bytes` gave.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        kraus::regress::Model::from_bytes(Path::new("the pickled model"), bytes).map(Model).map_err(disk)
    }

    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.0.save(&path).map_err(disk)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes()?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Model>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    #[getter]
    fn p(&self) -> usize {
        self.0.p()
    }

    #[getter]
    fn q(&self) -> usize {
        self.0.q()
    }

    /// Operators of each layer, (r, q, p).
    #[getter]
    fn layers<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyArray3<f64>>> {
        let one = |map: &kraus::KrausMap<f64>| map.ops().to_owned().into_pyarray(py);
        match &self.0 {
            kraus::regress::Model::Stack(fit) => fit.model.layers().iter().map(one).collect(),
            kraus::regress::Model::Affine(saved) => vec![one(saved.map.map())],
        }
    }

    /// +1 or -1 for each operator of a map with signs.
    #[getter]
    fn signs(&self) -> Option<Vec<f64>> {
        match &self.0 {
            kraus::regress::Model::Stack(_) => None,
            kraus::regress::Model::Affine(saved) => Some(saved.map.signs().to_vec()),
        }
    }

    #[getter]
    fn intercept<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray2<f64>>> {
        match &self.0 {
            kraus::regress::Model::Stack(_) => None,
            kraus::regress::Model::Affine(saved) => saved.map.intercept().map(|b| b.to_owned().into_pyarray(py)),
        }
    }

    #[getter]
    fn positivity(&self) -> &'static str {
        match &self.0 {
            kraus::regress::Model::Stack(_) => Positivity::Complete.as_str(),
            kraus::regress::Model::Affine(saved) => saved.map.positivity().as_str(),
        }
    }

    /// The clamp between layers.
    #[getter]
    fn clamp(&self) -> Option<f64> {
        match &self.0 {
            kraus::regress::Model::Stack(fit) => match fit.model.architecture().gamma {
                Gamma::Clamp(eps) => Some(eps),
                Gamma::None => None,
            },
            kraus::regress::Model::Affine(_) => None,
        }
    }

    /// Solver, losses and notes.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        match &self.0 {
            kraus::regress::Model::Stack(fit) => {
                out.set_item("solver", &fit.history.solver)?;
                out.set_item("loss", &fit.history.loss)?;
                out.set_item("stop", format!("{:?}", fit.history.stop).to_lowercase())?;
                out.set_item("notes", &fit.history.notes)?;
            }
            kraus::regress::Model::Affine(saved) => {
                out.set_item("solver", "validated family")?;
                out.set_item("loss", Vec::<f64>::new())?;
                out.set_item("stop", "")?;
                out.set_item("notes", &saved.notes)?;
            }
        }
        Ok(out)
    }

    /// The outputs of a batch, and how many left the cone.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray3<'py, f64>,
        single: bool,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyArray3<f64>>, usize)> {
        let x = x.as_array();
        let model = &self.0;
        let done = compute(py, threads, || {
            let x = tidy("X", x, single)?;
            model.apply(x.view()).map_err(|e| e.to_string())
        })?;
        let (y, outside) = done.map_err(refused)?;
        Ok((y.into_pyarray(py), outside))
    }
}

/// Theorem 4: complexity and confidence terms, and the pseudo-dimension.
#[pyfunction]
pub fn bound(
    l: usize,
    p: usize,
    q: usize,
    rank: usize,
    gamma: f64,
    delta: f64,
    version: &str,
) -> PyResult<(f64, f64, f64)> {
    let version = match version {
        "proved" => BoundVersion::AsProved,
        "printed" => BoundVersion::AsPrinted,
        other => return Err(refused(format!("version = '{other}' is not known; use proved or printed"))),
    };
    let b = kraus::bound(&BoundParams { l, p, q, rank, gamma, delta }, version).map_err(refused)?;
    Ok((b.complexity, b.confidence, b.pseudo_dimension))
}

//! Completion for people's own matrices: the best of several models by validation, positive semidefinite where possible.
//!
//! By theorem 5 one Kraus map completes M by a positive semidefinite matrix Z = W W^T of low rank. On real kernels two things decide the
//! error: a penalty lambda tr(Z), and a diagonal of its own, because a kernel's diagonal holds what each sample has for itself:
//!
//! M ~ Z + D, Z positive semidefinite, D diagonal: min 1/2 ||mask o (Z - M)||_F^2 + lambda tr(Z) over the entries off the diagonal.
//!
//! | file | what |
//! |---|---|
//! | `spectrum` | leading eigenpairs by subspace iteration |
//! | `shrink` | the minimum above along a path of penalties (softImpute on the cone) |
//! | `polish` | the same objective in W by L-BFGS, with the penalty as it is or lowered |
//! | `walk` | one model along the path, and with the penalty lowered at its end |
//! | `trial` | one draw of hidden entries, and how wrong every model is there |
//! | `entries` | single missing entries: the model that several draws like best, fitted to all |
//! | `rows` | whole missing rows: the mean of the others, what other views say, or neighbours in the order |
//! | `views` | the regression on other views |
//! | `hide` | which observed entries validation hides: missing the way the data miss them |
//! | `cone` | the nearest positive semidefinite matrix that keeps the observed entries |
//!
//! [`fill`] does all of it and reports the validation error of every candidate, of softImpute, of the mean and of zero.

mod cone;
mod entries;
mod hide;
mod polish;
mod rows;
mod shrink;
mod spectrum;
mod trial;
mod views;
mod walk;

/// What the regression shares with the completion.
pub(crate) mod spectral {
    pub(crate) use super::spectrum::{leading_pairs, product};
}

use super::partial::Partial;
use crate::error::{InputError, Result};
use estimator::Mask;
use linalg::eigh;
use ndarray::Array2;

/// What the completed matrix must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cone {
    /// Positive semidefinite if that is possible with every observed entry as it is.
    #[default]
    IfPossible,
    /// Positive semidefinite in any case: observed entries move as little as that needs.
    Always,
    /// Whatever the model predicts.
    No,
}

/// How to fill.
#[derive(Debug, Clone, Default)]
pub struct FillParams {
    /// Positive semidefinite or not.
    pub cone: Cone,
    /// The model's value at observed entries too, instead of the observed value.
    pub denoise: bool,
    /// Never infer missing rows from their neighbours in the order of the samples.
    pub ignore_order: bool,
    /// Seed of what validation hides.
    pub seed: u64,
}

/// Relative error of one way to fill on entries that validation hid.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// The way, in words.
    pub name: String,
    /// ||prediction - truth|| / ||truth|| over the hidden entries.
    pub error: f64,
}

/// A filled matrix and what is known about it.
#[derive(Debug, Clone)]
pub struct Filled {
    /// The result: observed entries as they were unless the parameters allow otherwise.
    pub matrix: Array2<f64>,
    /// Validation errors: the chosen way first, then softImpute, mean, zero and the other candidates.
    pub scores: Vec<Score>,
    /// Rank of the low-rank part.
    pub rank: usize,
    /// Its penalty.
    pub penalty: f64,
    /// Least and largest eigenvalue of `matrix`.
    pub spectrum: (f64, f64),
    /// ||matrix - its nearest positive semidefinite matrix||_F / ||matrix||_F.
    pub outside: f64,
    /// Largest change of an observed entry over the largest observed entry.
    pub moved: f64,
    /// Rows without any observed entry.
    pub empty_rows: Vec<usize>,
    /// Whether such rows come from their neighbours in the order of the samples: another order gives another result then.
    pub by_order: bool,
    /// Whether the last iteration reached its tolerance.
    pub converged: bool,
}

impl Filled {
    /// The validation error of the chosen way.
    pub fn error(&self) -> f64 {
        self.scores.first().map_or(f64::NAN, |s| s.error)
    }

    /// Whether the matrix is positive semidefinite up to rounding.
    pub fn is_psd(&self) -> bool {
        self.spectrum.0 >= -1e-10 * self.spectrum.1.abs().max(self.spectrum.0.abs())
    }
}

/// A prediction of every entry, and how it came about.
#[derive(Debug, Clone)]
struct Prediction {
    matrix: Array2<f64>,
    rank: usize,
    penalty: f64,
    converged: bool,
}

/// Fills what is missing. `views` are other matrices of the same samples (kernels, say), which may miss rows too.
///
/// ```
/// use kraus::completion::{FillParams, Partial, fill};
/// use ndarray::Array2;
/// let w = Array2::from_shape_fn((30, 2), |(i, k)| ((i * (k + 2)) as f64).sin());
/// let truth = w.dot(&w.t());
/// let mut m = truth.clone();
/// for i in 0..20 { (m[[i, i + 7]], m[[i + 7, i]]) = (f64::NAN, f64::NAN); }
/// let done = fill(&Partial::from_nan(m.view()).unwrap(), &[], &FillParams::default()).unwrap();
/// assert!((0..20).all(|i| (done.matrix[[i, i + 7]] - truth[[i, i + 7]]).abs() < 0.02));
/// ```
pub fn fill(partial: &Partial, views: &[Partial], params: &FillParams) -> Result<Filled> {
    fill_watched(partial, views, params, &|_, _| Ok(()))
}

/// Called with the name of the present step and its share done; an error ends the work.
pub type Watch<'a> = &'a (dyn Fn(&str, f64) -> Result<()> + Sync);

/// [`fill`] with a watcher for progress and for cancelling.
pub fn fill_watched(partial: &Partial, views: &[Partial], params: &FillParams, watch: Watch<'_>) -> Result<Filled> {
    let n = partial.n();
    if let Some(view) = views.iter().find(|v| v.n() != n) {
        return Err(InputError::shape("view", [n, n], [view.n(), view.n()]).into());
    }
    let empty = partial.empty_rows();
    let seen: Vec<usize> = (0..n).filter(|i| !empty.contains(i)).collect();
    let inner = select(partial, &seen)?;
    let (mut prediction, mut scores, mut by_order) = (None, Vec::new(), false);
    if inner.observed() < seen.len() * seen.len() {
        let (found, inner_scores) = entries::fill(&inner, params.seed, watch)?;
        (prediction, scores) = (Some(found), inner_scores);
    }
    let observed = prediction.as_ref().map_or_else(|| inner.values().to_owned(), |p| inner.filled(p.matrix.view()));
    if !empty.is_empty() {
        watch("missing rows", 0.0)?;
        let found = rows::fill(n, &seen, observed.view(), views, params.ignore_order, params.seed)?;
        scores = merge(scores, found.scores, partial, &inner);
        by_order = found.by_order;
        let mut whole = found.prediction;
        if let Some(p) = &prediction {
            // Where rows are seen the model of the entries speaks.
            for (a, &i) in seen.iter().enumerate() {
                for (b, &j) in seen.iter().enumerate() {
                    whole.matrix[[i, j]] = p.matrix[[a, b]];
                }
            }
            (whole.rank, whole.penalty, whole.converged) = (p.rank, p.penalty, p.converged);
        }
        prediction = Some(whole);
    }
    // Nothing was missing: the matrix itself is its prediction.
    let prediction = prediction.unwrap_or(Prediction { matrix: observed, rank: n, penalty: 0.0, converged: true });
    watch("positive semidefinite", 0.0)?;
    let done = finish(partial, prediction, scores, empty, params)?;
    Ok(Filled { by_order, ..done })
}

/// Finishes a prediction that came from elsewhere: puts observed entries back and brings the result into the cone as the parameters say.
pub fn fill_from(partial: &Partial, prediction: Array2<f64>, params: &FillParams) -> Result<Filled> {
    let n = partial.n();
    if prediction.dim() != (n, n) {
        return Err(InputError::shape("prediction", [n, n], prediction.shape()).into());
    }
    let prediction = Prediction { matrix: prediction, rank: 0, penalty: 0.0, converged: true };
    finish(partial, prediction, vec![], partial.empty_rows(), params)
}

/// The rows and columns of `keep`.
fn select(partial: &Partial, keep: &[usize]) -> Result<Partial> {
    let (size, all, mask) = ((keep.len(), keep.len()), partial.values(), partial.mask());
    let values = Array2::from_shape_fn(size, |(a, b)| all[[keep[a], keep[b]]]);
    let seen = Array2::from_shape_fn(size, |(a, b)| mask[[keep[a], keep[b]]]);
    Partial::new(values.view(), &Mask::new(seen))
}

/// Scores of entries and of rows in one list: squares weighted by how many missing entries are of each kind.
fn merge(entries: Vec<Score>, rows: Vec<Score>, partial: &Partial, inner: &Partial) -> Vec<Score> {
    let (n, k) = (partial.n(), inner.n());
    let single = (k * k - inner.observed()) as f64;
    let whole = (n * n - k * k) as f64;
    if entries.is_empty() {
        return rows;
    }
    let find = |list: &[Score], name: &str| list.iter().find(|s| s.name == name).map(|s| s.error);
    let mix = |a: f64, b: f64| ((single * a * a + whole * b * b) / (single + whole)).sqrt();
    let mut out = vec![Score {
        name: format!("{}; rows: {}", entries[0].name, rows[0].name),
        error: mix(entries[0].error, rows[0].error),
    }];
    for name in [SOFT, MEAN, ZERO] {
        if let (Some(a), Some(b)) = (find(&entries, name), find(&rows, name)) {
            out.push(Score { name: name.into(), error: mix(a, b) });
        }
    }
    out
}

/// Name of the rival with a penalty alone.
const SOFT: &str = "softImpute";
/// Name of the rival that fills with the mean of what is observed.
const MEAN: &str = "mean";
/// Name of the rival that fills with zero.
const ZERO: &str = "zero";

fn finish(
    partial: &Partial,
    prediction: Prediction,
    scores: Vec<Score>,
    empty_rows: Vec<usize>,
    params: &FillParams,
) -> Result<Filled> {
    let start = if params.denoise { prediction.matrix.clone() } else { partial.filled(prediction.matrix.view()) };
    let matrix = match params.cone {
        Cone::No => start,
        _ if params.denoise => cone::nearest(&start)?,
        cone => {
            let expected = scores.first().map_or(f64::INFINITY, |s| s.error);
            cone::keep(partial, start, cone == Cone::Always, expected)?
        }
    };
    let values = eigh(matrix.view())?.values;
    let norm = values.iter().map(|v| v * v).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
    let outside = values.iter().map(|v| v.min(0.0).powi(2)).sum::<f64>().sqrt() / norm;
    let (mut moved, mut scale) = (0.0f64, f64::MIN_POSITIVE);
    for (at, _) in partial.mask().flags().indexed_iter().filter(|(_, w)| **w) {
        moved = moved.max((matrix[at] - partial.values()[at]).abs());
        scale = scale.max(partial.values()[at].abs());
    }
    Ok(Filled {
        matrix,
        scores,
        rank: prediction.rank,
        penalty: prediction.penalty,
        spectrum: (values[0], values[values.len() - 1]), // n >= 1: `Partial` refuses empty matrices
        outside,
        moved: moved / scale,
        empty_rows,
        by_order: false,
        converged: prediction.converged,
    })
}

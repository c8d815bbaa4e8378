//! The aligned closed form: a Kraus map from the least squares map, without iteration, where 2r <= p + 1.
//!
//! Symmetric inputs show only S_ac = sym(B_a B_c^T), with B_a (p, r) the a-th rows of the operators as columns: half of the
//! Choi matrix. Its eigenvectors are therefore wrong, but the diagonal blocks S_aa = B_a B_a^T are exact Gram
//! matrices. So
//!
//! 1. factor each S_aa = V_a D_a V_a^T, which gives B_a up to a rotation of its columns;
//! 2. for a reference row o, find the rotation of every other row c from S_oc = sym(V_o T V_c^T), linear in T = D_o^1/2 R D_c^1/2.
//!    With the singular values V_o^T V_c = U cos W^T the normal equations fall apart into pairs: for P = U^T V_o^T S_oc V_c W,
//!    P_ij = (T_ij + s T_ji) / 2 with s = cos_i cos_j, which has one solution unless s = 1 for some i != j. Two unit
//!    cosines mean that the row spaces share a plane, which generic rows do not when 2r <= p + 1;
//! 3. replace R by the nearest orthogonal matrix (Procrustes).
//!
//! Exact without noise. With noise it is a good start for [`Lbfgs`](crate::Lbfgs). Large noise-free maps are found from two
//! rows of the output, without moments: `from_two_output_rows.rs`.

use crate::data::problem::{Inputs, Problem};
use crate::error::FitError;
use crate::map::KrausMap;
use crate::map::Stack;
use crate::solvers::from_two_output_rows::{from_two_output_rows, samples_needed};
use crate::solvers::moments::choice::moments_of;
use crate::solvers::moments::objective::pair;
use crate::solvers::moments::{Basis, LeastSquares, Moments, OFF_DIAGONAL};
use crate::solvers::{Fit, Fitted, Recorder, Session, Solver, Start, Stop, Stopping};
use crate::tolerances::{ALIGN_TOLERANCE, RANK_TOLERANCE, noise_free};
use linalg::{Real, eigh, matmul, smat, svd};
use ndarray::{Array1, Array2, Array3, ArrayView2, ArrayView3, Axis, s};

fn refuse(why: String) -> FitError {
    FitError::Unsupported { solver: "closed-form", why }
}

/// The top eigenpairs of one diagonal block: S_aa = vectors diag(values) vectors^T, descending.
struct Row {
    vectors: Array2<f64>,
    values: Array1<f64>,
}

/// The map of rank r that the moments determine; see the module for the construction.
///
/// Refuses 2r > p + 1, moments that are not in the symmetric basis, and samples that do not determine the least
/// squares map.
pub fn closed_form(moments: &Moments, rank: usize) -> Result<KrausMap<f64>, FitError> {
    let p = moments.p();
    if rank == 0 {
        return Err(crate::Error::RankZero.into());
    }
    if moments.basis() != Basis::Symmetric {
        return Err(refuse("it needs symmetric inputs; use lbfgs for others".into()));
    }
    if 2 * rank > p + 1 {
        return Err(refuse(format!("it needs 2 rank <= p + 1, here rank {rank} and p = {p}; use lbfgs")));
    }
    let ls = moments.least_squares().map_err(|e| match e {
        FitError::Unsupported { why, .. } => refuse(why),
        other => other,
    })?;
    aligned(&ls, p, moments.q(), rank)
}

/// [`closed_form`] from a least squares map in the symmetric basis.
pub fn aligned(ls: &LeastSquares, p: usize, q: usize, rank: usize) -> Result<KrausMap<f64>, FitError> {
    let block = |a: usize, c: usize| smat(ls.coefficients.row(pair(a.min(c), a.max(c), q)), p);
    let mut rows = Vec::with_capacity(q);
    for a in 0..q {
        let e = eigh(block(a, a)?.view())?;
        let vectors = e.vectors.slice(s![.., ..;-1]).slice(s![.., ..rank]).to_owned();
        let values = e.values.slice(s![..;-1]).slice(s![..rank]).mapv(|v| v.max(0.0));
        rows.push(Row { vectors, values });
    }
    // The reference row is the one whose weakest direction is strongest. Where even that one has fewer than `rank`
    // directions the map has a lower rank, and the operators beyond it are zero.
    let largest = rows.iter().map(|r| r.values[0]).fold(0.0, f64::max);
    if largest == 0.0 {
        return Err(refuse("the least squares map has no positive part; Y does not look like a Kraus map of X".into()));
    }
    let numeric = |r: &Row| r.values.iter().filter(|v| **v > RANK_TOLERANCE * largest).count();
    let used = rows.iter().map(numeric).max().unwrap_or(0); // q >= 1 rows, so there is a largest
    let strength = |r: &Row| r.values[used - 1];
    let o = (0..q).reduce(|b, a| if strength(&rows[a]) > strength(&rows[b]) { a } else { b }).unwrap_or(0); // q >= 1
    let mut ops = Array3::zeros((rank, q, p));
    let reference = Row {
        vectors: rows[o].vectors.slice(s![.., ..used]).to_owned(),
        values: rows[o].values.slice(s![..used]).to_owned(),
    };
    for (c, row) in rows.iter().enumerate() {
        let (v, d) = (row.vectors.slice(s![.., ..used]), row.values.slice(s![..used]).mapv(f64::sqrt));
        let b = &v * &d;
        let b = if c == o {
            b
        } else {
            let s = block(o, c)? / OFF_DIAGONAL;
            let rotation = rotation(&reference, v, &d, RANK_TOLERANCE.sqrt() * largest.sqrt(), s.view(), (o, c))?;
            matmul(b.view(), rotation.t())
        };
        ops.slice_mut(s![..used, c, ..]).assign(&b.t());
    }
    Ok(KrausMap::new(ops)?)
}

/// The orthogonal R with S = sym(B_o R B_c^T), where B_c = v diag(d).
fn rotation(
    o: &Row,
    v: ArrayView2<'_, f64>,
    d: &Array1<f64>,
    smallest: f64,
    s: ArrayView2<'_, f64>,
    (row, other): (usize, usize),
) -> Result<Array2<f64>, FitError> {
    let r = d.len();
    let angles = svd(matmul(o.vectors.t(), v).view())?;
    let left = matmul(o.vectors.view(), angles.u.view());
    let right = matmul(v, angles.vt.t());
    let p = matmul(matmul(left.t(), s).view(), right.view());
    let cos = angles.s.mapv(|c| c.min(1.0));
    if r > 1 && 1.0 - cos[0] * cos[1] < ALIGN_TOLERANCE {
        return Err(refuse(format!(
            "rows {row} and {other} of the operators share a plane, which leaves their alignment open; use lbfgs"
        )));
    }
    let t = Array2::from_shape_fn((r, r), |(i, j)| {
        let s = cos[i] * cos[j];
        if i == j { 2.0 * p[[i, i]] / (1.0 + s) } else { 2.0 * (p[[i, j]] - s * p[[j, i]]) / (1.0 - s * s) }
    });
    let mut t = matmul(matmul(angles.u.view(), t.view()).view(), angles.vt.view());
    for ((i, j), t) in t.indexed_iter_mut() {
        // A direction that row c does not have tells nothing about the rotation.
        *t = if d[j] > smallest { *t / (o.values[i].sqrt() * d[j]) } else { 0.0 };
    }
    let polar = svd(t.view())?;
    Ok(matmul(polar.u.view(), polar.vt.view()))
}

fn mean_square<T: Real>(y: ArrayView3<'_, T>) -> f64 {
    y.iter().map(|v| v.as_f64() * v.as_f64()).sum::<f64>() / y.len() as f64
}

fn typed<T: Real>(map: KrausMap<f64>) -> Result<Stack<T>, FitError> {
    Ok(Stack::from(KrausMap::new(map.into_ops().mapv(T::of))?))
}

/// The closed form from few samples: a quarter more than X has coordinates or, where these are many, from two rows of the
/// output. Returns the model, a sentence about the samples used, and the loss on other samples. None where there are
/// hardly more samples than that, or where the model does not fit the others: noisy data need all samples.
fn from_few<T: Real>(problem: &Problem<'_, T>, rank: usize) -> Result<Option<(Stack<T>, String, f64)>, FitError> {
    let Inputs::Matrices(x) = problem.inputs() else { return Ok(None) };
    let (l, coordinates) = (problem.len(), Basis::Symmetric.len(problem.p()));
    let few = coordinates + coordinates / 4 + 16;
    let by_rows = samples_needed(l, problem.p(), problem.q());
    let possible = !problem.is_masked() && problem.is_symmetric() && 2 * rank <= problem.p() + 1;
    if !possible || (by_rows.is_none() && l < 4 * few) {
        return Ok(None);
    }
    // Evenly spread over all, in case they are sorted.
    let pick = |count: usize, from: usize| (0..count).map(|i| (i * l / count + from) % l).collect::<Vec<_>>();
    let part = |at: &[usize]| (x.view().select(Axis(0), at), problem.targets().select(Axis(0), at));
    let chosen = pick(by_rows.unwrap_or(few), 0);
    let map = if by_rows.is_some() {
        from_two_output_rows(x.view(), problem.targets(), &chosen, rank)
    } else {
        let (x_few, y_few) = part(&chosen);
        closed_form(&Moments::of(x_few.view(), y_few.view(), Basis::Symmetric)?, rank).ok()
    };
    let Some(map) = map else { return Ok(None) };
    let model = typed(map)?;
    let (x_other, y_other) = part(&pick(OTHERS, 1));
    let loss = model.mse(&Problem::matrices(x_other.view(), y_other.view())?)?;
    let fits = loss <= noise_free::<T>() * mean_square(y_other.view());
    let note = match by_rows {
        Some(few) => format!("from two rows, by conjugate gradients on {few} of {l} samples"),
        None => format!("from {few} of {l} samples, which fits the others too"),
    };
    Ok(fits.then_some((model, note, loss)))
}

/// A closed form from few samples must fit this many others before its loss on all samples is computed.
const OTHERS: usize = 32;

/// [`closed_form`] as a solver: the start gives the rank only.
///
/// Noise-free data are fitted by few of their samples and confirmed on all: zero loss is the optimum, whatever found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClosedForm;

impl<T: Real> Solver<T> for ClosedForm {
    fn name(&self) -> &'static str {
        "closed-form"
    }

    fn fit_with(&self, problem: &Problem<'_, T>, start: Start<T>, session: &mut Session<'_, T>) -> Fitted<T> {
        let arch = start.architecture()?;
        if arch.ranks.len() != 1 || arch.dims != [problem.p(), problem.q()] {
            return Err(refuse("it fits one map between the sizes of the data; use lbfgs for deeper stacks".into()));
        }
        let mut recorder = Recorder::new("closed-form", Stopping::after(2));
        let validate =
            |model: &Stack<T>, session: &Session<'_, T>| session.validation.map(|v| model.mse(v)).transpose();
        if let Some((model, note, loss)) = from_few(problem, arch.ranks[0])? {
            let validation = validate(&model, session)?;
            let cancelled = recorder.record(loss, validation, session)? == Some(Stop::Cancelled);
            let scale = mean_square(problem.targets());
            let all = if cancelled { loss } else { model.mse(problem)? };
            if cancelled || all <= noise_free::<T>() * scale {
                if !cancelled {
                    recorder.record(all, validation, session)?;
                    recorder.direct();
                }
                recorder.history.note(note);
                return Ok(Fit { model, history: recorder.history, last: None });
            }
            recorder = Recorder::new("closed-form", Stopping::after(1));
        }
        let moments =
            moments_of(problem).ok_or_else(|| refuse("it needs matrices without a mask; use lbfgs".into()))??;
        let model = typed(closed_form(&moments, arch.ranks[0])?)?;
        drop(moments);
        let validation = validate(&model, session)?;
        recorder.record(model.mse(problem)?, validation, session)?;
        recorder.direct();
        Ok(Fit { model, history: recorder.history, last: None })
    }
}

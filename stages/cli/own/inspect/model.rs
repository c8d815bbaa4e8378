//! What a fitted model is, in numbers.

use super::super::super::output as print;
use super::super::facts::{Facts, number};
use super::super::predict::{Model, load};
use anyhow::Result;
use kraus::regress::{Positivity, SavedAffine};
use kraus::{Gamma, KrausMap};
use linalg::{eigh, gemm};
use ndarray::{Array2, Axis};
use report::axis::Scale;
use report::term::plot;
use serde_json::json;
use std::path::Path;

/// The page of a model.
pub fn show(path: &Path, plots_too: bool, as_json: bool) -> Result<u8> {
    let fit = match load(path)? {
        Model::Stack(fit) => fit,
        Model::Affine(saved) => return affine(plots_too, as_json, &saved),
    };
    let (arch, mut facts, mut plots) = (fit.model.architecture(), Facts::default(), String::new());
    let sizes = arch.dims.iter().map(|d| format!("{d} x {d}")).collect::<Vec<_>>().join(" -> ");
    facts.say(
        "model",
        format!("{sizes}, {} parameters", fit.model.len()),
        json!({"dims": arch.dims, "ranks": arch.ranks, "parameters": fit.model.len()}),
    );
    if arch.ranks.len() > 1 {
        let text = match arch.gamma {
            Gamma::None => "nothing: the stack is linear".to_string(),
            Gamma::Clamp(eps) => format!("eigenvalues below {} are raised to it", number(eps)),
        };
        facts.say("between layers", text.clone(), text);
    }
    for (i, map) in fit.model.layers().iter().enumerate() {
        let key = |what: &str| if arch.ranks.len() == 1 { what.to_string() } else { format!("{what} {i}") };
        let spectrum = choi_spectrum(map)?;
        let top = spectrum.first().copied().unwrap_or(0.0);
        let used = spectrum.iter().filter(|v| **v > 1e-10 * top).count();
        let list = spectrum.iter().take(12).map(|v| number(*v)).collect::<Vec<_>>().join("  ");
        let more = if spectrum.len() > 12 { "  ..." } else { "" };
        let rank = format!("{} operators of shape {} x {}, {used} of them not zero", map.rank(), map.q(), map.p());
        facts.say(&key("rank"), rank, json!({"operators": map.rank(), "numerical": used}));
        facts.say(&key("choi spectrum"), format!("{list}{more}"), json!(spectrum));
        let (low, high, off) = trace(map)?;
        let words = if off <= 1e-8 {
            "preserved".to_string()
        } else {
            format!("not preserved: tr Y is {} to {} tr X for positive semidefinite X", number(low), number(high))
        };
        facts.say(
            &key("trace"),
            words,
            json!({"preserved": off <= 1e-8, "least": low, "most": high, "deviation": off}),
        );
        if plots_too && spectrum.len() > 1 {
            let points: Vec<(f64, f64)> =
                spectrum.iter().enumerate().map(|(k, v)| (k as f64 + 1.0, v.max(1e-16 * top))).collect();
            plots += &format!("\n{}", plot(&key("choi spectrum"), &points, Scale::Log, 60, 8));
        }
    }
    let h = &fit.history;
    let last = h.loss.last().copied().unwrap_or(f64::NAN);
    let first = h.loss.first().copied().unwrap_or(f64::NAN);
    let stop = format!("{:?}", h.stop).to_lowercase();
    facts.say(
        "history",
        format!("{}, {} steps, loss {} -> {}, ended by: {stop}", h.solver, h.loss.len(), number(first), number(last)),
        json!({"solver": h.solver, "loss": h.loss, "validation": h.validation, "stop": stop}),
    );
    if !h.notes.is_empty() {
        facts.say("notes", h.notes.join("; "), json!(h.notes));
    }
    facts.print(as_json)?;
    if plots_too && h.loss.len() > 1 {
        let points: Vec<(f64, f64)> = h.loss.iter().enumerate().map(|(i, l)| (i as f64 + 1.0, *l)).collect();
        plots += &format!("\n{}", plot("training loss", &points, Scale::Log, 60, 8));
    }
    print(&plots);
    Ok(0)
}

/// What is to be said about a map with signs and intercept.
fn affine(plots_too: bool, as_json: bool, saved: &SavedAffine) -> Result<u8> {
    let (map, mut facts) = (&saved.map, Facts::default());
    let (r, q, p) = map.map().ops().dim();
    let plus = map.signs().iter().filter(|s| **s > 0.0).count();
    let family = match map.positivity() {
        Positivity::Complete => "completely positive",
        Positivity::Output => "with signs, outputs projected into the cone",
        Positivity::None => "with signs, outputs as they come",
    };
    facts.say(
        "model",
        format!("{p} x {p} -> {q} x {q}: {family}"),
        json!({"dims": [p, q], "ranks": [r], "positivity": map.positivity().as_str()}),
    );
    facts.say(
        "operators",
        format!("{plus} + {} of shape {q} x {p}", r - plus),
        json!({"plus": plus, "minus": r - plus}),
    );
    let sizes: Vec<f64> =
        map.map().ops().outer_iter().zip(map.signs()).map(|(a, s)| s * a.iter().map(|v| v * v).sum::<f64>()).collect();
    let list = sizes.iter().take(12).map(|v| number(*v)).collect::<Vec<_>>().join("  ");
    let more = if sizes.len() > 12 { "  ..." } else { "" };
    facts.say("sizes", format!("{list}{more} (sign times sum of squares of each operator)"), json!(sizes));
    match map.intercept() {
        None => facts.say("intercept", "none", serde_json::Value::Null),
        Some(b) => {
            let values = eigh(linalg::symmetrise(b).view())?.values;
            let (low, high) = (values[0], values[q - 1]); // q >= 1: a map has rows
            facts.say(
                "intercept",
                format!("eigenvalues {} to {}", number(low), number(high)),
                json!({"least": low, "most": high}),
            );
        }
    }
    if !saved.notes.is_empty() {
        facts.say("notes", saved.notes.join("; "), json!(saved.notes));
    }
    facts.print(as_json)?;
    if plots_too && sizes.len() > 1 {
        let top = sizes.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let points: Vec<(f64, f64)> =
            sizes.iter().enumerate().map(|(k, v)| (k as f64 + 1.0, v.abs().max(1e-16 * top))).collect();
        print(&format!("\n{}", plot("sizes of the operators", &points, Scale::Log, 60, 8)));
    }
    Ok(0)
}

/// Eigenvalues of the Choi matrix, largest first, as many as there are operators: those of the Gram matrix <A_j, A_k>.
fn choi_spectrum(map: &KrausMap<f64>) -> Result<Vec<f64>> {
    let (r, q, p) = map.ops().dim();
    let flat = map.ops().to_shape((r, q * p))?.to_owned();
    let mut gram = Array2::zeros((r, r));
    gemm(1.0, flat.view(), flat.t(), 0.0, gram.view_mut());
    Ok(eigh(gram.view())?.values.iter().rev().map(|v| v.max(0.0)).collect())
}

/// Least and largest eigenvalue of S = sum_k A_k^T A_k, and ||S - I||_F / ||I||_F.
fn trace(map: &KrausMap<f64>) -> Result<(f64, f64, f64)> {
    let p = map.p();
    let mut s = Array2::<f64>::zeros((p, p));
    for a in map.ops().axis_iter(Axis(0)) {
        gemm(1.0, a.t(), a, 1.0, s.view_mut());
    }
    let off = (&s - &Array2::<f64>::eye(p)).iter().map(|v| v * v).sum::<f64>().sqrt() / (p as f64).sqrt();
    let values = eigh(s.view())?.values;
    Ok((values[0].max(0.0), values[p - 1], off))
}

//! What `repro fit` says about its result: the evidence, the errors beside simple rivals, convergence, and what to be careful about.

use super::Args;
use super::curves::{floor, relative, show};
use crate::cli::output as print;
use crate::cli::own::facts::{Facts, floored, number};
use crate::cli::own::times;
use crate::cli::text::{Table, count};
use anyhow::Result;
use kraus::regress::{Outcome, Pairs, Positivity, Regression, Score, Tried, Unpenalised};
use kraus::{BoundParams, Stop, bound};
use linalg::{eigh, is_symmetric};
use ndarray::Axis;
use serde_json::json;

/// Warns about outputs that no map of the family can give; whether some are not symmetric.
pub fn about_outputs(name: &str, data: &Pairs, facts: &mut Facts) -> bool {
    let Some((_, y)) = &data.samples else { return false };
    let lopsided: Vec<usize> = (0..data.l).filter(|i| !is_symmetric(y.index_axis(Axis(0), *i), 1e-9)).collect();
    if let Some(first) = lopsided.first() {
        facts.warn(format!(
            "{name}: {} not symmetric, matrix {first} first; from symmetric inputs only the symmetric part can be predicted",
            if lopsided.len() == 1 { "1 matrix is".into() } else { format!("{} matrices are", lopsided.len()) },
        ));
        return true;
    }
    let definite =
        |i: &usize| eigh(y.index_axis(Axis(0), *i)).map_or((0.0, 0.0), |e| (e.values[0], e.values[data.q - 1]));
    // A thousand matrices say what the rest is like.
    let spectra: Vec<(f64, f64)> = (0..data.l.min(1000)).map(|i| definite(&i)).collect();
    let negative = spectra.iter().filter(|(_, high)| *high < 0.0).count();
    let outside = spectra.iter().filter(|(low, high)| *low < -1e-9 * high.abs().max(low.abs())).count();
    if negative > 0 {
        facts.warn(format!("{name}: {negative} of {} matrices are negative definite; no completely positive map gives such outputs for positive semidefinite inputs; check the sign, or use --positivity none", spectra.len()));
    } else if outside > 0 {
        facts.warn(format!("{name}: {outside} of {} matrices have negative eigenvalues; completely positive maps and --positivity output cannot give them; --positivity none can", spectra.len()));
    }
    false
}

/// The relative error of predicting the mean of Y.
fn mean_rival(data: &Pairs) -> Option<f64> {
    let (_, y) = data.samples.as_ref()?;
    let mean = y.mean_axis(Axis(0))?;
    let wrong: f64 = y.outer_iter().map(|m| (&m - &mean).iter().map(|v| v * v).sum::<f64>()).sum();
    let total: f64 = y.iter().map(|v| v * v).sum();
    (total > 0.0).then(|| (wrong / total).sqrt())
}

fn rival(data: &Pairs, error: f64, facts: &mut Facts) {
    if let Some(mean) = mean_rival(data) {
        facts.say("mean of Y", format!("relative error {} if every output were the mean of Y", number(mean)), mean);
        if error >= 0.98 * mean {
            facts.warn(format!("the map predicts hidden samples hardly better than the mean of Y does (relative error {} against {}): X says little about Y, or there are too few samples", number(error), number(mean)));
        }
    }
    if error >= 0.98 {
        facts.warn(format!("relative error {}: the map explains nothing of Y; check that sample i of X belongs to sample i of Y, and the signs and scales of both", number(error)));
    }
}

/// A fit with coordinates, intercept and penalty: the notes to save with it.
pub fn regression(args: &Args, data: &Pairs, found: &Regression, facts: &mut Facts) -> Result<Vec<String>> {
    let mut table = Table::new(&["family", "operators", "relative error", "std. error", ""], &[1, 2, 3]);
    let mut values = Vec::new();
    let complete_won = found.map.positivity() == Positivity::Complete;
    for tried in &found.tried {
        let family = if tried.complete { "completely positive" } else { "with signs" };
        for (i, s) in tried.curve.iter().enumerate() {
            let chosen = i == tried.chosen && tried.complete == complete_won;
            let error = found.relative(s.mean());
            let spread = 0.5 * error * s.error() / s.mean().max(f64::MIN_POSITIVE);
            let mark = if chosen {
                "<- chosen"
            } else if i == tried.chosen {
                "best of its family"
            } else {
                ""
            };
            table.row(vec![family.into(), s.rank.to_string(), floored(error, floor()), number(spread), mark.into()]);
            values.push(json!({"family": family, "operators": s.rank, "relative": error, "chosen": chosen, "folds": s.folds.len()}));
        }
    }
    if !args.json {
        print(&(table.render() + "\n"));
    }
    let note = |t: &Tried| t.note.clone();
    let chosen = found.chosen();
    let plus = found.map.signs().iter().filter(|s| **s > 0.0).count();
    let (r, minus) = (found.map.signs().len(), found.map.signs().len() - plus);
    let kind = match found.map.positivity() {
        Positivity::Complete => {
            format!("completely positive, {}, positive semidefinite intercept", count(r, "operator"))
        }
        Positivity::Output => {
            format!("{plus} + {minus} operators with signs, intercept, outputs projected into the cone")
        }
        Positivity::None => format!("{plus} + {minus} operators with signs, intercept, outputs as they come"),
    };
    facts.say(
        "model",
        format!("{} -> {}: {kind}", times(&[data.p; 2]), times(&[data.q; 2])),
        json!({"dims": [data.p, data.q], "ranks": [r], "plus": plus, "minus": minus, "positivity": found.map.positivity().as_str(), "candidates": values}),
    );
    facts.say("chosen because", found.reason.clone(), found.reason.clone());
    let how = chosen.map(note).unwrap_or_default();
    facts.say("how", how.clone(), how.clone());
    let converged = if found.iterations == 0 {
        "closed form".to_string()
    } else if found.converged {
        format!("yes, after {}", count(found.iterations, "iteration"))
    } else {
        format!("no: {} were not enough", count(found.iterations, "iteration"))
    };
    facts.say("converged", converged, json!({"converged": found.converged, "iterations": found.iterations}));
    if let Some((x, y)) = &data.samples {
        let applied = found.map.apply(x.view())?;
        let wrong: f64 = applied.matrices.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / y.len() as f64;
        facts.say(
            "train",
            format!("relative error {}", floored(relative(wrong, data), floor())),
            json!({"mse": wrong, "relative": relative(wrong, data)}),
        );
        if found.map.positivity() != Positivity::Complete {
            let n = applied.outside;
            let then = if found.map.positivity() == Positivity::Output { "projected" } else { "left as they are" };
            let text = if n == 0 {
                "none of the outputs for X left the cone".into()
            } else {
                format!("{n} of {} outputs for X left the cone and were {then}", data.l)
            };
            facts.say("cone", text, n);
        }
    }
    if let Some(t) = chosen {
        let error = found.relative(t.score().mean());
        facts.say(
            "validation",
            format!("relative error {} ({})", floored(error, floor()), count(t.score().folds.len(), "fold")),
            json!({"relative": error}),
        );
        rival(data, error, facts);
    }
    Ok(vec![found.reason.clone(), how])
}

/// A fit without penalty.
pub fn unpenalised(args: &Args, data: &Pairs, found: &Unpenalised, outcome: &Outcome, facts: &mut Facts) -> Result<()> {
    if found.curve.len() > 1 || (found.curve.len() == 1 && outcome.regression.is_some()) {
        show(&found.curve, found.chosen, args, data, facts);
    }
    let fit = &found.fit;
    let arch = fit.model.architecture();
    let rank = arch.ranks[0]; // every layer has the same rank, and there is at least one
    determined(data, found, rank, facts)?;
    let path = arch.dims.iter().map(|d| format!("{d} x {d}")).collect::<Vec<_>>().join(" -> ");
    facts.say(
        "model",
        format!("{path}: completely positive, rank {rank}, {} parameters, no penalty, no intercept", fit.model.len()),
        json!({"dims": arch.dims, "ranks": arch.ranks, "parameters": fit.model.len(), "positivity": "complete"}),
    );
    facts.say("chosen because", outcome.reason.clone(), outcome.reason.clone());
    let h = &fit.history;
    let steps = count(h.loss.len(), if h.solver == "adam" { "epoch" } else { "iteration" });
    let closed = h.notes.iter().any(|n| n.contains("closed form"));
    facts.say(
        "solver",
        format!("{}{steps}", if closed { "lbfgs from the closed form, ".into() } else { format!("{}, ", h.solver) }),
        json!({"name": h.solver, "steps": h.loss.len(), "from_closed_form": closed}),
    );
    let reached = h.stop != Stop::Max;
    let words = if reached {
        "yes".to_string()
    } else if h.solver == "adam" {
        "not judged: adam runs the epochs it is given".into()
    } else {
        format!(
            "no: stopped after {steps}; raise --epochs, or leave out --rank and --solver so that the data are brought to equal scale first"
        )
    };
    facts.say("converged", words, json!({"converged": reached, "iterations": h.loss.len()}));
    let error = |mse: f64| json!({"mse": mse, "relative": relative(mse, data)});
    let words = |mse: f64| format!("mse {}, relative error {}", number(mse), floored(relative(mse, data), floor()));
    facts.say("train", words(found.train), error(found.train));
    let validation = found.curve.get(found.chosen);
    if let Some(v) = validation {
        let folds = v.folds.len();
        facts.say("validation", format!("{} ({folds} folds)", words(v.mean())), error(v.mean()));
    }
    rival(data, relative(validation.map_or(found.train, Score::mean), data), facts);
    say_bound(args, data, found.train, &arch.ranks, facts);
    Ok(())
}

/// The generalisation bound, where it says something.
fn say_bound(args: &Args, data: &Pairs, train: f64, ranks: &[usize], facts: &mut Facts) {
    let gamma = args.loss_bound.unwrap_or(4.0 * data.peak * data.peak);
    let at = BoundParams { l: data.l, p: data.p, q: data.q, rank: ranks[0], gamma, delta: args.delta };
    // Theorem 4 is about one map, not about a deeper stack.
    let Some(b) = (ranks.len() == 1).then(|| bound(&at, kraus::BoundVersion::AsProved).ok()).flatten() else { return };
    let total = b.total(train);
    let (source, sure) =
        (if args.loss_bound.is_some() { "given" } else { "4 max Y^2" }, number(100.0 * (1.0 - args.delta)));
    let value = json!({"expected_mse": total, "gamma": gamma, "delta": args.delta, "vacuous": total >= gamma});
    if total < gamma {
        let text = format!(
            "expected mse <= {} with probability {sure} % (theorem 4, gamma = {} {source})",
            number(total),
            number(gamma)
        );
        facts.say("bound", text, value);
    } else {
        facts.silent("bound", value);
    }
}

/// Warns where the data leave the map open.
fn determined(data: &Pairs, found: &Unpenalised, rank: usize, facts: &mut Facts) -> Result<()> {
    let fit = &found.fit;
    let coordinates = |n| data.basis().len(n);
    let (equations, parameters) = (data.l * coordinates(data.q), fit.model.len());
    // Rotating the operators among themselves does not change one map.
    let free =
        if fit.model.depth() == 1 { parameters - rank.min(data.p * data.q) * (rank - 1) / 2 } else { parameters };
    if equations < free {
        facts.warn(format!("{} give {equations} equations for {free} free parameters: many maps fit equally well; lower the rank or add samples", count(data.l, "sample")));
        return Ok(());
    }
    let open = match data.total()? {
        Some(m) => m.least_squares().is_err(),
        None => data.l < coordinates(data.p),
    };
    if open {
        let directions = coordinates(data.p);
        let kind = if data.asymmetric.is_some() { "" } else { "symmetric " };
        facts.warn(format!("the inputs do not span all {directions} directions of {kind}{} matrices: in the others the map rests on its low rank alone; add samples or check the predictions on held-out data", times(&[data.p; 2])));
    }
    Ok(())
}

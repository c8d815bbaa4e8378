//! The paper's completion, asked for by --p, --q, --rank, --depth or --gamma: a map from the position of a block to the block.

use super::Args;
use crate::cli::output as print;
use crate::cli::own::facts::{Facts, number};
use crate::cli::text::{Table, count};
use anyhow::{Result, ensure};
use estimator::Mask;
use kraus::completion::{Completion, CompletionParams, HoldOut, Partial, candidates, choose, complete};
use kraus::{LbfgsParams, Stopping};
use ndarray::{Array2, ArrayView2, Axis, s};
use serde_json::json;

/// The prediction of every entry.
pub fn predict(args: &Args, partial: &Partial, views: &[Partial], facts: &mut Facts) -> Result<Array2<f64>> {
    let n = partial.n();
    let whole_rows = !partial.empty_rows().is_empty();
    let depth = args.depth.map_or(if whole_rows { 2 } else { 1 }, usize::from);
    let order = if depth > 1 && !views.is_empty() { Some(seriated(partial, views)?) } else { None };
    if depth > 1 {
        match order {
            Some(_) => facts.say(
                "order",
                "similar samples side by side, by average linkage on the matrix and its views (the order of the file plays no part)",
                "seriated",
            ),
            None => facts.warn("several layers share what equal positions in blocks have in common, so the result depends on the order of the samples: sorted by class it gives the classes away; with --view similar samples are put side by side first"),
        }
    }
    let Some(order) = order else { return in_order(args, partial, depth, facts) };
    let values = partial.values().select(Axis(0), &order).select(Axis(1), &order);
    let sorted = Partial::new(values.view(), &partial.mask().select(Axis(0), &order).select(Axis(1), &order))?;
    let found = in_order(args, &sorted, depth, facts)?;
    let mut back = Array2::zeros((n, n));
    for (a, &i) in order.iter().enumerate() {
        for (b, &j) in order.iter().enumerate() {
            back[[i, j]] = found[[a, b]];
        }
    }
    Ok(back)
}

/// The samples so that similar ones stand side by side, judged by the matrix and its views.
fn seriated(partial: &Partial, views: &[Partial]) -> Result<Vec<usize>> {
    let all: Vec<&Partial> = [partial].into_iter().chain(views).collect();
    let n = partial.n();
    // A row that misses single entries counts as missing in that view: the consensus reads whole rows.
    let whole = |m: &Partial| -> Vec<bool> {
        let empty = m.empty_rows();
        let seen: Vec<usize> = (0..n).filter(|i| !empty.contains(i)).collect();
        (0..n).map(|i| seen.contains(&i) && seen.iter().all(|j| m.mask()[[i, *j]])).collect()
    };
    let columns: Vec<Vec<bool>> = all.iter().map(|m| whole(m)).collect();
    let mask = Mask::new(Array2::from_shape_fn((n, all.len()), |(i, v)| columns[v][i]));
    let kernels: Vec<ArrayView2<'_, f64>> = all.iter().map(|m| m.values()).collect();
    Ok(multiview::order_seriated(&kernels, &mask)?)
}

fn in_order(args: &Args, partial: &Partial, depth: usize, facts: &mut Facts) -> Result<Array2<f64>> {
    let n = partial.n();
    let whole_rows = !partial.empty_rows().is_empty();
    let padded = padded(args, partial, depth, facts)?;
    let (params, chosen) = model(args, &padded, whole_rows, facts)?;
    let solver = LbfgsParams { stopping: Stopping::after(3000), restarts: 3, ..LbfgsParams::default() };
    let done = complete(&padded, &params, &solver)?;
    let how = if chosen { "chosen by validation" } else { "given" };
    facts.say(
        "model",
        format!(
            "rank {}, {} of {} x {} blocks ({how})",
            params.rank,
            count(params.depth(), "layer"),
            params.q,
            params.q
        ),
        json!({"rank": params.rank, "p": params.p, "q": params.q, "depth": params.depth(), "chosen": chosen}),
    );
    add_fit_facts(&padded, &done, &params, n, facts);
    Ok(done.prediction.slice(s![..n, ..n]).to_owned())
}

/// With rows that are missing at the end, where n cannot be cut into blocks otherwise: several layers need blocks, and a prime n has none.
fn padded(args: &Args, partial: &Partial, depth: usize, facts: &mut Facts) -> Result<Partial> {
    let n = partial.n();
    let cut = |q: usize| n.div_ceil(q) * q;
    let to = match (args.p, args.q) {
        (None, None) if depth > 1 && n > 3 && (2..n).all(|q| !n.is_multiple_of(q)) => {
            cut(((n as f64).sqrt().round() as usize).max(2))
        }
        (Some(p), None) if p > 0 && p <= n => n.div_ceil(p) * p,
        (None, Some(q)) if q > 0 && q <= n => cut(q),
        _ => n,
    };
    if to == n {
        return Ok(partial.clone());
    }
    facts.say("padding", format!("{} to make whole blocks", count(to - n, "empty row")), to - n);
    let (mut values, mut mask) = (Array2::zeros((to, to)), Array2::from_elem((to, to), false));
    values.slice_mut(s![..n, ..n]).assign(&partial.values());
    mask.slice_mut(s![..n, ..n]).assign(&partial.mask().flags());
    Ok(Partial::new(values.view(), &Mask::new(mask))?)
}

/// The model: as given, or the best of the candidates.
fn model(args: &Args, partial: &Partial, whole_rows: bool, facts: &mut Facts) -> Result<(CompletionParams, bool)> {
    let n = partial.n();
    let depth = args.depth.map_or(if whole_rows { 2 } else { 1 }, usize::from);
    let other = |v: usize, name: &str| {
        ensure!(v > 0 && n.is_multiple_of(v), "--{name} {v} does not divide n = {n}; choose p q = n");
        Ok(n / v)
    };
    let grid = match (args.p, args.q) {
        (None, None) => None,
        (Some(p), Some(q)) => {
            ensure!(p.checked_mul(q) == Some(n), "--p {p} blocks of --q {q} rows do not make n = {n}; choose p q = n");
            Some((p, q))
        }
        (Some(p), None) => Some((p, other(p, "p")?)),
        (None, Some(q)) => Some((other(q, "q")?, q)),
    };
    let rank = args.rank.map(|r| r as usize);
    let deep_ranks: Vec<usize> =
        rank.map_or_else(|| [1, 2, 5, 10, 20].into_iter().filter(|r| *r <= n).collect(), |r| vec![r]);
    let mut list = candidates(n, &[depth], &deep_ranks, args.gamma);
    if depth > 1 && list.is_empty() {
        ensure!(grid.is_some(), "n = {n} has no divisor to make blocks of; use --depth 1, or give --p {n} --q 1");
        list = vec![CompletionParams::deep(n, 1, 1, depth, args.gamma)];
    }
    if let Some(r) = rank {
        list.iter_mut().for_each(|c| c.rank = r);
    }
    if let Some((p, q)) = grid {
        for c in &mut list {
            *c = if depth == 1 {
                CompletionParams::single(p, q, c.rank)
            } else {
                CompletionParams::deep(p, q, c.rank, depth, args.gamma)
            };
        }
    }
    list.iter_mut().for_each(|c| c.seed = args.seed);
    let mut seen: Vec<CompletionParams> = Vec::new();
    list.retain(|c| {
        !seen.contains(c) && {
            seen.push(c.clone());
            true
        }
    });
    if let [one] = list.as_slice() {
        return Ok((one.clone(), false));
    }
    let stopping = Stopping { max: 300, tolerance: 1e-7, target: 0.0, patience: None };
    let quick = LbfgsParams { stopping, restarts: if depth == 1 { 2 } else { 1 }, ..LbfgsParams::default() };
    let choice = choose(partial, &list, &HoldOut { rows: whole_rows, ..HoldOut::like(partial, args.seed) }, |m, c| {
        complete(m, c, &quick)
    })?;
    let mut table = Table::new(&["rank", "p", "q", "layers", "error on hidden entries", ""], &[0, 1, 2, 3, 4]);
    for (c, e) in &choice.scores {
        let mark = if *c == choice.params { "<- chosen" } else { "" };
        let cells = [c.rank, c.p, c.q, c.depth()].map(|v| v.to_string());
        table.row(cells.into_iter().chain([number(*e), mark.into()]).collect());
    }
    if !args.json {
        print(&(table.render() + "\n"));
    }
    let best = choice.scores.iter().map(|s| s.1).fold(f64::INFINITY, f64::min);
    facts.say("validation", format!("relative error {} on hidden entries", number(best)), best);
    if best > 0.9 {
        facts.warn("hidden entries were predicted hardly better than by 0: what is observed does not determine what is missing");
    }
    Ok((choice.params, true))
}

/// Adds the findings about the result.
fn add_fit_facts(partial: &Partial, done: &Completion, params: &CompletionParams, n: usize, facts: &mut Facts) {
    // Rows beyond n are padding.
    let ours = |list: &[usize]| list.iter().copied().filter(|r| *r < n).collect::<Vec<_>>();
    let (empty_rows, weak_rows) = (ours(&done.empty_rows), ours(&done.weak_rows));
    let (mut wrong, mut total) = (0.0, 0.0);
    for (at, _) in partial.mask().flags().indexed_iter().filter(|(_, w)| **w) {
        let truth = partial.values()[at];
        wrong += (done.prediction[at] - truth).powi(2);
        total += truth * truth;
    }
    let error = (wrong / total.max(f64::MIN_POSITIVE)).sqrt();
    facts.say("fit", format!("relative error {} on observed entries", number(error)), error);
    let rows = |list: &[usize]| {
        let shown = list.iter().take(20).map(usize::to_string).collect::<Vec<_>>().join(", ");
        if list.len() > 20 { format!("{shown}, ... ({} rows)", list.len()) } else { shown }
    };
    if !empty_rows.is_empty() {
        let (list, many) = (rows(&empty_rows), empty_rows.len() > 1);
        let (noun, verb) = if many { ("rows", "have") } else { ("row", "has") };
        facts.warn(match params.depth() {
            1 => format!("{noun} {list} {verb} no observed entry, and one layer cannot determine such rows: what is written there is arbitrary; use --depth 2"),
            _ => format!("{noun} {list} {verb} no observed entry: what is written there is inferred from the blocks around it alone"),
        });
    }
    let weak: Vec<usize> = weak_rows.iter().copied().filter(|r| !empty_rows.contains(r)).collect();
    if params.depth() == 1 && !weak.is_empty() {
        facts.warn(format!(
            "rows {} have fewer observed entries than the rank {}, which leaves them open; lower the rank",
            rows(&weak),
            params.rank
        ));
    }
    facts.say(
        "undetermined rows",
        if weak_rows.is_empty() { "none".into() } else { rows(&weak_rows) },
        json!({"empty": empty_rows, "weak": weak}),
    );
}

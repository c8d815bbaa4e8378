//! The cost of a unit: its expected seconds on one core while the other core is busy too, on the machine of the last default run (two
//! cores of an AMD EPYC with AVX-512). Where one matrix product dominates, the cost follows from its number of operations; elsewhere it
//! was fitted to the times of a default run.
//!
//! Costs decide the order in which units start and the forecast of the time left, never a result. So they stand here, outside the
//! files of the kinds: no kind uses this module, and a corrected number makes no unit stale (`tests/fingerprint.rs` checks it).
//! `repro bench costs` compares them with the times in the store.

use pipeline::{Cost, Value};

/// The parameters of a unit, read as numbers. They have been checked, and defaults are filled in.
struct Params<'a>(&'a Value);

impl Params<'_> {
    fn number(&self, name: &str) -> f64 {
        self.0.get(name).and_then(Value::as_f64).unwrap_or(0.0)
    }

    /// A number or a list of them.
    fn list(&self, name: &str) -> Vec<f64> {
        match self.0.get(name) {
            Some(Value::List(items)) => items.iter().filter_map(Value::as_f64).collect(),
            Some(one) => one.as_f64().into_iter().collect(),
            None => Vec::new(),
        }
    }

    fn words(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn is(&self, name: &str, word: &str) -> bool {
        self.words(name) == word
    }

    /// Both numbers of `20x10`.
    fn sizes(&self, name: &str) -> (f64, f64) {
        crate::shared::params::sizes(self.words(name)).map_or((1.0, 1.0), |(p, q)| (p as f64, q as f64))
    }
}

/// The cost of the units of a kind; one millisecond for a kind that is not listed.
pub fn of(kind: &str) -> Cost {
    match kind {
        "train" => |p, _| Some(train(&Params(p))),
        "baselines" => |p, _| Some(baselines(&Params(p))),
        "complete-kernels" => |p, _| Some(complete_kernels(&Params(p))),
        "complete-matrix" => |p, _| Some(complete_matrix(&Params(p))),
        // One support vector machine for each class, split and completed kernel.
        "classify" => |p, inputs| Some(0.023 * Params(p).number("splits") * inputs.saturating_sub(1) as f64),
        "covariances" => |_, _| Some(0.88),
        "transport" => |p, _| Some(if Params(p).is("variant", "labels") { 0.93 } else { 0.5 }),
        "adapt" => |p, _| Some(1.32 * Params(p).number("epochs") / 500.0 * Params(p).number("rank") / 20.0),
        "rivals" => |_, _| Some(1.58),
        "regression-results" | "bci-results" | "rivals-results" | "matrices-results" | "completion-results" => {
            |_, inputs| Some(0.03 + 1.5e-4 * inputs as f64)
        }
        "regression-figures" | "matrices-figures" | "bci-figures" | "completion-figures" | "figure1" => {
            |p, _| Some(if Params(p).words("what").starts_with("table") { 0.02 } else { 0.4 })
        }
        _ => |_, _| Some(1e-3),
    }
}

/// Multiplications for one sample X and one operator A: q p^2 for A X, q^2 p for (A X) A^T and q^2 p for the gradient.
fn products(p: f64, q: f64) -> f64 {
    q * p * p + 2.0 * q * q * p
}

fn train(u: &Params) -> f64 {
    let (p, q) = u.sizes("map");
    let (l, ranks) = (u.number("l"), u.list("rank"));
    let held = u.number("validation").min(l);
    // The work for one sample and operator, relative to that of the small map, 20x10.
    let large = products(p, q) / products(20.0, 10.0);
    let truth = u.number("true_rank");
    if u.is("solver", "adam") {
        // Validation after each epoch costs as much as training on the same number of samples. High ranks use the Choi matrix, whose
        // size does not depend on the rank.
        let visits = u.number("epochs") * (l + held);
        let choi = 2.3e-6 * (p * q / 200.0).powi(2);
        let visit = |r: f64| 1e-7 * large.sqrt() + (1.2e-7 + 1.7e-7 * large * r).min(choi + 0.84e-7 * large * r);
        return ranks.iter().map(|r| 0.012 + visits * visit(*r)).sum();
    }
    let determined = l >= 1000.0;
    if p * p > 1000.0 && l >= 5000.0 {
        // The moments of the samples are computed once; then each rank below the true one takes a few iterations on them.
        let below = ranks.iter().filter(|r| **r < truth).map(|r| r + 2.0).sum::<f64>();
        return 19.5 * l / 10_000.0 + 1.13 * below * u.number("iterations") / 4.0;
    }
    if p * p > 1000.0 {
        // L-BFGS on the samples. Where the samples determine the map, ranks above the first one that fits are not fitted again.
        let enough = ranks.iter().copied().filter(|r| *r >= truth).fold(f64::INFINITY, f64::min);
        let fitted = ranks.iter().filter(|r| !determined || **r <= enough).sum::<f64>();
        return u.number("iterations").min(60.0) * (l + 200.0) * fitted * 2.4e-5;
    }
    let noisy = if u.number("noise") > 0.0 { 0.015 } else { 0.0 };
    let free = if determined { 0.0075 + noisy } else { 0.0575 };
    ranks.iter().map(|r| 0.02 + 1.4e-5 * l + if *r > truth { free * r } else { 1e-3 * r }).sum()
}

fn baselines(u: &Params) -> f64 {
    let (l, ranks) = (u.number("l"), u.list("ranks"));
    let (visits, iterations) = (u.number("visits"), u.number("iterations"));
    let (p, q) = u.sizes("map");
    let within = |most: f64| ranks.iter().copied().filter(move |r| *r <= most);
    match (u.words("model"), u.is("solver", "adam")) {
        ("trace", _) => {
            if l < 1000.0 {
                1.44
            } else {
                0.44
            }
        }
        ("trace-psd", _) => 0.23,
        ("multivariate", _) => 0.015 + 2e-5 * l,
        ("reduced-rank", _) => 0.02 + 2e-5 * l + 2.2e-6 * l * ranks.len() as f64,
        ("hopls", _) => (1.4 + 7.5e-5 * l) * ranks.iter().fold(0.0, |a: f64, r| a.max(*r)) / 100.0,
        // Above a rank of about 20 the layer works with the full weights, which is cheaper than with the cores.
        ("tensor-train", true) => within(p * q).map(|r| (3.4e-7 * r).min(3.9e-6 + 1.7e-7 * r) * (visits + l)).sum(),
        ("tensor-train", false) => within(p * q).map(|r| r * (7.5e-5 * iterations + 1e-6 * l)).sum(),
        ("tucker", true) => within(p.max(q)).map(|r| (4.6e-8 * r + 1.05e-8 * r * r) * (visits + l)).sum(),
        ("tucker", false) => within(p.max(q)).map(|r| (3e-4 + 5e-6 * r * r) * iterations + 1.5e-5 * l).sum(),
        _ => 0.0,
    }
}

fn complete_kernels(u: &Params) -> f64 {
    // A sample can be missing in at most five of the six views.
    let observed = 1.0 - (u.number("level") / 100.0).min(0.833);
    if u.is("method", "cvkt") {
        let grid = (u.list("nystrom").len() * u.list("rank_levels").len()) as f64;
        return 5.6 * observed * observed * grid / 4.0;
    }
    if !u.is("method", "ptr") {
        return 0.003;
    }
    let work = u.number("rank") / 50.0 * u.number("epochs") / 50.0;
    let sorting = if u.is("order", "seriated") { 0.1 + observed } else { 0.0 };
    sorting
        + work
            * match (u.number("depth") > 1.0, u.sizes("blocks")) {
                (false, _) => 0.18,
                (true, (_, q)) if q < 2.0 => 1.22,
                (true, (_, q)) if q < 15.0 => 1.9,
                (true, _) => 1.1,
            }
}

fn complete_matrix(u: &Params) -> f64 {
    match u.words("method") {
        "trace" => 0.075,
        "trace-whole" => 0.17,
        "trace-kraus" => 0.014,
        "tensor-train" => 0.0085,
        "ptr" => {
            let depth = if u.number("depth") > 1.0 { 2.5 } else { 1.0 };
            8e-4 + depth * u.number("epochs") * (1e-5 + 3.5e-7 * u.number("rank"))
        }
        _ => 7e-4,
    }
}

//! What `repro adapt` tells a person about the domains and the map.

use super::super::facts::{Facts, number};
use super::super::times;
use super::Args;
use super::sources::Domain;
use crate::cli::text::count;
use anyhow::Result;
use estimator::Labels;
use serde_json::json;
use spd::{Adaptation, ClassFilter, CommonChannels, CostIn, Mdm, MeanParams, Metric, PairsParams, Reduction};

/// Sizes of the domains.
pub fn domains(
    facts: &mut Facts,
    sources: &[Domain],
    target: &Domain,
    common: &CommonChannels,
    reduction: Option<&Reduction>,
) {
    let k: usize = sources.iter().map(|s| s.matrices.dim().0).sum();
    let (p, (m, q, _)) = (sources[0].matrices.dim().1, target.matrices.dim());
    let several = if sources.len() > 1 { format!(" from {} sources", sources.len()) } else { String::new() };
    facts.say(
        "matrices",
        format!("{k}{several}, {} -> {m}, {}", times(&[p; 2]), times(&[q; 2])),
        json!({"source": k, "target": m, "p": p, "q": q, "sources": sources.len()}),
    );
    if let Some(reduction) = reduction {
        let (n, r) = reduction.basis().dim();
        facts.say("reduced", format!("from {n} channels to their common range of {r}"), json!({"from": n, "to": r}));
    }
    let shared = common.of_source().len();
    if shared < p.max(q) {
        let text = format!("{shared} in both domains; distances are measured on them");
        facts.say("channels", text, json!({"common": shared}));
    }
}

/// The transport and the learned map of each source.
pub fn maps(facts: &mut Facts, args: &Args, sources: &[Domain], target: &Domain, found: &[Adaptation]) -> Result<()> {
    let cost = match args.params().pairs {
        PairsParams { cost: CostIn::Recentred, .. } => "of tangent vectors after recentring",
        PairsParams { cost: CostIn::Recorded, .. } => "as recorded",
    };
    for (source, one) in sources.iter().zip(found) {
        let at = |key: &str| if found.len() == 1 { key.to_owned() } else { format!("{key} of {}", source.name) };
        let plan = &one.pairs.plan;
        let domain = if plan.log_domain { "log domain" } else { "plain domain" };
        facts.say(
            &at("transport"),
            format!(
                "distances {cost}, entropy {} ({} of the median cost), marginals met to {} ({domain})",
                number(one.pairs.regularisation),
                number(one.pairs.regularisation / one.pairs.median_cost),
                number(plan.marginal_error)
            ),
            json!({"cost": plan.cost, "marginal_error": plan.marginal_error, "domain": domain,
                   "regularisation": one.pairs.regularisation, "median_cost": one.pairs.median_cost}),
        );
        let (k, m) = plan.plan.dim();
        if plan.marginal_error > 1e-3 / k.max(m) as f64 {
            facts.warn("the plan has not converged; raise --iterations or --relative");
        }
        if one.pairs.unconverged_means > 0 {
            facts.warn(format!("{} did not converge", count(one.pairs.unconverged_means, "Riemannian mean")));
        }
        let map = &one.map;
        let operators = count(one.rank, "Kraus operator");
        if let Some(filter) = &one.filter {
            self::filter(facts, &at("learned map"), filter, &operators);
            distance(facts, &at("distance"), one, target)?;
            continue;
        }
        let held = map.held_out.map_or_else(String::new, |(start, learned)| {
            format!("; held-out pairs at {} (recentring: {})", number(learned.sqrt()), number(start.sqrt()))
        });
        facts.say(
            &at("learned map"),
            format!("{operators} from the pairs, {}{held}", count(map.iterations, "iteration")),
            json!({"rank": one.rank, "iterations": map.iterations, "fell_back": map.fell_back, "ranks": one.ranks,
                   "held_out": map.held_out.map(|(s, l)| json!({"recentring": s.sqrt(), "learned": l.sqrt()}))}),
        );
        if map.fell_back {
            facts.warn("held-out pairs are mapped no better than by recentring, so the map is recentring");
        }
        distance(facts, &at("distance"), one, target)?;
    }
    if let Some(truth) = &target.labels {
        let folds = 5.min(target.matrices.dim().0);
        let params = MeanParams::default().check()?;
        let predicted = Mdm::cross_validate(target.matrices.view(), truth, folds, Metric::AffineInvariant, &params)?;
        let s = spd::scores(&truth.values().collect::<Vec<_>>(), &predicted)?;
        facts.say(
            "target alone",
            format!(
                "MDM by {folds}-fold cross-validation: {:.1} % (balanced {:.1} %, kappa {:.2})",
                100.0 * s.accuracy,
                100.0 * s.balanced_accuracy,
                s.kappa
            ),
            json!({"accuracy": s.accuracy, "balanced_accuracy": s.balanced_accuracy, "kappa": s.kappa}),
        );
        accuracy(facts, sources, target, truth, found)?;
    }
    Ok(())
}

/// The class filter: what it keeps, and the evidence for it.
fn filter(facts: &mut Facts, key: &str, filter: &ClassFilter, operators: &str) {
    let percent = |v: f64| format!("{:.1} %", 100.0 * v);
    let tried: Vec<String> =
        filter.tried.iter().map(|(kept, v)| format!("{kept} directions {}", percent(*v))).collect();
    let evidence = filter.recentring.map_or_else(
        || "too few matrices of a class for cross-validation".to_owned(),
        |r| format!("cross-validation within the source: recentring {}, {}", percent(r), tried.join(", ")),
    );
    let what = match filter.kept {
        Some(kept) => format!(
            "recentring, then a class filter that keeps {kept} directions ({operators}, uses the source's labels)"
        ),
        None => "recentring".to_owned(),
    };
    facts.say(
        key,
        format!("{what}; {evidence}"),
        json!({"kept": filter.kept, "recentring": filter.recentring, "tried": filter.tried}),
    );
    if filter.kept.is_none() {
        facts.warn("no class filter classifies the source better than recentring does, so the map is recentring");
    }
}

/// Distance between the domains before and after the map.
fn distance(facts: &mut Facts, key: &str, one: &Adaptation, target: &Domain) -> Result<()> {
    let (before, after) = one.distances(target.matrices.view())?;
    facts.say(
        key,
        format!("mean from source to target {} -> {}", number(before), number(after)),
        json!({"before": before, "after": after}),
    );
    Ok(())
}

/// MDM trained on the labelled sources as they are, recentred and mapped, tested on the target.
fn accuracy(
    facts: &mut Facts,
    sources: &[Domain],
    target: &Domain,
    truth: &Labels,
    found: &[Adaptation],
) -> Result<()> {
    let params = MeanParams::default().check()?;
    for (source, one) in sources.iter().zip(found) {
        let Some(labels) = &source.labels else { continue };
        let score = |train: ndarray::Array3<f64>| -> Result<f64> {
            let mdm = Mdm::fit(train.view(), labels, Metric::AffineInvariant, &params)?;
            Ok(mdm.accuracy(target.matrices.view(), truth)?)
        };
        let x = source.matrices.view();
        let plain = if source.matrices.dim().1 == target.matrices.dim().1 { Some(score(x.to_owned())?) } else { None };
        let (recentred, mapped) = (score(one.recentring.apply(x)?)?, score(one.apply(x)?)?);
        let before = plain.map_or_else(String::new, |p| format!("{:.1} % as recorded, ", 100.0 * p));
        let key = if found.len() == 1 { "source to target".to_owned() } else { format!("{} to target", source.name) };
        facts.say(
            &key,
            format!("MDM: {before}{:.1} % recentred, {:.1} % by the learned map", 100.0 * recentred, 100.0 * mapped),
            json!({"recorded": plain, "recentred": recentred, "learned": mapped}),
        );
    }
    Ok(())
}

/// New matrices and how many the map was not trained for.
pub fn new(facts: &mut Facts, l: usize, outside: usize) {
    let far = format!("{outside} farther from the source than its matrices are from each other");
    facts.say("new", format!("{} mapped, {far}", count(l, "matrix")), json!({"mapped": l, "outside": outside}));
    if 2 * outside > l {
        facts.warn(
            "most new matrices lie outside what the map was trained on; check that they are of the source's domain",
        );
    }
}

//! The report's summary: sentences written from the measured numbers. A sentence whose numbers are missing is left out; the
//! others state the result, whether it agrees with the paper or not.

use ::report::Source;
use ::report::claims::Metrics;
use ::report::number::mean_sd;

/// The summary of these metrics, most important first.
pub fn summary(metrics: &Metrics) -> Vec<String> {
    let all = [true_rank(metrics), least_squares(metrics), sample_order(metrics), blocks(metrics), adaptation(metrics)];
    all.into_iter().flatten().collect()
}

fn value(m: &Metrics, name: &str) -> Option<f64> {
    m.get(name).map(|m| m.value).filter(|v| v.is_finite())
}

fn show(v: f64) -> String {
    mean_sd(v, None)
}

/// The quotient `large / small` in words, with few digits.
fn times(large: f64, small: f64) -> String {
    match large / small {
        f if f >= 1e5 => mean_sd(f, None) + " times",
        f if f >= 10.0 => format!("{f:.0} times"),
        f => format!("{f:.1} times"),
    }
}

fn true_rank(m: &Metrics) -> Option<String> {
    let (before, after) = (value(m, "figure2.small.before.mse")?, value(m, "figure2.small.after.mse")?);
    let drop = if before >= 1000.0 * after {
        format!("is {} smaller", times(before, after))
    } else {
        "is not 1000 times smaller".to_owned()
    };
    let mut text = format!(
        "On simulated maps from 20 x 20 to 10 x 10 the error at the true Kraus rank {drop} than at the rank below it in the grid \
         ({} against {}).",
        show(after),
        show(before)
    );
    if let Some((adam, exact)) = value(m, "table2.ptr.mse").zip(value(m, "table2.ptr-exact.mse")) {
        text += &format!(
            " Adam's last epoch, the paper's protocol, ends at {} (paper: 0.001); solved exactly the same model reaches {}{}",
            show(adam),
            show(exact),
            if exact < 0.01 * adam { ": the published number is where Adam's steps bounce." } else { "." }
        );
    }
    Some(text)
}

fn least_squares(m: &Metrics) -> Option<String> {
    let (noisy, ours) = (value(m, "table2-noise.multivariate.mse")?, value(m, "table2-noise.ptr-exact.mse")?);
    let mut text = String::new();
    if let Some(clean) = value(m, "table2.multivariate.mse").filter(|&v| v < 1e-6) {
        text += &format!(
            "The released data have no noise, and there plain least squares is exact too ({}; paper: 0.058), so the published \
             number cannot be its optimum. ",
            show(clean)
        );
    }
    text += "With noise 0.1, as the paper's model has it, partial trace regression is ";
    text += &if ours < noisy {
        format!("{} better than least squares", times(noisy, ours))
    } else {
        "not better than least squares".to_owned()
    };
    Some(text + &format!(" ({} against {}).", show(ours), show(noisy)))
}

fn sample_order(m: &Metrics) -> Option<String> {
    let get = |what: &str| value(m, &format!("figure7.{what}.accuracy"));
    let (full, class, mean) = (get("full")?, get("ptr")?, get("mean")?);
    let (shuffled, seriated) = (get("ptr-shuffled")?, get("ptr-seriated")?);
    let against = |v: f64| if v > mean { "is better than mean imputation" } else { "is worse than mean imputation" };
    Some(format!(
        "The completion of digit kernels rests on the order of the samples. The published protocol sorts them by class, so the blocks \
         line up with the labels and the labels leak: with 60 % missing the SVM then reaches {} %, {} the complete kernels' {} %. \
         With shuffled samples the same method {} ({} % against {} %); in an order found without labels it {} ({} %).",
        show(class),
        if class > full { "above" } else { "below" },
        show(full),
        against(shuffled),
        show(shuffled),
        show(mean),
        against(seriated),
        show(seriated)
    ))
}

fn blocks(m: &Metrics) -> Option<String> {
    let get = |what: &str| value(m, &format!("table4.{what}.mse"));
    let (ptr, trace, train) = (get("ptr")?, get("trace")?, get("tensor-train")?);
    let verb = if ptr < trace.min(train) { "beats" } else { "does not beat" };
    let mut text = format!(
        "In the completion of missing blocks partial trace regression ({}) {verb} both methods of table 4, trace regression ({}) and the \
         tensor-train network ({}).",
        show(ptr),
        show(trace),
        show(train)
    );
    let others =
        [("trace-whole", "the nuclear norm of the whole matrix"), ("mean", "the mean of the observed entries")];
    let better: Vec<String> = others
        .iter()
        .filter_map(|(name, words)| get(name).filter(|&v| v < ptr).map(|v| format!("{words} ({})", show(v))))
        .collect();
    if !better.is_empty() {
        text += &format!(" Simpler methods that the paper does not list do better still: {}.", better.join(" and "));
    }
    Some(text)
}

fn adaptation(m: &Metrics) -> Option<String> {
    let name = |s: u32, what: &str| format!("table3.s{s}.{what}");
    let known = |s: u32| {
        let (full, oos) = (value(m, &name(s, "fulladapt"))?, m.get(&name(s, "oosadapt"))?);
        Some(((full - oos.value).abs(), oos.sd?))
    };
    let pairs: Vec<(f64, f64)> = [1, 3, 7, 8, 9].into_iter().filter_map(known).collect();
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
    if pairs.is_empty() {
        return None;
    }
    let simulated = m.iter().any(|(n, v)| n.starts_with("table3.") && v.source == Source::Simulated);
    Some(format!(
        "{}Table 3 of the paper has one number a subject. Over random choices of the matrices that train the map, OoSAdapt moves by {:.1} \
         points (standard deviation, mean over {} subjects); its distance to FullAdapt is {:.1} points.",
        if simulated { "On SIMULATED recordings, which say nothing about the paper's: " } else { "" },
        mean(&|p| p.1),
        pairs.len(),
        mean(&|p| p.0)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::report::claims::Metric;

    fn metrics(of: &[(&str, f64)]) -> Metrics {
        let one = |&(name, value): &(&str, f64)| {
            (name.to_owned(), Metric { value, sd: Some(1.5), n: Some(3), source: Source::Simulated })
        };
        of.iter().map(one).collect()
    }

    #[test]
    fn says_nothing_without_numbers() {
        assert_eq!(summary(&Metrics::new()), Vec::<String>::new());
    }

    #[test]
    fn the_words_follow_the_numbers() {
        let order = |seriated: f64| {
            let names =
                ["full", "ptr", "mean", "ptr-shuffled", "ptr-seriated"].map(|n| format!("figure7.{n}.accuracy"));
            let values = [96.0, 99.0, 76.0, 55.0, seriated];
            let pairs: Vec<(&str, f64)> = names.iter().map(String::as_str).zip(values).collect();
            summary(&metrics(&pairs)).remove(0)
        };
        assert!(order(80.0).ends_with("without labels it is better than mean imputation (80.0 %)."), "{}", order(80.0));
        assert!(order(70.0).ends_with("without labels it is worse than mean imputation (70.0 %)."), "{}", order(70.0));
        assert!(order(70.0).contains("99.0 %, above the complete kernels' 96.0 %"));
        let table4 = metrics(&[
            ("table4.ptr.mse", 0.4),
            ("table4.trace.mse", 2.0),
            ("table4.tensor-train.mse", 3.0),
            ("table4.mean.mse", 0.3),
            ("table4.trace-whole.mse", 0.5),
        ]);
        let said = summary(&table4).remove(0);
        assert!(said.contains("beats both") && said.contains("the mean of the observed entries (0.3"), "{said}");
        assert!(!said.contains("nuclear norm"));
        let said = summary(&metrics(&[("table3.s1.fulladapt", 80.0), ("table3.s1.oosadapt", 78.0)])).remove(0);
        assert!(
            said.starts_with("On SIMULATED")
                && said.ends_with("over 1 subjects); its distance to FullAdapt is 2.0 points."),
            "{said}"
        );
    }
}

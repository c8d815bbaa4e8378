//! Claims: the paper's file reads, every metric is documented, verdicts follow the numbers, and a broken one is found.

use report::claims::*;
use report::source::Source;

fn metric(value: f64, source: Source) -> Metric {
    Metric { value, sd: None, n: None, source }
}

fn documented() -> Vec<&'static str> {
    METRICS.lines().filter_map(|l| l.split_once(": ")).map(|l| l.0).collect()
}

#[test]
fn the_papers_claims_read_and_name_documented_metrics() {
    let claims = read(PAPER).unwrap();
    assert!(claims.len() >= 15);
    let known = documented();
    for c in &claims {
        for m in c.decided_by.metrics() {
            assert!(known.contains(&m), "claim `{}` reads `{m}`, which metrics.txt does not describe", c.id);
        }
    }
    assert!(claims.iter().filter(|c| c.required).count() >= 5);
}

#[test]
fn verdicts_follow_the_numbers() {
    let claims = read(PAPER).unwrap();
    let c = claims.iter().find(|c| c.id == "ptr-beats-multivariate").unwrap();
    let mut m = Metrics::new();
    assert_eq!(judge(c, &m).verdict, Verdict::NotDecided);
    assert!(judge(c, &m).because.contains("is missing"));
    m.insert("table2-noise.ptr-exact.mse".into(), metric(2.0e-5, Source::Generated));
    m.insert("table2-noise.multivariate.mse".into(), metric(2.4e-4, Source::Generated));
    let j = judge(c, &m);
    assert_eq!(j.verdict, Verdict::Reproduced);
    assert_eq!(j.because, "table2-noise.ptr-exact.mse = 2.00×10⁻⁵ < 0.5 × table2-noise.multivariate.mse = 2.40×10⁻⁴");
    assert!(!broken(&[j]));
    // The result file edited by hand.
    m.insert("table2-noise.ptr-exact.mse".into(), metric(1.0, Source::Generated));
    let all = judge_all(&claims, &m);
    let j = all.iter().find(|j| j.claim.id == c.id).unwrap();
    assert_eq!(j.verdict, Verdict::NotReproduced);
    assert!(broken(&all));
    assert!(print(&all).contains("✗ ptr-beats-multivariate: not reproduced (section 3.1.1, table 2, required)"));
    // NaN decides nothing.
    m.insert("table2-noise.ptr-exact.mse".into(), metric(f64::NAN, Source::Generated));
    assert_eq!(judge(c, &m).verdict, Verdict::NotDecided);
    // Verdicts survive a file.
    let json = serde_json::to_string(&all).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Judged>>(&json).unwrap(), all);
}

#[test]
fn a_difference_counts_when_it_exceeds_twice_its_standard_error() {
    let claims = read(PAPER).unwrap();
    let c = claims.iter().find(|c| c.id == "much-missing-depth").unwrap();
    let judged = |deep: f64, sd: f64, n: usize| {
        let one = |value| Metric { value, sd: (n > 1).then_some(sd), n: Some(n), source: Source::Generated };
        let names = [("figure5.depth2.mse", deep), ("figure5.depth1.mse", 1.0)];
        judge(c, &names.into_iter().map(|(name, value)| (name.to_string(), one(value))).collect())
    };
    // Standard error of the difference: 0.3 sqrt(2 / 9) = 0.141.
    let j = judged(0.7, 0.3, 9);
    assert_eq!((j.verdict, j.over.as_str()), (Verdict::Reproduced, "over 9 matrices and masks"));
    assert!(j.because.ends_with(", by 2.1 standard errors"), "{}", j.because);
    assert!(print(&[j]).contains("much-missing-depth: reproduced over 9 matrices and masks (section"));
    // The same difference with more spread, or over fewer masks, may be chance.
    assert_eq!(judged(0.7, 0.4, 9).verdict, Verdict::NotDecided);
    assert_eq!(judged(0.7, 0.3, 5).verdict, Verdict::NotDecided);
    let once = judged(0.7, 0.3, 1);
    assert_eq!(once.verdict, Verdict::NotDecided);
    assert!(once.because.contains("measured once") && once.over.contains("one of the"), "{once:?}");
    // The wrong sign is not reproduced, however large the spread.
    assert_eq!(judged(1.1, 0.3, 9).verdict, Verdict::NotReproduced);
}

#[test]
fn a_stated_margin_is_decided_by_the_means() {
    let claims = read(PAPER).unwrap();
    let c = claims.iter().find(|c| c.id == "rank-matters-little").unwrap();
    for (other, want) in [(94.0, Verdict::Reproduced), (89.0, Verdict::NotReproduced)] {
        let one = |value| Metric { value, sd: Some(30.0), n: Some(2), source: Source::Generated };
        let m = [("figure7.rank50.accuracy", 95.0), ("figure7.rank200.accuracy", other)];
        let j = judge(c, &m.into_iter().map(|(name, value)| (name.to_string(), one(value))).collect());
        assert_eq!((j.verdict, j.over.as_str()), (want, "over 2 masks"));
    }
}

#[test]
fn simulated_recordings_cannot_decide_a_claim_about_real_ones() {
    let claims = read(PAPER).unwrap();
    let c = claims.iter().find(|c| c.id == "adaptation-helps").unwrap();
    for (source, want) in [(Source::Simulated, Verdict::NotDecided), (Source::Real("2a".into()), Verdict::Reproduced)] {
        let mut m = Metrics::new();
        for name in documented().iter().filter(|n| n.starts_with("table3.")) {
            m.insert(name.to_string(), metric(if name.ends_with("noadapt") { 60.0 } else { 70.0 }, source.clone()));
        }
        assert_eq!(judge(c, &m).verdict, want);
    }
}

#[test]
fn count_rules_wait_only_as_long_as_needed() {
    let less = |l: &str, r: &str| Rule::LessThan { left: l.into(), right: r.into(), factor: 1.0, margin: 0.0 };
    let rule = Rule::CountAtLeast { count: 1, of: vec![less("a", "b"), less("a", "missing")] };
    let claim = Claim {
        id: "x".into(),
        text: "x".into(),
        place: "".into(),
        required: true,
        needs_real: false,
        decided_by: rule,
        remark: "".into(),
    };
    let mut m = Metrics::new();
    m.insert("a".into(), metric(1.0, Source::Generated));
    m.insert("b".into(), metric(2.0, Source::Generated));
    assert_eq!(judge(&claim, &m).verdict, Verdict::Reproduced);
    m.insert("b".into(), metric(0.5, Source::Generated));
    assert_eq!(judge(&claim, &m).verdict, Verdict::NotDecided);
    m.insert("missing".into(), metric(0.5, Source::Generated));
    assert_eq!(judge(&claim, &m).verdict, Verdict::NotReproduced);
}

#[test]
fn bad_claims_files_are_refused_with_the_claim_named() {
    let one = r#"{"id":"a","text":"t","place":"p","required":true,"decided_by":RULE}"#;
    let with = |rule: &str| read(&format!("[{}]", one.replace("RULE", rule))).unwrap_err().to_string();
    assert!(with(r#"{"rule":"count_at_least","count":3,"of":[]}"#).contains("claim `a`"));
    assert!(with(r#"{"rule":"less_then","left":"a","right":"b"}"#).contains("less_then"));
    let ok = one.replace("RULE", r#"{"rule":"between","metric":"m","low":0,"high":1}"#);
    assert!(read(&format!("[{ok},{ok}]")).unwrap_err().to_string().contains("two claims"));
}

#[test]
fn a_margin_is_added_on_the_right() {
    let claims = read(PAPER).unwrap();
    let c = claims.iter().find(|c| c.id == "out-of-sample-adaptation").unwrap();
    for (below, want) in [(2.9, Verdict::Reproduced), (3.1, Verdict::NotReproduced)] {
        let mut m = Metrics::new();
        for s in [1, 3, 7, 8, 9] {
            m.insert(format!("table3.s{s}.fulladapt"), metric(80.0, Source::Real("2a".into())));
            m.insert(format!("table3.s{s}.oosadapt"), metric(80.0 - below, Source::Real("2a".into())));
        }
        let judged = judge(c, &m);
        assert_eq!(judged.verdict, want);
        assert!(
            judged.because.contains(&format!("table3.s1.oosadapt = {:.1} + 3", 80.0 - below)),
            "{}",
            judged.because
        );
    }
}

//! Properties: of canonical values, of joins, of determinism.

use crate::common::*;
use pipeline::*;
use proptest::prelude::*;

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_filter("finite", |x| x.is_finite()).prop_map(Value::Float),
        "[a-z0-9.:${} ]{0,6}".prop_map(Value::Str),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..4)
                .prop_map(|map| Value::Map(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_survive_json_and_hash_alike_only_when_equal(a in values(), b in values()) {
        let back: Value = serde_json::from_str(&serde_json::to_string(&a).unwrap()).unwrap();
        prop_assert_eq!(&back, &a);
        prop_assert_eq!(back.canonical_bytes(), a.canonical_bytes());
        prop_assert_eq!(a == b, a.canonical_bytes() == b.canonical_bytes());
    }

    #[test]
    fn joins_follow_the_rule(up in axes(), down in axes()) {
        let yaml = format!("version: 1\nstages:\n  up: {{kind: free, matrix: {up}}}\n  down: {{kind: free, needs: [up], matrix: {down}}}\n");
        let mut kinds = Registry::new();
        kinds.kind(Free);
        let config = Config::parse("pipeline.yaml", &yaml, std::path::Path::new(".")).unwrap();
        let rule = |u: &Unit, d: &Unit| u.axes.iter().all(|(k, v)| d.axes.get(k).is_none_or(|w| v == w));
        match config.plan("default", &[], &kinds) {
            Ok(plan) => {
                let (ups, downs) = (plan.stage("up").unwrap().units.clone(), plan.stage("down").unwrap().units.clone());
                for d in downs {
                    let expected: Vec<usize> = ups.clone().filter(|&u| rule(&plan.units[u], &plan.units[d])).collect();
                    prop_assert!(!expected.is_empty());
                    prop_assert_eq!(&plan.units[d].inputs, &expected);
                }
            }
            Err(e) => prop_assert!(e.message.contains("finds no unit of `up`"), "{}", e),
        }
    }
}

/// A flow map of up to three axes with up to three values each.
fn axes() -> impl Strategy<Value = String> {
    prop::collection::btree_map("[abc]", prop::collection::btree_set(1..4u32, 1..4), 0..3).prop_map(|axes| {
        let axis = |(k, v): (&String, &std::collections::BTreeSet<u32>)| format!("{k}: {v:?}").replace(['{', '}'], "");
        let fix = |s: String| s.replacen(": ", ": [", 1) + "]";
        format!("{{{}}}", axes.iter().map(|a| fix(axis(a))).collect::<Vec<_>>().join(", "))
    })
}

/// Takes any parameters and does nothing.
struct Free;

impl Kind for Free {
    fn name(&self) -> &str {
        "free"
    }
    fn about(&self) -> &str {
        "takes anything"
    }
    fn schema(&self) -> u32 {
        1
    }
    fn sources(&self) -> &[(String, String)] {
        &[]
    }
    fn check(&self, params: &Value) -> Result<Value, ParamError> {
        Ok(params.clone())
    }
    fn run(&self, _: &Context) -> StageResult {
        Ok(())
    }
}

#[test]
fn the_order_of_work_leaves_no_trace() {
    let whole = Project::new();
    whole.run(CHAIN);
    for (jobs, targets) in [(1, vec!["c"]), (3, vec!["b/*x=2.0", "a"]), (2, vec!["a/x=2.0", "b/rank=2*"])] {
        let p = Project::new();
        let engine = p.engine(CHAIN);
        for target in targets {
            let options = RunOptions { jobs, targets: vec![target.to_string()], ..Default::default() };
            engine.run(&options, &mut |_| {}).unwrap();
        }
        engine.run(&RunOptions { jobs, ..Default::default() }, &mut |_| {}).unwrap();
        assert_eq!(p.lock(), whole.lock());
    }
}

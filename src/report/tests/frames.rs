//! Frames: rows in and out of JSON, CSV and Parquet; groups, summaries and choices against numbers computed by hand; the same bits for
//! any number of polars' threads; and Python reads what we publish.

use std::process::Command;

use proptest::prelude::*;
use report::frames::{Results, from_csv, from_parquet, from_rows, stacked, to_csv, to_parquet};
use report::polars::prelude::{DataFrame, DataType, IntoLazy, col, df, lit};
use serde_json::json;

const ROWS: &str = "model,l,seed,mse,note\nptr,100,0,1.0,\nptr,100,1,3.0,\"a, \"\"b\"\"\"\nls,100,0,10.0,\nls,100,1,,x\nptr,1000,0,1e-9,\n";

#[test]
fn csv_and_parquet_keep_every_value() {
    let r = from_csv(ROWS).unwrap();
    assert_eq!(r.shape(), (5, 5));
    assert_eq!(r.texts("note").unwrap()[1].as_deref(), Some("a, \"b\""));
    assert_eq!(r.column("l").unwrap().dtype(), &DataType::Int64);
    assert!(r.numbers("mse").unwrap()[3].is_nan());
    assert!(from_csv(&to_csv(&r).unwrap()).unwrap().equals_missing(&r));
    assert!(from_parquet(&to_parquet(&r).unwrap()).unwrap().equals_missing(&r));
    assert_eq!(to_parquet(&r).unwrap(), to_parquet(&r).unwrap());
}

#[test]
fn json_rows_find_the_kind_of_each_column() {
    let rows = json!([
        {"model": "ptr", "rank": 1, "mse": 1, "done": true, "none": null},
        {"model": "ls", "rank": 2, "mse": 2.5, "late": "x"},
        {"model": null, "mse": "NaN", "late": 3},
        {"mse": "-inf"}
    ]);
    let rows: Vec<_> = rows.as_array().unwrap().iter().map(|r| r.as_object().unwrap().clone()).collect();
    let r = from_rows(&rows).unwrap();
    let kinds: Vec<_> = r.columns().iter().map(|c| (c.name().to_string(), c.dtype().clone())).collect();
    let want = [
        ("model", DataType::String),
        ("rank", DataType::Int64),
        ("mse", DataType::Float64),
        ("done", DataType::Boolean),
        ("none", DataType::Null),
        ("late", DataType::String),
    ];
    assert_eq!(kinds, want.map(|(n, k)| (n.to_string(), k)));
    let mse = r.numbers("mse").unwrap();
    assert_eq!((mse[0], mse[1], mse[3]), (1.0, 2.5, f64::NEG_INFINITY));
    assert_eq!(r.texts("late").unwrap()[2].as_deref(), Some("3"));
    assert!(r.numbers("none").unwrap().iter().all(|v| v.is_nan()));
    assert_eq!(from_rows(&[]).unwrap().height(), 0);
}

#[test]
fn stacked_frames_have_all_columns() {
    let a = df!("rank" => [1i64, 2], "note" => ["x", "y"]).unwrap();
    let b = df!("rank" => [0.5], "note" => [7i64], "more" => [true]).unwrap();
    let r = stacked(&[a, b]).unwrap();
    assert_eq!(r.numbers("rank").unwrap(), [1.0, 2.0, 0.5]);
    assert_eq!(r.texts("note").unwrap(), ["x", "y", "7"].map(|t| Some(t.to_string())));
    assert_eq!(r.texts("more").unwrap(), [None, None, Some("true".to_string())]);
    assert_eq!(stacked(&[]).unwrap().shape(), (0, 0));
}

#[test]
fn wrong_columns_are_named() {
    let r = from_csv(ROWS).unwrap();
    assert!(r.numbers("model").unwrap_err().to_string().contains("column `model`, row 1: `ptr`"));
    assert!(r.with("nope", 1).unwrap_err().to_string().contains("model, l, seed"));
    assert!(from_csv("").is_err());
    assert!(from_parquet(b"no table").is_err());
}

#[test]
fn summaries_match_numbers_computed_by_hand() {
    let r = from_csv(ROWS).unwrap();
    let a = r.summaries(&["model", "l"], "mse").unwrap();
    assert_eq!(a.texts("model").unwrap(), ["ptr", "ls", "ptr"].map(|t| Some(t.to_string())));
    assert_eq!(a.numbers("n").unwrap(), [2.0, 1.0, 1.0]);
    assert_eq!(a.numbers("mean").unwrap(), [2.0, 10.0, 1e-9]);
    assert!((a.numbers("sd").unwrap()[0] - 2f64.sqrt()).abs() < 1e-15);
    assert!(a.numbers("sd").unwrap()[1].is_nan());
    let best = r.best(&["model"], "mse").unwrap();
    assert_eq!((best.numbers("mse").unwrap(), best.numbers("l").unwrap()), (vec![1e-9, 10.0], vec![1000.0, 100.0]));
    assert_eq!(best.get_column_names(), r.get_column_names());
    assert_eq!(r.with("l", 100).unwrap().height(), 4);
    assert_eq!(r.distinct("l").unwrap(), [100, 1000]);
    let curve = r.with("model", "ptr").unwrap().curve("l", "mse").unwrap();
    assert_eq!(curve.iter().map(|p| p.0).collect::<Vec<_>>(), [100.0, 1000.0]);
    assert_eq!((curve[0].1.min, curve[0].1.max), (1.0, 3.0));
    let odd = df!("v" => [f64::NAN, 1.0, f64::INFINITY, 3.0]).unwrap().summary("v").unwrap();
    assert_eq!((odd.n, odd.mean, odd.min, odd.max), (2, 2.0, 1.0, 3.0));
    let none = r.only(lit(false)).unwrap().summary("mse").unwrap();
    assert!(none.n == 0 && none.mean.is_nan());
}

/// Rows whose sums depend on their order: large numbers that cancel, among small ones, in groups of very different size.
fn rows() -> DataFrame {
    let n = 20_000u64;
    let scramble = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let value = |i: u64| if i.is_multiple_of(3) { 1e12 } else { -5e11 } + scramble(i) as f64 * 1e-3;
    df!(
        "group" => (0..n).map(|i| format!("g{}", scramble(i * 7) % 97 % (1 + i / 500))).collect::<Vec<_>>(),
        "x" => (0..n).map(|i| (scramble(i) % 11) as i64).collect::<Vec<_>>(),
        "value" => (0..n).map(value).collect::<Vec<_>>(),
    )
    .unwrap()
}

/// Prints the bits of all summaries; the test below runs it with different numbers of polars' threads.
#[test]
fn bits_of_summaries() {
    let r = rows();
    let by_group = r.summaries(&["group", "x"], "value").unwrap();
    let joined = by_group.clone().lazy().join(
        r.summaries(&["group"], "value").unwrap().lazy().select([col("group"), col("mean").alias("all")]),
        [col("group")],
        [col("group")],
        Default::default(),
    );
    for frame in [by_group, r.best(&["group"], "value").unwrap(), joined.collect().unwrap()] {
        let bits = to_parquet(&frame)
            .unwrap()
            .iter()
            .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3));
        println!("bits {bits:016x}");
    }
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let run = |threads: &str| {
        let exe = std::env::current_exe().unwrap();
        let out = Command::new(exe)
            .args(["--exact", "bits_of_summaries", "--nocapture"])
            .env("POLARS_MAX_THREADS", threads)
            .output();
        let text = String::from_utf8(out.unwrap().stdout).unwrap();
        text.lines()
            .filter(|l| l.contains("bits "))
            .map(|l| l[l.find("bits ").unwrap()..].to_string())
            .collect::<Vec<_>>()
    };
    let one = run("1");
    assert_eq!(one.len(), 3);
    for threads in ["2", "7"] {
        assert_eq!(run(threads), one, "{threads} threads");
    }
}

#[test]
fn sums_run_in_row_order() {
    let r = rows();
    let sums = r.clone().lazy().group_by_stable([col("group")]).agg([col("value").sum()]).collect().unwrap();
    let (groups, values) = (r.texts("group").unwrap(), r.numbers("value").unwrap());
    for (group, sum) in sums.texts("group").unwrap().iter().zip(sums.numbers("value").unwrap()) {
        // Kahan's compensated sum over the rows as they stand.
        let (mut total, mut lost) = (0.0f64, 0.0f64);
        for (_, v) in groups.iter().zip(&values).filter(|(g, _)| *g == group) {
            let y = v - lost;
            let t = total + y;
            lost = (t - total) - y;
            total = t;
        }
        assert_eq!(sum.to_bits(), total.to_bits(), "{group:?}");
    }
}

/// Skips, and says so, when neither pandas nor polars is installed.
#[test]
fn python_opens_the_parquet_file() {
    let script = "import sys\ntry:\n import polars as f\nexcept ImportError:\n try:\n  import pandas as f\n  import pyarrow\n except ImportError:\n  print('skip'); sys.exit()\nd = f.read_parquet(sys.argv[1])\nprint(f.__name__, list(d.columns), list(d['mse'])[:3], sum(d['l']))";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("results.parquet");
    std::fs::write(&file, to_parquet(&from_csv(ROWS).unwrap()).unwrap()).unwrap();
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let Ok(out) = Command::new(python).arg("-c").arg(script).arg(&file).output() else {
        println!("skipped: no python3");
        return;
    };
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    if text.trim() == "skip" {
        println!("skipped: python3 has neither polars nor pandas with pyarrow");
        return;
    }
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(text.contains("['model', 'l', 'seed', 'mse', 'note'] [1.0, 3.0, 10.0] 1400"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_and_number_survives_both_formats(text in proptest::collection::vec("[ -~\n\"é,]{1,12}", 1..6), value in any::<f64>()) {
        let mut texts = text;
        texts.push("word".into());
        let r = df!("t,x" => &texts, "v" => vec![value; texts.len()]).unwrap();
        let same = |back: DataFrame| -> Result<(), TestCaseError> {
            prop_assert_eq!(back.texts("t,x").unwrap(), texts.iter().cloned().map(Some).collect::<Vec<_>>());
            let v = back.numbers("v").unwrap()[0];
            prop_assert!(v == value || (v.is_nan() && value.is_nan()), "{} {}", v, value);
            Ok(())
        };
        same(from_parquet(&to_parquet(&r).unwrap()).unwrap())?;
        same(from_csv(&to_csv(&r).unwrap()).unwrap())?;
    }
}

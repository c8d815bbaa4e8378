//! A page with all its parts, filled with made-up results.
#![allow(dead_code)]

use report::Card;
use report::claims::{Metric, Metrics, PAPER, judge_all, read};
use report::frames::Results;
use report::page::*;
use report::polars::prelude::df;
use report::source::Source;
use report::table::{Best, Spec, Table};

pub fn page() -> ReportPage {
    let mut m = Metrics::new();
    for (i, line) in report::claims::METRICS.lines().enumerate() {
        if let Some((name, _)) = line.split_once(": ") {
            let source = if name.starts_with("table3") { Source::Simulated } else { Source::Generated };
            m.insert(name.into(), Metric { value: super::noise(i) * 3.0, sd: Some(0.1), n: Some(5), source });
        }
    }
    let n = 600;
    let model = ["ptr", "ls", "<script>alert(1)</script>"];
    let raw = df!(
        "model" => (0..n).map(|i| model[i % 3]).collect::<Vec<_>>(),
        "rank" => (0..n).map(|i| (i % 20) as i64).collect::<Vec<_>>(),
        "seed" => (0..n).map(|i| (i / 20) as i64).collect::<Vec<_>>(),
        "mse" => (0..n).map(|i| super::noise(i) * 1e-5).collect::<Vec<_>>(),
        "seconds" => (0..n).map(|i| super::noise(i + 7) * 3.0).collect::<Vec<_>>(),
    )
    .unwrap();
    let summary = raw.summaries(&["model"], "mse").unwrap();
    let specs = [
        Spec::text("Model", "model"),
        Spec::mean_sd("MSE, ours", "mean", "sd", Best::Smallest),
        Spec::number("n", "n", Best::Plain),
    ];
    let table =
        Table::new("table2", "Error of the models on 1000 test samples", Source::Generated, &summary, &specs).unwrap();
    let mut figures = super::all();
    let dag = figures.pop();
    ReportPage {
        title: "Partial trace regression, reproduced".into(),
        lead: "Kadri et al., ICML 2020; profile default.".into(),
        summary: vec!["The published protocol sorts samples by class & so leaks labels through their order.".into()],
        claims: judge_all(&read(PAPER).unwrap(), &m),
        figures: figures
            .iter()
            .map(|figure| {
                let data = Some(Download { name: format!("{}.csv", figure.id), text: "rank,mse\n1,2\n".into() });
                let differs = "The paper shows Adam only; here the exact solver is used for the large map.".into();
                let (card, svg) = (Card::of_figure(figure).unwrap(), figure.svg().unwrap());
                PageFigure { card, svg, data, differs, command: format!("repro figures {}", figure.id) }
            })
            .collect(),
        tables: vec![PageTable {
            card: Card::of_table(&table),
            html: table.html(),
            csv: table.csv().unwrap(),
            differs: String::new(),
            command: "repro run table2".into(),
        }],
        differences: vec![Difference {
            what: "Optimiser".into(),
            paper: "Adam, last epoch".into(),
            here: "Adam and exact".into(),
            why: "Adam bounces at 0.001".into(),
        }],
        data: vec![DataUse {
            name: "BCI Competition IV 2a".into(),
            used: Source::Simulated,
            address: "https://www.bbci.de/competition/iv/".into(),
            licence: "CC BY-ND 4.0".into(),
        }],
        dag,
        provenance: vec![("threads".into(), "2".into()), ("backend".into(), "cpu".into())],
        commands: vec![("everything".into(), "repro run".into())],
        raw: Some(raw),
    }
}

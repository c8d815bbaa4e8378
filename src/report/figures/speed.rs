//! How fast others are beside us: their time over ours, per case, on a log axis.

use serde::Deserialize;

use crate::charts::axis::Axis;
use crate::charts::figure::{Content, Dots, Figure, Panel};
use crate::charts::style::Width;
use crate::error::Error;
use crate::source::Source;

/// Times measured in one sitting (`benches/`), by whom and of what.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Timings {
    /// Day of the sitting.
    pub date: String,
    /// Where.
    pub machine: Machine,
    /// The measurements.
    pub rows: Vec<Timing>,
}

/// The machine of a sitting.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Machine {
    /// Its processor.
    pub model: String,
    /// Cores.
    pub cores: usize,
    /// Load average during the sitting: above zero others disturbed it.
    pub load: f64,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Timing {
    /// The panel it belongs to.
    pub group: String,
    /// What was timed.
    pub case: String,
    /// Who was timed; ours is `ours`.
    pub who: String,
    /// Threads allowed.
    pub threads: usize,
    /// Least time.
    pub milliseconds: f64,
}

/// Read a file of timings.
pub fn read_timings(json: &str) -> Result<Timings, Error> {
    serde_json::from_str(json).map_err(|source| Error::Json { what: "file of timings".into(), source })
}

/// How many times our time the others take: training epochs in a panel for each number of threads, all else in another.
pub fn speed(timings: &Timings) -> Figure {
    let mut epochs: Vec<usize> = Vec::new();
    for row in timings.rows.iter().filter(|r| r.group == EPOCH) {
        push_new(&mut epochs, row.threads);
    }
    let mut panels: Vec<Panel> = epochs
        .iter()
        .map(|&threads| {
            let title = format!("an epoch of training, {threads} {}", if threads == 1 { "thread" } else { "threads" });
            panel(title, &|row| row.group == EPOCH && row.threads == threads, timings)
        })
        .collect();
    panels.push(panel("all else, 1 thread".into(), &|row| row.group != EPOCH && row.threads == 1, timings));
    let Machine { model, cores, load } = &timings.machine;
    let caption = format!("Measured on {}: {cores} cores, {model}, load average {load:.1}.", timings.date);
    let mut figure =
        Figure::panels("speed", "Time of others over ours", Source::None, Width::TwoColumns, 1, 110.0, panels).words(
            "For each benchmark, the time that other programs take divided by ours, on a logarithmic axis; above one we are faster.",
            format!("{caption} Above one we are faster."),
        );
    figure.own_legends = true;
    figure
}

const OURS: &str = "ours";
const EPOCH: &str = "epoch";

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

fn panel(title: String, here: &dyn Fn(&Timing) -> bool, timings: &Timings) -> Panel {
    let rows = || timings.rows.iter().filter(|r| here(r));
    let time = |who: &str, case: &str| rows().find(|r| r.who == who && r.case == case).map(|r| r.milliseconds);
    let (mut cases, mut names): (Vec<&str>, Vec<&str>) = Default::default();
    for row in rows().filter(|r| r.who != OURS && time(OURS, &r.case).is_some()) {
        push_new(&mut cases, row.case.as_str());
        push_new(&mut names, row.who.as_str());
    }
    let ratio = |who: &str, case: &str| Some(time(who, case)? / time(OURS, case)?);
    let ratios = |who: &&str| cases.iter().map(|case| ratio(who, case).unwrap_or(f64::NAN)).collect::<Vec<f64>>();
    let series: Vec<_> = names.iter().map(|w| ((*w).to_owned(), ratios(w))).collect();
    // Equal is always in sight. `min` and `max` pass over NaN.
    let all = || series.iter().flat_map(|(_, ratios)| ratios.iter().copied());
    let (low, high) = (all().fold(1.0, f64::min), all().fold(1.0, f64::max));
    // A group that completes the sentence ("to test MSE 1e-6") is part of a case's name.
    let group = |case: &str| rows().find(|r| r.case == case && r.group.starts_with("to ")).map(|r| &r.group);
    let name = |case: &&str| group(case).map_or((*case).to_owned(), |g| format!("{case} {g}"));
    let cases = cases.iter().map(name).collect();
    let dots = Dots { series, cases, y: Axis::log("times our time").between(low / 1.3, high * 1.3) };
    Panel { title, content: Content::Dots(dots) }
}

//! Kind `bci-figures`: table 3, the embedding of one subject's sessions, and its transport plan. Trains nothing.

use super::results::{COLUMNS, PAPERS_VARIANT, Subject, source, subjects};
use crate::shared::files::{input_with, read_npy};
use crate::shared::render::{figure, table};
use crate::shared::results::read_results;
use crate::shared::sessions::{Trials, sessions};
use anyhow::Result;
use datasets::fetch::Kind;
use ndarray::{Array2, Array3, Axis};
use pipeline::{Context, Stage, StageResult};
use report::figures::Cloud;
use report::results::Cell;
use report::table::{Best, Spec};
use report::{Figure, Results, Source, Table};
use serde::{Deserialize, Serialize};
use spd::{MeanParams, Metric};

/// The kind.
pub struct BciFigures;

/// Its parameters.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// What to draw.
    what: What,
    /// Axes of the inputs, for a figure of one subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variant: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    draw: Option<u64>,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum What {
    Table3,
    Rivals,
    Embedding,
    Plan,
}

impl Stage for BciFigures {
    const NAME: &'static str = "bci-figures";
    const ABOUT: &'static str = "table 3, the embedding and the transport plan, from the results of BCI adaptation";
    const SCHEMA: u32 = 1;
    type Params = Params;

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        match p.what {
            What::Table3 => table(ctx, &table3(ctx)?)?,
            What::Rivals => table(ctx, &super::rivals_table::rivals(ctx)?)?,
            What::Embedding => figure(ctx, &embedding(ctx, p.subject)?)?,
            What::Plan => figure(ctx, &plan(ctx, p.subject)?)?,
        }
        Ok(())
    }
}

/// The paper's table 3: subject, NoAdapt, FullAdapt, OoSAdapt.
const PAPER: [(usize, [f64; 3]); 5] = [
    (1, [73.66, 73.66, 72.24]),
    (3, [65.93, 72.89, 68.86]),
    (7, [53.42, 64.62, 59.20]),
    (8, [73.80, 75.27, 73.06]),
    (9, [73.10, 75.00, 76.89]),
];

/// The variants of the transport: name in the rows, words in a heading.
const VARIANTS: [(&str, &str); 2] = [(PAPERS_VARIANT, ""), ("labels", ", labels")];

/// Accuracy per subject and column, both variants of the transport, beside the paper's where that means something.
fn table3(ctx: &Context) -> Result<Table> {
    let subjects = subjects(&read_results(ctx)?)?;
    let name = |s: &Subject| Cell::Text(format!("{}", s.subject));
    let mut columns = vec![("subject".to_string(), column(&subjects, |s| Ok(name(s)), Cell::Text("mean".into()))?)];
    let mut specs = vec![Spec::text("Subject", "subject")];
    for (variant, words) in VARIANTS {
        for (_, value, heading) in COLUMNS {
            // Without adaptation there is no transport: one column.
            if value == "no_adapt" && variant != PAPERS_VARIANT {
                continue;
            }
            let heading = format!("{heading}{words}");
            let mean = |s: &Subject| Ok(number(s.accuracy(variant, value)?.mean));
            columns.push((heading.clone(), column(&subjects, mean, average(&subjects, mean)?)?));
            if value == "oos_adapt" {
                let sd = format!("{heading} sd");
                let deviation = |s: &Subject| Ok(number(s.accuracy(variant, value)?.sd));
                columns.push((sd.clone(), column(&subjects, deviation, Cell::Null)?));
                specs.push(Spec::mean_sd(&heading, &heading, &sd, Best::Plain));
            } else {
                specs.push(Spec::number(&heading, &heading, Best::Plain));
            }
        }
    }
    let comparable = subjects.iter().any(Subject::comparable);
    if comparable {
        for (i, (_, _, heading)) in COLUMNS.iter().enumerate() {
            let heading = format!("Paper: {heading}");
            let paper = |s: &Subject| {
                let row = PAPER.iter().find(|p| p.0 == s.subject && s.comparable());
                Ok(row.map_or(Cell::Null, |p| Cell::Float(p.1[i])))
            };
            columns.push((heading.clone(), column(&subjects, paper, average(&subjects, paper)?)?));
            specs.push(Spec::number(&heading, &heading, Best::Plain));
        }
    }
    let all =
        subjects.iter().map(|s| &s.source).find(|s| **s == Source::Simulated).or(subjects.first().map(|s| &s.source));
    let source = all.cloned().unwrap_or(Source::Simulated);
    let caption =
        title("Accuracy (%) of MDM on the second session: mean ± deviation over the random choices of trials", &source);
    let table = Table::new("table3", &caption, source.clone(), &Results::from_columns(columns)?, &specs)?
        .note(
            "NoAdapt: trained on the first session as it is. FullAdapt: all of it mapped by optimal transport. OoSAdapt: a random \
             80 % mapped by transport, the rest by a partial trace regression (Kraus rank 20) learned from them. Only OoSAdapt depends on the choice.",
        )
        .note(
            "The map is learned on matrices whitened by the Riemannian mean of the training inputs and of their targets: still a Kraus map of \
             rank 20 between the recorded matrices. On matrices as recorded (`adapt.scaling=unit`) the square loss neglects \
             weak directions and OoSAdapt falls behind. The paper does not say which it used.",
        )
        .note(
            "Two variants of the transport by Yair et al. (2019): unsupervised, as the paper says, and with the labels of the \
             first session (`labels`).",
        );
    let table = match comparable {
        true => table.note(
            "The paper reports one number per cell; the deviation over choices is of the size of its differences.",
        ),
        false => table,
    };
    Ok(match source {
        Source::Simulated => table.note(
            "SIMULATED recordings: they show that the method runs and orders the columns, and say nothing about the paper's subjects. \
             Give real recordings with --data-dir; --require-real refuses simulated ones.",
        ),
        _ if !comparable => table.note("Not the four classes of the paper's table, so its numbers do not stand here."),
        _ => table,
    })
}

/// The first words of everything drawn from simulated recordings.
pub(super) fn title(text: &str, source: &Source) -> String {
    if *source == Source::Simulated { format!("SIMULATED recordings. {text}") } else { text.into() }
}

pub(super) fn number(v: f64) -> Cell {
    if v.is_finite() { Cell::Float(v) } else { Cell::Null }
}

/// One cell per subject and one for the last row.
fn column(subjects: &[Subject], of: impl Fn(&Subject) -> Result<Cell>, last: Cell) -> Result<Vec<Cell>> {
    subjects.iter().map(of).chain([Ok(last)]).collect()
}

/// The mean over the subjects, if all have a value.
fn average(subjects: &[Subject], of: impl Fn(&Subject) -> Result<Cell>) -> Result<Cell> {
    let values: Vec<Option<f64>> = subjects.iter().map(|s| Ok(of(s)?.number())).collect::<Result<_>>()?;
    let sum = values.iter().copied().sum::<Option<f64>>();
    Ok(sum.map_or(Cell::Null, |sum| Cell::Float(sum / values.len() as f64)))
}

/// Names of the competition's classes 1 to 4.
const CLASSES: [&str; 4] = ["left hand", "right hand", "feet", "tongue"];

/// The matrices of both sessions in the tangent space at the mean of session E, on the first two principal axes of the
/// sessions before mapping: as recorded, after transport, and as out-of-sample adaptation has them.
fn embedding(ctx: &Context, subject: Option<u8>) -> Result<Figure> {
    let (first, second) = sessions(ctx)?;
    let mapped: Array3<f64> = read_npy(input_with(ctx, "mapped.npy")?.path("mapped.npy")?)?;
    let adapted: Array3<f64> = read_npy(input_with(ctx, "adapted.npy")?.path("adapted.npy")?)?;
    let at = spd::mean(second.matrices.view(), None, Metric::AffineInvariant, &MeanParams::default().check()?)?.matrix;
    let plane = spd::Plane::fit(&[first.matrices.view(), second.matrices.view()], at.view())?;
    let to = plane.points(second.matrices.view())?;
    let (labels, classes) = class_indices(&first, &second);
    let cloud = |from: &Array3<f64>| -> Result<Cloud> {
        let mut points = plane.points(from.view())?;
        let session = (0..points.len() + to.len()).map(|i| usize::from(i >= points.len())).collect();
        points.extend(&to);
        Ok(Cloud { at: points, class: labels.clone(), session })
    };
    let panels = [
        ("as recorded".to_string(), cloud(&first.matrices)?),
        ("T mapped by transport".to_string(), cloud(&mapped)?),
        ("80 % by transport, 20 % by the learned map".to_string(), cloud(&adapted)?),
    ];
    let source = data(&first, &classes);
    let text = title(&format!("Trial covariances of subject {}", subject.unwrap_or_default()), &source);
    let names: Vec<&str> = classes.iter().map(|c| class_name(*c)).collect();
    let figure = report::figures::embedding("embedding", &text, &panels, &names, &["session T", "session E"], source);
    let alt = figure.alt.clone();
    Ok(figure.words(
        alt,
        "Covariances of both sessions in the tangent space at the Riemannian mean of session E, all panels on the first two principal \
         axes of the trials as recorded. Colour is the class, marker the session. Transport moves session T onto session E; the learned map does \
         the same for trials it has not seen.",
    ))
}

/// The plan of one subject, trials of both sessions sorted by class.
fn plan(ctx: &Context, subject: Option<u8>) -> Result<Figure> {
    let (first, second) = sessions(ctx)?;
    let plan: Array2<f64> = read_npy(input_with(ctx, "plan.npy")?.path("plan.npy")?)?;
    let sorted = |labels: &[i64]| {
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.sort_by_key(|i| labels[*i]);
        order
    };
    let weights = plan.select(Axis(0), &sorted(&first.labels)).select(Axis(1), &sorted(&second.labels));
    let source = data(&first, &class_indices(&first, &second).1);
    let text = title(&format!("Transport plan of subject {}", subject.unwrap_or_default()), &source);
    let figure = report::figures::plan("plan", &text, &weights, source);
    let alt = figure.alt.clone();
    Ok(figure.words(
        alt,
        "Weights of the transport plan from the trials of session T (rows) to those of session E (columns), both sorted by class. Where \
         the plan follows the classes, the weight lies in the blocks along the diagonal; the classes of session E are not used to find it.",
    ))
}

/// The classes of both sessions, ascending, and the index of each trial's, session T first.
fn class_indices(first: &Trials, second: &Trials) -> (Vec<usize>, Vec<i64>) {
    let labels: Vec<i64> = first.labels.iter().chain(&second.labels).copied().collect();
    let mut classes = labels.clone();
    classes.sort_unstable();
    classes.dedup();
    // Every label is among the classes: they were collected from the labels.
    (labels.iter().map(|l| classes.partition_point(|c| c < l)).collect(), classes)
}

fn class_name(class: i64) -> &'static str {
    usize::try_from(class - 1).ok().and_then(|i| CLASSES.get(i)).copied().unwrap_or("other")
}

fn data(trials: &Trials, classes: &[i64]) -> Source {
    source(trials.provenance.kind == Kind::Real, classes.len())
}

//! Kind `bci-figures`: table 3, the embedding of one subject's sessions, and its transport plan. Trains nothing.

use super::results::{COLUMNS, PAPERS_VARIANT, direction, source, subjects};
use super::rivals_table::{self, Trained};
use crate::shared::files::{input_with, read_npy};
use crate::shared::render::{figure, table};
use crate::shared::results::read_results;
use crate::shared::sessions::{Trials, first_day, sessions};
use anyhow::Result;
use datasets::bci::Session;
use datasets::fetch::Kind;
use ndarray::{Array2, Array3, Axis};
use pipeline::{Context, Stage, StageResult};
use report::figures::Cloud;
use report::frames::Results;
use report::polars::prelude::{Column, DataFrame, DataType, Expr, IntoLazy, JoinType, col, df, lit, when};
use report::table::{Best, Spec};
use report::{Figure, Source, Table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spd::{MeanParams, Metric};

/// The kind.
pub struct BciFigures;

/// Its parameters.
#[derive(Serialize, Deserialize, JsonSchema)]
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
    /// The session that is mapped to the other one.
    #[serde(default = "first_day")]
    source: Session,
}

#[derive(Serialize, Deserialize, Clone, Copy, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum What {
    Table3,
    Rivals,
    RivalsNew,
    Embedding,
    Plan,
}

impl Stage for BciFigures {
    const NAME: &'static str = "bci-figures";
    const ABOUT: &'static str = "table 3, the embedding and the transport plan, from the results of BCI adaptation";
    type Params = Params;

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        match p.what {
            What::Table3 => table(ctx, &table3(ctx)?)?,
            What::Rivals => rivals(ctx, Trained::All)?,
            What::RivalsNew => rivals(ctx, Trained::New)?,
            What::Embedding => figure(ctx, &embedding(ctx, p)?)?,
            What::Plan => figure(ctx, &plan(ctx, p)?)?,
        }
        Ok(())
    }
}

/// One table of the rivals, and its rows in MOABB's columns.
fn rivals(ctx: &Context, trained: Trained) -> Result<()> {
    let found = rivals_table::rivals(ctx, trained)?;
    table(ctx, &found)?;
    let path = ctx.output(&format!("{}-moabb.csv", found.id)).map_err(|e| anyhow::anyhow!("{e}"))?;
    Ok(fs_err::write(path, rivals_table::moabb(ctx, trained)?)?)
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
    let results = read_results(ctx)?;
    let subjects = subjects(&results)?;
    let mut frame = accuracies(&results)?;
    let mut specs = vec![Spec::text("Subject", "subject")];
    for (variant, words) in VARIANTS {
        for (_, value, heading) in COLUMNS {
            let (heading, mean) = (format!("{heading}{words}"), format!("{value} {variant}"));
            match value {
                // Without adaptation there is no transport: one column.
                "no_adapt" if variant != PAPERS_VARIANT => {}
                "oos_adapt" => specs.push(Spec::mean_sd(&heading, &mean, &format!("sd {variant}"), Best::Plain)),
                _ => specs.push(Spec::number(&heading, &mean, Best::Plain)),
            }
        }
    }
    let forwards = direction(&results)?.0 == "first";
    let comparable: Vec<usize> = subjects.iter().filter(|s| forwards && s.comparable()).map(|s| s.subject).collect();
    if !comparable.is_empty() {
        frame = frame.joined(&papers(&comparable)?, &["subject"], JoinType::Left)?;
        specs.extend(COLUMNS.iter().map(|(_, value, heading)| {
            Spec::number(&format!("Paper: {heading}"), &format!("paper {value}"), Best::Plain)
        }));
    }
    let comparable = !comparable.is_empty();
    let frame = with_means(&frame)?;
    let all =
        subjects.iter().map(|s| &s.source).find(|s| **s == Source::Simulated).or(subjects.first().map(|s| &s.source));
    let source = all.cloned().unwrap_or(Source::Simulated);
    let (from, onto) = direction(&results)?;
    let caption = title(
        &format!("Accuracy (%) of MDM on the {onto} session: mean ± deviation over the random choices of trials"),
        &source,
    );
    let table = Table::new("table3", &caption, source.clone(), &frame, &specs)?
        .note(format!(
            "NoAdapt: trained on the {from} session as it is. FullAdapt: all of it mapped by optimal transport. OoSAdapt: a random \
             80 % mapped by transport, the rest by a partial trace regression (Kraus rank 20) learned from them. Only OoSAdapt depends on the choice.",
        ))
        .note(
            "The map is learned on matrices whitened by the Riemannian mean of the training inputs and of their targets: still a Kraus map of \
             rank 20 between the recorded matrices. On matrices as recorded (`adapt.scaling=unit`) the square loss neglects \
             weak directions and OoSAdapt falls behind. The paper does not say which it used.",
        )
        .note(format!(
            "Two variants of the transport by Yair et al. (2019): unsupervised, as the paper says, and with the labels of the \
             {from} session (`labels`).",
        ));
    let table = match comparable {
        true => table.note(
            "The paper reports one number per cell; the deviation over choices is of the size of its differences.",
        ),
        false => table,
    };
    Ok(match source {
        Source::Simulated => table.note(
            "SIMULATED recordings: they show that the method runs and orders the columns, and say nothing about the paper's subjects. The \
             strength of the simulated shift is one for all subjects, chosen so that transport gains about what it gains on real covariances of five \
             subjects (3.1 points on average). Give real recordings with --data-dir; --require-real refuses simulated ones.",
        ),
        _ if !comparable => table.note("Not the four classes of the paper's table, so its numbers do not stand here."),
        _ => table,
    })
}

/// The first words of everything drawn from simulated recordings.
pub(super) fn title(text: &str, source: &Source) -> String {
    if *source == Source::Simulated { format!("SIMULATED recordings. {text}") } else { text.into() }
}

/// One row per subject, ascending: of each variant the mean accuracies (`full_adapt labels`) and the deviation of OoSAdapt (`sd labels`).
fn accuracies(results: &DataFrame) -> Result<DataFrame> {
    let mut wanted: Vec<Expr> = COLUMNS.iter().map(|(_, value, _)| col(*value).mean()).collect();
    wanted.push(col("oos_adapt").std(1).alias("sd"));
    let rows = results.clone().lazy().group_by_stable([col("subject"), col("variant")]).agg(wanted).collect()?;
    let values: Vec<&str> = COLUMNS.iter().map(|c| c.1).chain(["sd"]).collect();
    let wide = rows.spread(&["subject"], ("variant", &VARIANTS.map(|v| v.0)), &values)?;
    Ok(wide.lazy().sort(["subject"], Default::default()).collect()?)
}

/// The paper's numbers of these subjects.
fn papers(subjects: &[usize]) -> Result<DataFrame> {
    let rows: Vec<_> = PAPER.iter().filter(|p| subjects.contains(&p.0)).collect();
    let mut frame = df!("subject" => rows.iter().map(|p| p.0 as i64).collect::<Vec<_>>())?;
    for (i, (_, value, _)) in COLUMNS.iter().enumerate() {
        let numbers: Vec<f64> = rows.iter().map(|p| p.1[i]).collect();
        frame.with_column(Column::new(format!("paper {value}").into(), numbers))?;
    }
    Ok(frame)
}

/// The rows, and below them the mean over the subjects of every column in which all have a value; deviations have none.
fn with_means(frame: &DataFrame) -> Result<DataFrame> {
    let mean = |name: &str| {
        let whole = col(name).null_count().eq(lit(0)).and(lit(!name.starts_with("sd")));
        if name == "subject" {
            lit("mean").alias(name)
        } else {
            when(whole).then(col(name).mean()).otherwise(lit(f64::NAN)).alias(name)
        }
    };
    let names: Vec<String> = frame.get_column_names().iter().map(|n| n.to_string()).collect();
    let last = frame.clone().lazy().select(names.iter().map(|n| mean(n)).collect::<Vec<_>>()).collect()?;
    let rows = frame.clone().lazy().with_column(col("subject").cast(DataType::String)).collect()?;
    Ok(rows.vstack(&last)?)
}

/// Names of the competition's classes 1 to 4.
const CLASSES: [&str; 4] = ["left hand", "right hand", "feet", "tongue"];

/// The session of the other day.
fn other(session: Session) -> Session {
    if session == Session::T { Session::E } else { Session::T }
}

/// The matrices of both sessions in the tangent space at the mean of the target, on the first two principal axes of the
/// sessions before mapping: as recorded, after transport, and as out-of-sample adaptation has them.
fn embedding(ctx: &Context, p: &Params) -> Result<Figure> {
    let (first, second) = sessions(ctx, p.source)?;
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
        (format!("{} mapped by transport", p.source), cloud(&mapped)?),
        ("80 % by transport, 20 % by the learned map".to_string(), cloud(&adapted)?),
    ];
    let source = data(&first, &classes);
    let text = title(&format!("Trial covariances of subject {}", p.subject.unwrap_or_default()), &source);
    let names: Vec<&str> = classes.iter().map(|c| class_name(*c)).collect();
    let (from, onto) = (format!("session {}", p.source), format!("session {}", other(p.source)));
    let figure =
        report::figures::embedding("embedding", &text, &panels, &names, &[from.as_str(), onto.as_str()], source);
    let alt = figure.alt.clone();
    Ok(figure.words(
        alt,
        format!("Covariances of both sessions in the tangent space at the Riemannian mean of {onto}, all panels on the first two principal \
         axes of the trials as recorded. Colour is the class, marker the session. Transport moves {from} onto {onto}; the learned map does \
         the same for trials it has not seen."),
    ))
}

/// The plan of one subject, trials of both sessions sorted by class.
fn plan(ctx: &Context, p: &Params) -> Result<Figure> {
    let (first, second) = sessions(ctx, p.source)?;
    let plan: Array2<f64> = read_npy(input_with(ctx, "plan.npy")?.path("plan.npy")?)?;
    let sorted = |labels: &[i64]| {
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.sort_by_key(|i| labels[*i]);
        order
    };
    let weights = plan.select(Axis(0), &sorted(&first.labels)).select(Axis(1), &sorted(&second.labels));
    let source = data(&first, &class_indices(&first, &second).1);
    let text = title(&format!("Transport plan of subject {}", p.subject.unwrap_or_default()), &source);
    let onto = other(p.source);
    let figure = report::figures::plan("plan", &text, &weights, source);
    let alt = figure.alt.clone();
    Ok(figure.words(
        alt,
        format!("Weights of the transport plan from the trials of session {} (rows) to those of session {onto} (columns), both sorted by class. Where \
         the plan follows the classes, the weight lies in the blocks along the diagonal; the classes of session {onto} are not used to find it.", p.source),
    ))
}

/// The classes of both sessions, ascending, and the index of each trial's, the source first.
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

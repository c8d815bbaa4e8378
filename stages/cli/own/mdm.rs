//! `repro mdm`: classify SPD matrices by the nearest class mean.

use super::super::output as print;
use super::super::text::{Table, count};
use super::arrays::ArrayInput;
use super::facts::Facts;
use super::{output, pictures, times};
use anyhow::{Context, Result, bail, ensure};
use estimator::Labels;
use ndarray::{Array3, Ix2};
use serde_json::json;
use spd::{Mdm, MeanParams, Metric, Reduction};
use std::path::{Path, PathBuf};

/// Classify SPD matrices by minimum distance to the Riemannian class means
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro mdm --train X.npy --labels y.npy --test Xt.npy -o predicted.npy
  repro mdm --train X.npy --labels y.npy --test Xt.npy --test-labels yt.npy --confusion     prints accuracy and confusion matrix
  repro mdm --train X.npy --labels y.npy --save mdm.npz                         learn now,
  repro mdm --model mdm.npz --test Xt.npy --proba P.npy -o predicted.npy        classify later
  repro mdm --train X.npy --labels y.npy --test Xt.npy --reduce                 covariances after an average reference

X.npy: (k, n, n) symmetric positive definite matrices, y.npy: (k,) whole numbers. Covariances of few samples may be singular; use
`repro covariances --estimator oas` then. Where all matrices lack the same directions, --reduce leaves these out.")]
pub struct Args {
    /// Matrices to learn from, shape (k, n, n)
    #[arg(long, value_name = "FILE", requires = "labels", required_unless_present = "model")]
    train: Option<String>,
    /// Their labels, whole numbers, shape (k,)
    #[arg(long, value_name = "FILE", requires = "train")]
    labels: Option<String>,
    /// Class means that --save wrote, instead of --train and --labels
    #[arg(long, value_name = "FILE", conflicts_with_all = ["train", "labels", "save", "metric", "reduce"])]
    model: Option<String>,
    /// Matrices to classify, shape (m, n, n)
    #[arg(long, value_name = "FILE", required_unless_present = "save")]
    test: Option<String>,
    /// True labels of those, to count hits
    #[arg(long, value_name = "FILE", requires = "test")]
    test_labels: Option<String>,
    /// Print how often each true class was predicted as each class
    #[arg(long, requires = "test_labels")]
    confusion: bool,
    /// Geometry
    #[arg(long, value_enum, default_value_t = Geometry::AffineInvariant)]
    metric: Geometry,
    /// Project all matrices to the common range of the training set first (rank-deficient ones, as after an average reference)
    #[arg(long)]
    reduce: bool,
    /// Where to write probabilities, softmax of minus the squared distances (.npy, one column per class in ascending order)
    #[arg(long, value_name = "FILE", requires = "test")]
    proba: Option<PathBuf>,
    /// Where to write the class means (.npz: means, classes, metric, and the basis of --reduce)
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Where to write the predicted labels (.npy, 64-bit integers)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw the test matrices in the plane, by predicted and by true class (.svg or .png)
    #[arg(long, value_name = "FILE", requires = "test")]
    plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Names of metrics.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
pub enum Geometry {
    /// Does not change when the channels are mixed
    AffineInvariant,
    /// Euclidean between logarithms: faster, nearly the same
    LogEuclidean,
}

/// What classifies.
struct Model {
    mdm: Mdm,
    /// Size of the matrices that it takes.
    size: usize,
    /// The projection to the range of the training set, where one was asked for.
    reduction: Option<Reduction>,
}

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    let targets = [(&args.output, "npy"), (&args.proba, "npy"), (&args.save, "npz")];
    for (path, end) in targets.iter().filter_map(|(p, e)| p.as_ref().map(|p| (p, *e))) {
        output::check_ends(path, &[end])?;
    }
    pictures::check(args.plot.as_deref())?;
    let mut facts = Facts::default();
    let model = match (&args.model, &args.train, &args.labels) {
        (Some(file), _, _) => load(file, &mut facts)?,
        (None, Some(train), Some(labels)) => learn(args, train, labels, &mut facts)?,
        // clap asks for one or the other.
        _ => bail!("give --train and --labels, or --model"),
    };
    if let Some(path) = &args.save {
        save(path, &model, args.metric)?;
        facts.say("saved", path.display().to_string(), path.display().to_string());
    }
    if let Some(test) = &args.test {
        classify(args, test, &model, &mut facts)?;
    }
    facts.print(args.json)?;
    Ok(0)
}

/// Class means of the training set.
fn learn(args: &Args, train: &str, labels: &str, facts: &mut Facts) -> Result<Model> {
    let mut source = ArrayInput::open(train)?;
    let what = "the training set";
    let mut x = if args.reduce { source.whole(what)? } else { source.definite(what)? };
    let n = x.dim().1;
    let reduction = if args.reduce {
        let found = Reduction::fit(&[x.view()]).with_context(|| train.to_owned())?;
        x = found.apply(x.view())?;
        let r = found.rank();
        facts.say("reduced", format!("from {n} channels to their common range of {r}"), json!({"from": n, "to": r}));
        Some(found)
    } else {
        None
    };
    let file = labels;
    let labels = Labels::new(&ArrayInput::open(file)?.labels(x.dim().0, train)?)?;
    ensure!(
        labels.classes().len() > 1,
        "{file} has one class only, {}; two at least are needed to tell apart",
        labels[0]
    );
    let metric = match args.metric {
        Geometry::AffineInvariant => Metric::AffineInvariant,
        Geometry::LogEuclidean => Metric::LogEuclidean,
    };
    let mdm = Mdm::fit(x.view(), &labels, metric, &MeanParams::default().check()?).with_context(|| train.to_owned())?;
    let list = mdm.classes().iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    facts.say(
        "trained",
        format!("{} of {}, classes {list}", x.dim().0, times(&[n; 2])),
        json!({"matrices": x.dim().0, "classes": mdm.classes()}),
    );
    let open = mdm.means().iter().filter(|m| !m.converged).count();
    if open > 0 {
        facts.warn(format!(
            "{} did not reach the tolerance; the matrices may be badly scaled",
            count(open, "class mean")
        ));
    }
    Ok(Model { mdm, size: n, reduction })
}

fn classify(args: &Args, test: &str, model: &Model, facts: &mut Facts) -> Result<()> {
    let Model { mdm, size, reduction } = model;
    let (size, mut source) = (*size, ArrayInput::open(test)?);
    let mut x = if reduction.is_some() { source.whole("the test set")? } else { source.definite("the test set")? };
    let m = x.dim().1;
    let from = args.model.as_ref().or(args.train.as_ref()).map_or("the training set", String::as_str);
    ensure!(
        size == m,
        "{from} holds {} matrices and {test} holds {}; both must agree",
        times(&[size; 2]),
        times(&[m; 2])
    );
    if let Some(reduction) = reduction {
        let lost = reduction.left_out(x.view()).with_context(|| test.to_owned())?;
        if lost > 1e-6 {
            facts.warn(format!(
                "{test}: up to {:.2} % of a matrix lies outside the range of the training set and is left out; reference both alike",
                100.0 * lost
            ));
        }
        x = reduction.apply(x.view())?;
    }
    let truth = args.test_labels.as_ref().map(|f| ArrayInput::open(f)?.labels(x.dim().0, test)).transpose()?;
    let predicted = mdm.predict(x.view()).with_context(|| test.to_owned())?;
    let classes = mdm.classes();
    let tally = classes.iter().map(|c| format!("{c}: {}", predicted.iter().filter(|p| *p == c).count()));
    facts.say("predicted", tally.collect::<Vec<_>>().join(", "), json!(predicted));
    if let (Some(truth), Some(file)) = (&truth, &args.test_labels) {
        let mut unknown: Vec<i64> = truth.iter().copied().filter(|t| !classes.contains(t)).collect();
        let lost = unknown.len();
        unknown.sort_unstable();
        unknown.dedup();
        if lost > 0 {
            let list = unknown.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
            facts.warn(format!(
                "{file}: {lost} of {} labels are {list}, which the training set does not have; they count as errors",
                truth.len()
            ));
        }
        let hits = predicted.iter().zip(truth).filter(|(a, b)| a == b).count();
        let share = hits as f64 / truth.len() as f64;
        facts.say("accuracy", format!("{:.2} % ({hits} of {})", 100.0 * share, truth.len()), share);
        if args.confusion {
            let mut rows = classes.to_vec();
            rows.extend(unknown);
            confusion(args, truth, &predicted, &rows, classes, facts);
        }
    }
    if let Some(path) = &args.proba {
        output::npy(path, &mdm.probabilities(x.view())?, false)?;
        let order = classes.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        facts.say("probabilities", format!("{}, columns {order}", path.display()), path.display().to_string());
    }
    if let Some(path) = &args.plot {
        let set = |name, labels| pictures::Set { name, matrices: x.view(), labels };
        let mut sets = vec![set("predicted class", predicted.as_slice())];
        sets.extend(truth.as_ref().map(|t| set("true class", t.as_slice())));
        pictures::save(path, &pictures::classes(test, &sets)?)?;
        facts.say("picture", path.display().to_string(), path.display().to_string());
    }
    if let Some(path) = &args.output {
        output::labels(path, &predicted)?;
        facts.say("wrote", path.display().to_string(), path.display().to_string());
    }
    Ok(())
}

/// Rows are true classes, columns predicted ones.
fn confusion(args: &Args, truth: &[i64], predicted: &[i64], rows: &[i64], classes: &[i64], facts: &mut Facts) {
    let count = |t: i64, p: i64| truth.iter().zip(predicted).filter(|(a, b)| **a == t && **b == p).count();
    let names: Vec<String> = classes.iter().map(|c| format!("as {c}")).collect();
    let head: Vec<&str> = ["true class"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let mut table = Table::new(&head, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    let counts: Vec<Vec<usize>> = rows.iter().map(|t| classes.iter().map(|p| count(*t, *p)).collect()).collect();
    for (t, line) in rows.iter().zip(&counts) {
        table.row([t.to_string()].into_iter().chain(line.iter().map(usize::to_string)).collect());
    }
    if !args.json {
        print(&(table.render() + "\n"));
    }
    facts.silent("confusion", json!({"rows": rows, "columns": classes, "counts": counts}));
}

/// Writes class means as an .npz.
fn save(path: &Path, model: &Model, metric: Geometry) -> Result<()> {
    let (mdm, means) = (&model.mdm, model.mdm.means());
    let n = means[0].matrix.nrows(); // a fitted classifier has two classes at least
    let stacked = Array3::from_shape_fn((means.len(), n, n), |(c, i, j)| means[c].matrix[[i, j]]);
    let metric = match metric {
        Geometry::AffineInvariant => 0,
        Geometry::LogEuclidean => 1,
    };
    let mut members = vec![
        ("means", output::Member::Floats(stacked.into_dyn())),
        ("classes", output::Member::Labels(mdm.classes().to_vec())),
        ("metric", output::Member::Labels(vec![metric])),
    ];
    if let Some(reduction) = &model.reduction {
        members.push(("basis", output::Member::Floats(reduction.basis().clone().into_dyn())));
    }
    output::npz(path, &members)
}

/// Reads what [`save`] wrote.
fn load(file: &str, facts: &mut Facts) -> Result<Model> {
    let part = |name: &str| {
        ArrayInput::open(&format!("{file}:{name}"))
            .map_err(|e| e.context(format!("{file} is no model of `repro mdm --save`")))
    };
    let means = part("means")?.definite("the class means")?;
    let (k, mut n) = (means.dim().0, means.dim().1);
    let classes = part("classes")?.labels(k, file)?;
    let metric = match part("metric")?.labels(1, file)?[0] {
        0 => Metric::AffineInvariant,
        1 => Metric::LogEuclidean,
        other => bail!("{file} names the metric {other}, which this version does not know; write it again with --save"),
    };
    // A model without --reduce has no basis.
    let reduction = match ArrayInput::open(&format!("{file}:basis")) {
        Ok(mut basis) => {
            let wrong = || format!("{file} is no model of `repro mdm --save`: its basis does not fit");
            let basis = basis.all()?.into_dimensionality::<Ix2>().with_context(wrong)?;
            ensure!(basis.ncols() == n, wrong());
            n = basis.nrows();
            Some(Reduction::from_basis(basis).with_context(wrong)?)
        }
        Err(_) => None,
    };
    // Each class holds its mean alone, and the mean of one matrix is that matrix.
    let mdm = Mdm::fit(means.view(), &Labels::new(&classes)?, metric, &MeanParams::default().check()?)?;
    let list = mdm.classes().iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    facts.say(
        "model",
        format!("{file}: means of {}, classes {list}", times(&[n; 2])),
        json!({"classes": mdm.classes()}),
    );
    Ok(Model { mdm, size: n, reduction })
}

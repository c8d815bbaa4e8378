//! `repro mdm`: classify SPD matrices by the nearest class mean.

use super::super::text::count;
use super::arrays::Source;
use super::facts::Facts;
use super::{output, times};
use anyhow::{Result, ensure};
use serde_json::json;
use spd::{Mdm, MeanParams, Metric};
use std::path::PathBuf;

/// Classify SPD matrices by minimum distance to the Riemannian class means
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro mdm --train X.npy --labels y.npy --test Xt.npy -o predicted.npy
  repro mdm --train X.npy --labels y.npy --test Xt.npy --test-labels yt.npy     prints the accuracy

X.npy: (k, n, n) symmetric positive definite matrices, y.npy: (k,) whole numbers. Covariances of few samples may be singular; use
`repro covariances --estimator oas` then.")]
pub struct Args {
    /// Matrices to learn from, shape (k, n, n)
    #[arg(long, value_name = "FILE")]
    train: String,
    /// Their labels, whole numbers, shape (k,)
    #[arg(long, value_name = "FILE")]
    labels: String,
    /// Matrices to classify, shape (m, n, n)
    #[arg(long, value_name = "FILE")]
    test: String,
    /// True labels of those, to count hits
    #[arg(long, value_name = "FILE")]
    test_labels: Option<String>,
    /// Geometry
    #[arg(long, value_enum, default_value_t = Geometry::AffineInvariant)]
    metric: Geometry,
    /// Where to write the predicted labels (.npy, 64-bit integers)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
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

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    if let Some(path) = &args.output {
        output::check_ends(path, &["npy"])?;
    }
    let (mut train, mut test) = (Source::open(&args.train)?, Source::open(&args.test)?);
    let (x, xt) = (train.definite("the training set")?, test.definite("the test set")?);
    let (n, m) = (x.dim().1, xt.dim().1);
    ensure!(
        n == m,
        "{} holds {} matrices and {} holds {}; both must agree",
        args.train,
        times(&[n; 2]),
        args.test,
        times(&[m; 2])
    );
    let labels = Source::open(&args.labels)?.labels(x.dim().0, &args.train)?;
    let truth = args.test_labels.as_ref().map(|f| Source::open(f)?.labels(xt.dim().0, &args.test)).transpose()?;
    let one = labels.iter().all(|l| *l == labels[0]); // `definite` refuses an empty set, so there is a first label
    ensure!(!one, "{} has one class only, {}; two at least are needed to tell apart", args.labels, labels[0]);
    let metric = match args.metric {
        Geometry::AffineInvariant => Metric::AffineInvariant,
        Geometry::LogEuclidean => Metric::LogEuclidean,
    };
    let mdm = Mdm::fit(x.view(), &labels, metric, &MeanParams::default().check()?)?;
    let predicted = mdm.predict(xt.view())?;
    let mut facts = Facts::default();
    let classes = mdm.classes();
    let list = classes.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    facts.say(
        "trained",
        format!("{} of {}, classes {list}", x.dim().0, times(&[n; 2])),
        json!({"matrices": x.dim().0, "classes": classes}),
    );
    let open = mdm.means().iter().filter(|m| !m.converged).count();
    if open > 0 {
        facts.warn(format!(
            "{} did not reach the tolerance; the matrices may be badly scaled",
            count(open, "class mean")
        ));
    }
    let tally = classes.iter().map(|c| format!("{c}: {}", predicted.iter().filter(|p| *p == c).count()));
    facts.say("predicted", tally.collect::<Vec<_>>().join(", "), json!(predicted));
    if let Some(truth) = truth {
        let hits = predicted.iter().zip(&truth).filter(|(a, b)| a == b).count();
        let share = hits as f64 / truth.len() as f64;
        facts.say("accuracy", format!("{:.2} % ({hits} of {})", 100.0 * share, truth.len()), share);
    }
    if let Some(path) = &args.output {
        output::labels(path, &predicted)?;
        facts.say("wrote", path.display().to_string(), path.display().to_string());
    }
    facts.print(args.json)?;
    Ok(0)
}

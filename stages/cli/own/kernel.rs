//! `repro kernel`: kernel matrices of feature vectors.

use super::super::text::duration;
use super::arrays::Source;
use super::facts::{Facts, number};
use super::{output, times};
use anyhow::{Result, bail, ensure};
use multiview::{chi2_additive_kernel, chi2_kernel, rbf_kernel};
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

/// Kernel matrix of the rows of a feature matrix
///
/// rbf: exp(-d^2 / (2 s^2)) with Euclidean distance d. chi2: exp(-h / (2 s^2)) with h = 1/2 sum (x - y)^2 / (x + y), for histograms.
/// chi2-additive: sum 2 x y / (x + y). The bandwidth s is the mean distance unless given.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro kernel rbf --features F.npy -o K.npy
  repro kernel chi2 --features histograms.csv --bandwidth 0.5 -o K.npy

F has one row per sample and one column per feature; K is l x l. Use `repro complete` on a K with missing rows.")]
pub struct Args {
    /// Which kernel
    #[arg(value_enum)]
    kernel: Kind,
    /// Features, shape (l, d): .npy, file.npz:name or .csv
    #[arg(long, value_name = "FILE")]
    features: String,
    /// Bandwidth s [default: the mean distance]
    #[arg(long, value_name = "S")]
    bandwidth: Option<f64>,
    /// Where to write the kernel (.npy or .csv)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Names of kernels.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Gaussian on Euclidean distances
    Rbf,
    /// Exponential of the chi^2 distance
    Chi2,
    /// Additive chi^2, without a bandwidth
    Chi2Additive,
}

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    let began = Instant::now();
    output::check_ends(&args.output, &["npy", "csv"])?;
    if let Some(s) = args.bandwidth {
        ensure!(s.is_finite() && s > 0.0, "--bandwidth {s} is no width; give a number > 0");
        ensure!(args.kernel != Kind::Chi2Additive, "chi2-additive has no bandwidth; leave out --bandwidth");
    }
    let features = Source::open(&args.features)?.matrix("F")?;
    for ((i, j), v) in features.indexed_iter() {
        ensure!(v.is_finite(), "{}: entry ({i}, {j}) is {v}; remove or repair that row", args.features);
        if args.kernel != Kind::Rbf && *v < 0.0 {
            bail!("{}: entry ({i}, {j}) is {v}; chi^2 needs features that are not negative", args.features);
        }
    }
    let kernel = match args.kernel {
        Kind::Rbf => rbf_kernel(features.view(), args.bandwidth)?,
        Kind::Chi2 => chi2_kernel(features.view(), args.bandwidth)?,
        Kind::Chi2Additive => chi2_additive_kernel(features.view())?,
    };
    output::matrix(&args.output, kernel.view(), false)?;
    let (low, high) = kernel.iter().fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(*v), b.max(*v)));
    let mut facts = Facts::default();
    facts.say("features", times(features.shape()), json!(features.shape()));
    facts.say(
        "kernel",
        format!(
            "{}, entries {} to {}, in {}",
            times(kernel.shape()),
            number(low),
            number(high),
            duration(began.elapsed())
        ),
        json!({"shape": kernel.shape(), "least": low, "most": high}),
    );
    facts.say("wrote", args.output.display().to_string(), args.output.display().to_string());
    facts.print(args.json)?;
    Ok(0)
}

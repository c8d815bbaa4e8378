//! `repro kernel`: kernel matrices of feature vectors.

use super::super::text::duration;
use super::arrays::ArrayInput;
use super::facts::{Facts, number};
use super::{output, pictures, times};
use anyhow::{Result, bail, ensure};
use multiview::{FeatureKernel, Similarity, Width};
use ndarray::Array2;
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

/// Kernel matrix of the rows of a feature matrix
///
/// rbf: exp(-d^2 / w) with Euclidean distance d. chi2: exp(-h / w) with h = 1/2 sum (x - y)^2 / (x + y), for histograms. chi2-additive: sum 2 x y / (x + y).
/// linear: x . y. polynomial: (x . y / w + 1)^degree. The width w is the mean of what it divides over pairs of training rows (over rows for polynomial)
/// unless --bandwidth or --preset says otherwise; it is printed.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro kernel rbf --features F.npy -o K.npy
  repro kernel rbf --features F.npy --test T.npy --test-output Kt.npy -o K.npy     also test x train, with the width of the training rows
  repro kernel chi2 --features histograms.csv --bandwidth median -o K.npy
  repro kernel chi2 --features histograms.csv --preset published -o K.npy          w = 2 (mean h)^2, as in the published kernels

F has one row per sample and one column per feature; K is l x l, Kt is m x l. Use `repro complete` on a K with missing rows.")]
pub struct Args {
    /// Which kernel
    #[arg(value_enum)]
    kernel: Kind,
    /// Features, shape (l, d): .npy, file.npz:name or .csv
    #[arg(long, value_name = "FILE")]
    features: String,
    /// Features of test samples, shape (m, d)
    #[arg(long, value_name = "FILE", requires = "test_output")]
    test: Option<String>,
    /// Where to write the kernel values of test and training samples, m x l (.npy or .csv)
    #[arg(long, value_name = "FILE", requires = "test")]
    test_output: Option<PathBuf>,
    /// `mean`, `median`, or a number s: w = 2 s^2 for rbf, w = s for chi2 and polynomial
    #[arg(long, value_name = "WIDTH", value_parser = width)]
    bandwidth: Option<Width>,
    /// The rule of the published kernels: w = 2 s^2 with s the mean of d (rbf) or of h (chi2)
    #[arg(long, value_enum, conflicts_with = "bandwidth")]
    preset: Option<Preset>,
    /// Degree of the polynomial kernel
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    degree: u32,
    /// Where to write the kernel (.npy or .csv)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Draw the kernel (.svg or .png)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
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
    /// Additive chi^2, without a width
    Chi2Additive,
    /// Inner product, without a width
    Linear,
    /// Power of the inner product plus one
    Polynomial,
}

/// Names of rules for the width.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
pub enum Preset {
    /// That of the published kernels of Multiple Features
    Published,
}

fn width(text: &str) -> Result<Width, String> {
    match text {
        "mean" => Ok(Width::Mean),
        "median" => Ok(Width::Median),
        _ => match text.parse::<f64>() {
            Ok(s) if s.is_finite() && s > 0.0 => Ok(Width::Value(s)),
            _ => Err("expected `mean`, `median` or a number > 0".into()),
        },
    }
}

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    let began = Instant::now();
    output::check_ends(&args.output, &["npy", "csv"])?;
    if let Some(path) = &args.test_output {
        output::check_ends(path, &["npy", "csv"])?;
    }
    pictures::check(args.plot.as_deref())?;
    let similarity = match args.kernel {
        Kind::Rbf => Similarity::Rbf,
        Kind::Chi2 => Similarity::Chi2,
        Kind::Chi2Additive => Similarity::Chi2Additive,
        Kind::Linear => Similarity::Linear,
        Kind::Polynomial => Similarity::Polynomial { degree: args.degree },
    };
    let no_width = matches!(args.kernel, Kind::Chi2Additive | Kind::Linear);
    ensure!(
        !(no_width && (args.bandwidth.is_some() || args.preset.is_some())),
        "this kernel has no bandwidth; leave out --bandwidth and --preset"
    );
    ensure!(
        !(args.kernel == Kind::Polynomial && args.preset.is_some()),
        "--preset published is about rbf and chi2; leave it out for polynomial"
    );
    let rule = match (args.bandwidth, args.preset) {
        (Some(w), _) => w,
        (None, Some(Preset::Published)) => Width::Published,
        (None, None) => Width::Mean,
    };
    let features = features(&args.features, args.kernel)?;
    let kernel = FeatureKernel::fit(similarity, rule, features.view())?;
    let k = kernel.train_matrix()?;
    let mut facts = Facts::default();
    facts.say("kernel", format!("{} from {}", times(k.shape()), times(features.shape())), json!({"rows": k.nrows()}));
    if let Some(w) = kernel.width() {
        let from = match rule {
            Width::Mean => "mean of the training rows",
            Width::Median => "median of the training rows",
            Width::Published => "published rule",
            Width::Value(_) => "given",
        };
        facts.say("width", format!("w = {} ({from})", number(w)), json!({"w": w, "rule": from}));
    }
    let off = k.indexed_iter().filter(|((i, j), _)| i < j).map(|(_, v)| *v);
    let (low, high) = off.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if low <= high {
        facts.say(
            "values",
            format!("{} to {} off the diagonal", number(low), number(high)),
            json!({"least": low, "most": high}),
        );
        if matches!(args.kernel, Kind::Rbf | Kind::Chi2) && low > 0.95 {
            facts.warn(format!("all values are between {} and 1: the width is so large that samples can hardly be told apart; lower --bandwidth", number(low)));
        }
    }
    output::matrix(&args.output, k.view(), false)?;
    facts.say("wrote", args.output.display().to_string(), args.output.display().to_string());
    if let (Some(file), Some(path)) = (&args.test, &args.test_output) {
        let test = self::features(file, args.kernel)?;
        ensure!(
            test.ncols() == features.ncols(),
            "{file} has {} columns and {} has {}; both must hold the same features",
            test.ncols(),
            args.features,
            features.ncols()
        );
        let kt = kernel.matrix(test.view())?;
        output::matrix(path, kt.view(), false)?;
        facts.say(
            "test",
            format!("{}, test x train, written to {}", times(kt.shape()), path.display()),
            json!({"rows": kt.nrows(), "file": path.display().to_string()}),
        );
    }
    if let Some(path) = &args.plot {
        pictures::save(path, &pictures::matrices(&args.features, "Kernel", &[("training rows".to_owned(), k)]))?;
        facts.say("picture", path.display().to_string(), path.display().to_string());
    }
    facts.say("time", duration(began.elapsed()), began.elapsed().as_secs_f64());
    facts.print(args.json)?;
    Ok(0)
}

fn features(file: &str, kernel: Kind) -> Result<Array2<f64>> {
    let features = ArrayInput::open(file)?.matrix("F")?;
    for ((i, j), v) in features.indexed_iter() {
        ensure!(v.is_finite(), "{file}: entry ({i}, {j}) is {v}; remove or repair that row");
        if matches!(kernel, Kind::Chi2 | Kind::Chi2Additive) && *v < 0.0 {
            bail!("{file}: entry ({i}, {j}) is {v}; chi^2 needs features that are not negative");
        }
    }
    Ok(features)
}

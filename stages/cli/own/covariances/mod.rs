//! `repro covariances`: from recordings or epochs to one covariance per trial.

mod recording;

use super::arrays::{ArrayInput, deficient};
use super::facts::Facts;
use super::output::{self, Member};
use super::times;
use anyhow::{Context, Result, bail, ensure};
use ndarray::{Array3, Axis, Ix2, concatenate};
use recording::Epochs;
use serde_json::json;
use spd::{Estimator, Reduction, covariances};
use std::path::PathBuf;

/// Covariance matrices of the trials of EEG recordings (GDF), or of epochs you cut yourself
///
/// A recording is band-pass filtered and cut around each trial start; trials marked as artefacts (event 1023) are left out.
#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("from").required(true).args(["gdf", "signals"]), after_help = "Examples:
  repro covariances --gdf A01T.gdf -o A01T.npz
  repro covariances --gdf S1.gdf --cues 33025,33026,33027 --event 32779 --start 0 --end 4 -o S1.npz
  repro covariances --gdf S2.gdf --cue-is-start --start 0.5 --end 2.5 -o S2.npz
  repro covariances --signals E.npy --estimator oas -o C.npz      E.npy: (trials, channels, samples)
  repro covariances --gdf T.gdf --reduce -o T.npz                  after an average reference: without the missing direction
  repro covariances --gdf E.gdf --reduce T.npz:basis -o E.npz      the same directions as T.npz
  repro mdm --train A01T.npz:covariances --labels A01T.npz:labels --test C.npz:covariances

The output holds `covariances` (trials, channels, channels) and, from GDF, `labels` (trials): the place of the cue in --cues from 1 on, 0
where the recording does not tell. `repro inspect S1.gdf` lists channels, rates and event codes.")]
pub struct Args {
    /// Recordings; their trials are put one after the other
    #[arg(long, value_name = "FILE", num_args = 1..)]
    gdf: Vec<PathBuf>,
    /// Epochs, shape (trials, channels, samples): .npy or file.npz:name
    #[arg(long, value_name = "FILE")]
    signals: Option<String>,
    /// Where to write the arrays (.npz)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How to estimate: shrinkage keeps matrices of short trials invertible
    #[arg(long, value_enum, default_value_t = Shrinkage::Sample)]
    estimator: Shrinkage,
    /// Project the matrices to their common range, as after an average reference, or to that of BASIS (file.npz:basis); the output then
    /// holds `basis` too. Matrices that are to be compared need one basis
    #[arg(long, value_name = "BASIS", num_args = 0..=1)]
    reduce: Option<Option<String>>,
    /// Event codes that start a trial
    #[arg(long, value_name = "CODES", value_delimiter = ',', default_values_t = [768])]
    event: Vec<u16>,
    /// Event codes of the classes
    #[arg(long, value_name = "CODES", value_delimiter = ',', default_values_t = [769, 770, 771, 772])]
    cues: Vec<u16>,
    /// A trial starts at its cue: --start and --end count from there, --event is not used
    #[arg(long, conflicts_with = "event")]
    cue_is_start: bool,
    /// Channels to use, by name; all but EOG by default
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    channels: Vec<String>,
    /// Lower edge of the band in Hz
    #[arg(long, value_name = "HZ", default_value_t = 8.0)]
    low: f64,
    /// Upper edge of the band in Hz
    #[arg(long, value_name = "HZ", default_value_t = 30.0)]
    high: f64,
    /// Start of the epoch in seconds after the trial's start
    #[arg(long, value_name = "S", default_value_t = 2.5)]
    start: f64,
    /// End of the epoch in seconds after the trial's start
    #[arg(long, value_name = "S", default_value_t = 6.5)]
    end: f64,
    /// Order of the filter
    #[arg(long, default_value_t = 300)]
    order: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Names of estimators.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
pub enum Shrinkage {
    /// The sample covariance
    Sample,
    /// Oracle approximating shrinkage
    Oas,
    /// Ledoit-Wolf shrinkage
    LedoitWolf,
}

/// The basis of a file, or the common range of the matrices.
fn reduction(basis: Option<&str>, matrices: &Array3<f64>) -> Result<Reduction> {
    let Some(file) = basis else { return Ok(Reduction::fit(&[matrices.view()])?) };
    let mut source = ArrayInput::open(file)?;
    let shape = times(source.shape());
    let wrong =
        || format!("{file} has shape {shape}; a basis of --reduce is (channels, range) with orthonormal columns");
    let found =
        Reduction::from_basis(source.all()?.into_dimensionality::<Ix2>().with_context(wrong)?).with_context(wrong)?;
    let n = matrices.dim().1;
    ensure!(
        found.basis().nrows() == n,
        "{file} is a basis for {} channels and the recording has {n}; both must have the same channels",
        found.basis().nrows()
    );
    Ok(found)
}

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    output::check_ends(&args.output, &["npz"])?;
    let mut facts = Facts::default();
    let (epochs, labels) = match &args.signals {
        Some(file) => {
            let mut source = ArrayInput::open(file)?;
            let shape = times(source.shape());
            ensure!(
                source.shape().len() == 3 && !source.shape().contains(&0),
                "{file} has shape {shape}; epochs are (trials, channels, samples)"
            );
            let epochs: Array3<f64> = source.all()?.into_dimensionality()?;
            if let Some(i) = epochs.outer_iter().position(|e| e.iter().any(|v| !v.is_finite())) {
                bail!("{file}: trial {i} holds NaN or infinite values; remove or repair it");
            }
            ensure!(epochs.dim().2 > 1, "{file} has one sample per trial; a covariance needs at least two");
            (epochs, None)
        }
        None => {
            let (mut all, mut labels) = (Vec::new(), Vec::new());
            for path in &args.gdf {
                let Epochs { values: epochs, labels: l } = recording::read(args, path, &mut facts)?;
                if let Some(first) = all.first().map(|e: &Array3<f64>| e.dim()) {
                    let same = (first.1, first.2) == (epochs.dim().1, epochs.dim().2);
                    ensure!(
                        same,
                        "{} has epochs of {} and the first file of {}; give recordings of one kind",
                        path.display(),
                        times(&epochs.shape()[1..]),
                        times(&[first.1, first.2])
                    );
                }
                all.push(epochs);
                labels.extend(l);
            }
            (concatenate(Axis(0), &all.iter().map(Array3::view).collect::<Vec<_>>())?, Some(labels))
        }
    };
    let estimator = match args.estimator {
        Shrinkage::Sample => Estimator::Sample,
        Shrinkage::Oas => Estimator::Oas,
        Shrinkage::LedoitWolf => Estimator::LedoitWolf,
    };
    let mut matrices = covariances(epochs.view(), estimator)?;
    facts.say("epochs", times(epochs.shape()), json!(epochs.shape()));
    let reduction = args.reduce.as_ref().map(|basis| reduction(basis.as_deref(), &matrices)).transpose()?;
    if let Some(reduction) = &reduction {
        matrices = reduction.apply(matrices.view())?;
        let (from, to) = reduction.basis().dim();
        facts.say("reduced", format!("from {from} channels to a range of {to}"), json!({"from": from, "to": to}));
    }
    let mut singular = 0;
    for m in matrices.outer_iter() {
        singular += usize::from(deficient(m)?.is_some());
    }
    if singular > 0 {
        let help = if reduction.is_some() { "" } else { ", or --reduce where the channels have an average reference" };
        facts.warn(format!(
            "{} of {} covariances are singular, which `repro mdm` and `repro adapt` refuse; use --estimator oas{help}",
            singular,
            matrices.dim().0
        ));
    }
    facts.say("covariances", times(matrices.shape()), json!(matrices.shape()));
    let mut members = vec![("covariances", Member::Floats(matrices.into_dyn()))];
    if let Some(reduction) = &reduction {
        members.push(("basis", Member::Floats(reduction.basis().clone().into_dyn())));
    }
    if let Some(labels) = labels {
        let classes: Vec<String> = (0..=args.cues.len() as i64)
            .map(|c| (c, labels.iter().filter(|l| **l == c).count()))
            .filter(|(_, n)| *n > 0)
            .map(|(c, n)| format!("{c}: {n}"))
            .collect();
        facts.say("labels", classes.join(", "), json!(labels));
        members.push(("labels", Member::Labels(labels)));
    }
    output::npz(&args.output, &members)?;
    facts.say("wrote", args.output.display().to_string(), args.output.display().to_string());
    facts.print(args.json)?;
    Ok(0)
}

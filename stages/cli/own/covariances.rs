//! `repro covariances`: from recordings or epochs to one covariance per trial.

use super::super::text::count;
use super::arrays::Source;
use super::facts::Facts;
use super::output::{self, Member};
use super::times;
use anyhow::{Context, Result, bail, ensure};
use datasets::gdf::{Event, GdfReader};
use datasets::signal::SignalParams;
use ndarray::{Array3, Axis, concatenate};
use serde_json::json;
use spd::{Estimator, covariances};
use std::io::BufReader;
use std::path::PathBuf;

/// Covariance matrices of the trials of EEG recordings (GDF), or of epochs you cut yourself
///
/// A recording is band-pass filtered and cut around each trial start; trials marked as artefacts (event 1023) are left out.
#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("from").required(true).args(["gdf", "signals"]), after_help = "Examples:
  repro covariances --gdf A01T.gdf -o A01T.npz
  repro covariances --signals E.npy --estimator oas -o C.npz      E.npy: (trials, channels, samples)
  repro mdm --train A01T.npz:covariances --labels A01T.npz:labels --test C.npz:covariances

The output holds `covariances` (trials, channels, channels) and, from GDF, `labels` (trials): the place of the cue in --cues from 1 on, 0
where the recording does not tell.")]
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
    /// Event code that starts a trial
    #[arg(long, value_name = "CODE", default_value_t = 768)]
    event: u16,
    /// Event codes of the classes
    #[arg(long, value_name = "CODES", value_delimiter = ',', default_values_t = [769, 770, 771, 772])]
    cues: Vec<u16>,
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

/// Event code of a rejected trial.
const REJECTED: u16 = 1023;

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    output::check_ends(&args.output, &["npz"])?;
    let mut facts = Facts::default();
    let (epochs, labels) = match &args.signals {
        Some(file) => {
            let mut source = Source::open(file)?;
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
                let (epochs, l, dropped) = recording(args, path)?;
                let name = path.display();
                if let Some(first) = all.first().map(|e: &Array3<f64>| e.dim()) {
                    let same = (first.1, first.2) == (epochs.dim().1, epochs.dim().2);
                    ensure!(
                        same,
                        "{name} has epochs of {} and the first file of {}; give recordings of one kind",
                        times(&epochs.shape()[1..]),
                        times(&[first.1, first.2])
                    );
                }
                facts.say(
                    &name.to_string(),
                    format!("{}, {dropped} rejected", count(l.len(), "trial")),
                    json!({"trials": l.len(), "rejected": dropped}),
                );
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
    let matrices = covariances(epochs.view(), estimator)?;
    facts.say("epochs", times(epochs.shape()), json!(epochs.shape()));
    let singular = matrices.outer_iter().filter(|m| linalg::cholesky(*m).is_err()).count();
    if singular > 0 {
        facts.warn(format!(
            "{} of {} covariances are singular, which `repro mdm` and `repro adapt` refuse; use --estimator oas",
            singular,
            matrices.dim().0
        ));
    }
    facts.say("covariances", times(matrices.shape()), json!(matrices.shape()));
    let mut members = vec![("covariances", Member::Floats(matrices.into_dyn()))];
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

/// Epochs (trials, channels, samples), labels, and how many trials were rejected.
fn recording(args: &Args, path: &std::path::Path) -> Result<(Array3<f64>, Vec<i64>, usize)> {
    let name = path.display().to_string();
    let file = std::fs::File::open(path).with_context(|| format!("{name} cannot be read"))?;
    let mut gdf = GdfReader::open(&name, BufReader::new(file))?;
    let channels = &gdf.header().channels;
    let eeg: Vec<usize> =
        (0..channels.len()).filter(|c| !channels[*c].label.to_ascii_uppercase().starts_with("EOG")).collect();
    ensure!(!eeg.is_empty(), "{name} has no channels besides EOG; nothing to take covariances of");
    let rate = gdf.header().rate(eeg[0]);
    let (trials, dropped) = trials(gdf.events(), args);
    ensure!(
        !trials.is_empty(),
        "{name} has no usable event {}; name the code that starts a trial with --event",
        args.event
    );
    let signal = gdf.read_channels(&eeg)?;
    let params = SignalParams { order: args.order, low: args.low, high: args.high, start: args.start, end: args.end };
    let starts: Vec<usize> = trials.iter().map(|t| t.0).collect();
    let epochs = params.check(rate)?.run(signal.view(), &starts)?;
    Ok((epochs, trials.into_iter().map(|t| t.1).collect(), dropped))
}

/// Starts and classes of the trials that were not rejected, and how many were. Cue and rejection lie before the next start.
fn trials(events: &[Event], args: &Args) -> (Vec<(usize, i64)>, usize) {
    let mut starts: Vec<u64> = events.iter().filter(|e| e.code == args.event).map(|e| e.position).collect();
    starts.sort_unstable();
    starts.dedup();
    let (mut class, mut rejected) = (vec![0i64; starts.len()], vec![false; starts.len()]);
    for e in events {
        let Some(i) = starts.partition_point(|s| *s <= e.position).checked_sub(1) else { continue };
        if let Some(c) = args.cues.iter().position(|c| *c == e.code) {
            class[i] = c as i64 + 1;
        }
        rejected[i] |= e.code == REJECTED;
    }
    let usable = (0..starts.len()).filter(|i| !rejected[*i]).map(|i| (starts[i] as usize, class[i])).collect();
    (usable, rejected.iter().filter(|r| **r).count())
}

//! One recording as epochs: which channels, which trials, and what is told about both.

use super::super::super::text::count;
use super::super::arrays::conversion;
use super::super::facts::Facts;
use super::Args;
use anyhow::{Context, Result, bail, ensure};
use datasets::gdf::{GdfReader, MarkedTrial, TrialCodes};
use datasets::signal::SignalParams;
use ndarray::{Array2, Array3};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

/// Event code of a rejected trial.
const REJECTED: u16 = 1023;

/// What a recording gives.
pub struct Epochs {
    /// (trials, channels, samples).
    pub values: Array3<f64>,
    /// Class of each trial: the place of its cue in the list, 0 where it has none.
    pub labels: Vec<i64>,
}

/// Reads, filters and cuts one recording, and says what was done with it.
pub fn read(args: &Args, path: &Path, facts: &mut Facts) -> Result<Epochs> {
    let name = path.display().to_string();
    if let Some(conversion) = conversion(&name) {
        bail!("{conversion}");
    }
    let file = File::open(path).with_context(|| format!("{name} cannot be read"))?;
    let mut gdf = GdfReader::open(&name, BufReader::new(file))?;
    let (channels, left_out) = channels(args, &name, &gdf)?;
    let codes = TrialCodes {
        starts: args.event.clone(),
        cues: args.cues.clone(),
        rejected: REJECTED,
        cue_is_start: args.cue_is_start,
    };
    let found = codes.trials(&name, gdf.events())?;
    if found.trials.is_empty() {
        let wanted = if args.cue_is_start { &args.cues } else { &args.event };
        let wanted: Vec<String> = wanted.iter().map(u16::to_string).collect();
        bail!(
            "{name} has no event {}; it has {}; name the codes that start a trial with --event",
            wanted.join(" or "),
            codes_in(&gdf.event_counts())
        );
    }
    let signal = gdf.read_channels(&channels)?;
    let rate = gdf.header().rate(channels[0]);
    let params = SignalParams { order: args.order, low: args.low, high: args.high, start: args.start, end: args.end };
    let path = params.check(rate)?;
    let usable: Vec<&MarkedTrial> = found.trials.iter().filter(|t| !t.rejected).collect();
    let starts: Vec<usize> = usable.iter().map(|t| gdf.sample_of(t.position, channels[0])).collect();
    // Only a recording that was stopped cuts a trial: it can only be at its end.
    let whole: Vec<usize> = (0..starts.len()).filter(|i| path.fits(starts[*i], signal.ncols())).collect();
    let (cut, rejected) = (starts.len() - whole.len(), found.trials.len() - usable.len());
    ensure!(
        !whole.is_empty(),
        "{name}: of {} none is usable ({rejected} rejected, {cut} cut short by the end of the recording)",
        count(found.trials.len(), "trial")
    );
    let starts: Vec<usize> = whole.iter().map(|i| starts[*i]).collect();
    let lost = lost(&signal, &starts, path.window());
    let values = path.run(signal.view(), &starts).with_context(|| name.clone())?;
    let labels: Vec<i64> = whole.iter().map(|i| usable[*i].class as i64).collect();
    let order = if found.cue_first { ", cues come before the starts" } else { "" };
    let short =
        if cut > 0 { format!(", {cut} cut short by the end of the recording and left out") } else { String::new() };
    facts.say(
        &name,
        format!("{}, {rejected} rejected{short}{order}", count(labels.len(), "trial")),
        json!({"trials": labels.len(), "rejected": rejected, "cut_short": cut, "cue_first": found.cue_first}),
    );
    if !left_out.is_empty() {
        facts.say(&format!("{name}, left out"), left_out.join(", "), json!(left_out));
    }
    if lost.samples > 0 {
        facts.warn(format!(
            "{name}: {} of the channels used are clipped or lost and count as 0; they touch {} of {}",
            count(lost.samples, "sample"),
            lost.trials,
            count(starts.len(), "trial")
        ));
    }
    if labels.contains(&0) && !args.cues.is_empty() {
        let without = labels.iter().filter(|l| **l == 0).count();
        facts.warn(format!(
            "{name}: {} without a cue, labelled 0; the file has the events {}; name the cues with --cues",
            count(without, "trial"),
            codes_in(&gdf.event_counts())
        ));
    }
    Ok(Epochs { values, labels })
}

/// `768 (40 times), 769 (20)`.
fn codes_in(counts: &BTreeMap<u16, usize>) -> String {
    let mut codes: Vec<String> = counts.iter().take(20).map(|(code, n)| format!("{code} ({n})")).collect();
    match counts.len() {
        0 => return "no events".into(),
        1..=20 => {}
        more => codes.push(format!("and {} more", more - 20)),
    }
    codes.join(", ")
}

/// The channels to use, and those left out with the reason.
fn channels<R: Read + Seek>(args: &Args, name: &str, gdf: &GdfReader<R>) -> Result<(Vec<usize>, Vec<String>)> {
    let header = gdf.header();
    let label = |c: &usize| header.channels[*c].label.as_str();
    let all: Vec<usize> = (0..header.channels.len()).collect();
    let names = || all.iter().map(label).collect::<Vec<_>>().join(", ");
    let mut left_out = Vec::new();
    let chosen: Vec<usize> = if args.channels.is_empty() {
        let eye = |c: &usize| label(c).to_ascii_uppercase().starts_with("EOG");
        let sparse = |c: &usize| header.channels[*c].samples_per_record == 0;
        let eyes: Vec<&str> = all.iter().filter(|c| eye(c)).map(label).collect();
        let empty: Vec<&str> = all.iter().filter(|c| !eye(c) && sparse(c)).map(label).collect();
        if !eyes.is_empty() {
            left_out.push(format!("EOG channels {}", eyes.join(", ")));
        }
        if !empty.is_empty() {
            left_out.push(format!("channels without regular samples {}", empty.join(", ")));
        }
        all.iter().copied().filter(|c| !eye(c) && !sparse(c)).collect()
    } else {
        let find = |wanted: &String| {
            let found = all.iter().find(|c| label(c).eq_ignore_ascii_case(wanted.trim()));
            found.copied().with_context(|| format!("{name} has no channel `{wanted}`; it has {}", names()))
        };
        args.channels.iter().map(find).collect::<Result<_>>()?
    };
    ensure!(!chosen.is_empty(), "{name} has no channels besides EOG ({}); nothing to take covariances of", names());
    let mut rates: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    chosen.iter().for_each(|c| rates.entry(format!("{}", header.rate(*c))).or_default().push(label(c)));
    if rates.len() > 1 {
        let list: Vec<String> = rates.iter().map(|(rate, names)| format!("{rate} Hz: {}", names.join(", "))).collect();
        bail!("{name} has channels of different rates ({}); take those of one rate with --channels", list.join("; "));
    }
    Ok((chosen, left_out))
}

/// Samples that are clipped or lost.
struct Lost {
    samples: usize,
    trials: usize,
}

fn lost(signal: &Array2<f64>, starts: &[usize], window: std::ops::Range<usize>) -> Lost {
    let bad: Vec<bool> = signal.columns().into_iter().map(|c| c.iter().any(|v| v.is_nan())).collect();
    let touched = |start: &&usize| bad[**start + window.start..**start + window.end].contains(&true);
    Lost { samples: signal.iter().filter(|v| v.is_nan()).count(), trials: starts.iter().filter(touched).count() }
}

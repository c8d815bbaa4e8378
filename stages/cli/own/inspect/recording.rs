//! A GDF recording: channels, rates, length, events.

use super::super::facts::Facts;
use anyhow::{Context, Result};
use datasets::bci::codes::meaning;
use datasets::gdf::GdfReader;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// The page of a recording.
pub fn show(path: &Path, facts: &mut Facts) -> Result<()> {
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("{name} cannot be read"))?;
    let gdf = GdfReader::open(&name, BufReader::new(file))?;
    let header = gdf.header();
    facts.say("format", format!("GDF {:.2}", header.version), json!(format!("{:.2}", header.version)));
    let seconds = header.records as f64 * header.record_seconds;
    facts.say("length", format!("{seconds:.1} s"), seconds);
    // Channels that share rate, type and unit stand on one line.
    let mut groups: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    for (c, channel) in header.channels.iter().enumerate() {
        let rate = match channel.samples_per_record {
            0 => "no regular samples".to_string(),
            _ => format!("{} Hz", header.rate(c)),
        };
        let kind = format!("{:?}", channel.kind).to_lowercase();
        let unit = if channel.unit.is_empty() { String::new() } else { format!(", {}", channel.unit) };
        groups.entry((rate, format!("{kind}{unit}"))).or_default().push(&channel.label);
    }
    facts.say("channels", header.channels.len().to_string(), header.channels.len());
    for ((rate, kind), names) in &groups {
        facts.say(&format!("{rate}, {kind}"), names.join(", "), json!(names));
    }
    let counts = gdf.event_counts();
    facts.say("events", counts.values().sum::<usize>().to_string(), counts.values().sum::<usize>());
    for (code, n) in &counts {
        let known = Some(meaning(*code)).filter(|m| !m.starts_with("not defined"));
        let text = known.map_or(n.to_string(), |m| format!("{n}  ({m} in BCI Competition IV 2a)"));
        facts.say(&format!("event {code}"), text, json!(n));
    }
    Ok(())
}

//! A session from a GDF file and, where its cues do not tell the class, a label file.

use std::io::{Read, Seek};

use super::codes::{CUE_LEFT, CUE_TONGUE, CUE_UNKNOWN, REJECTED, TRIAL_START};
use super::{EEG_CHANNELS, Recording, Trial};
use crate::gdf::{Event, GdfReader};
use crate::{Error, Result, mat};

/// Reads the 22 EEG channels and the trials. `labels` are needed where a cue does not tell the class, and must agree with all other cues.
pub fn read_gdf<R: Read + Seek>(name: &str, source: R, labels: Option<&[u8]>) -> Result<Recording> {
    let mut gdf = GdfReader::open(name, source)?;
    let channels = &gdf.header().channels;
    let eeg: Vec<usize> = (0..channels.len())
        .filter(|c| !channels[*c].label.to_ascii_uppercase().starts_with("EOG"))
        .take(EEG_CHANNELS)
        .collect();
    if eeg.len() < EEG_CHANNELS {
        return Err(Error::dataset(name, format!("{} EEG channels, {EEG_CHANNELS} are needed", eeg.len())));
    }
    let rate = gdf.header().rate(eeg[0]);
    let trials = trials(name, gdf.events(), labels)?;
    let signal = gdf.read_channels(&eeg)?;
    Ok(Recording { rate, signal, trials })
}

/// Finds the trials. A trial begins with a start code; its cue and its rejection mark lie before the next start code.
fn trials(name: &str, events: &[Event], labels: Option<&[u8]>) -> Result<Vec<Trial>> {
    let mut starts: Vec<u64> = events.iter().filter(|e| e.code == TRIAL_START).map(|e| e.position).collect();
    starts.sort_unstable();
    starts.dedup();
    if let Some(l) = labels.filter(|l| l.len() != starts.len()) {
        return Err(Error::dataset(name, format!("{} trials but {} labels", starts.len(), l.len())));
    }
    let mut cues = vec![None; starts.len()];
    let mut rejected = vec![false; starts.len()];
    for e in events {
        // The trial whose start is the last one at or before the event.
        let Some(i) = starts.partition_point(|s| *s <= e.position).checked_sub(1) else { continue };
        match e.code {
            CUE_LEFT..=CUE_TONGUE | CUE_UNKNOWN if cues[i].is_some() => {
                return Err(Error::dataset(name, format!("trial {} has two cues", i + 1)));
            }
            CUE_LEFT..=CUE_TONGUE => cues[i] = Some((e.code - CUE_LEFT + 1) as u8),
            CUE_UNKNOWN => cues[i] = Some(0),
            REJECTED => rejected[i] = true,
            _ => {}
        }
    }
    (0..starts.len())
        .map(|i| {
            let given = labels.map(|l| l[i]);
            let label = match (cues[i], given) {
                (None, _) => return Err(Error::dataset(name, format!("trial {} has no cue", i + 1))),
                (Some(0), None) => {
                    let what = format!("trial {} has a cue of unknown class; the label file is needed", i + 1);
                    return Err(Error::dataset(name, what));
                }
                (Some(0), Some(l)) => l,
                (Some(c), Some(l)) if c != l => {
                    let what = format!("trial {}: the cue says class {c}, the label file {l}", i + 1);
                    return Err(Error::dataset(name, what));
                }
                (Some(c), _) => c,
            };
            Ok(Trial { start: starts[i] as usize, label, rejected: rejected[i] })
        })
        .collect()
}

/// The labels of a file of the competition's results (`classlabel`, 288 x 1), or `None` if it holds no labels.
pub fn read_labels(name: &str, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    let variables = mat::read(name, bytes)?;
    let Some((_, value)) = variables.iter().find(|(n, _)| n == "classlabel") else { return Ok(None) };
    let Some(numbers) = value.numeric() else {
        return Err(Error::dataset(name, "`classlabel` is not numeric"));
    };
    let label = |x: &f64| if [1.0, 2.0, 3.0, 4.0].contains(x) { Some(*x as u8) } else { None };
    let labels: Option<Vec<u8>> = numbers.data.iter().map(label).collect();
    labels.map(Some).ok_or_else(|| Error::dataset(name, "`classlabel` holds other values than 1 to 4"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(position: u64, code: u16) -> Event {
        Event { position, code, channel: 0, duration: 0 }
    }

    #[test]
    fn trials_take_cues_labels_and_rejections() {
        let events = [event(0, 32766), event(5, 768), event(5, 1023), event(9, 770), event(20, 768), event(24, 783)];
        let two = trials("x", &events, Some(&[2, 4])).unwrap();
        assert_eq!(two[0], Trial { start: 5, label: 2, rejected: true });
        assert_eq!(two[1], Trial { start: 20, label: 4, rejected: false });
        let text = |labels: Option<&[u8]>| trials("x", &events, labels).unwrap_err().to_string();
        assert!(text(None).contains("label file is needed"));
        assert!(text(Some(&[1, 4])).contains("the cue says class 2"));
        assert!(text(Some(&[1])).contains("2 trials but 1 labels"));
        assert!(trials("x", &events[..2], None).unwrap_err().to_string().contains("no cue"));
    }
}

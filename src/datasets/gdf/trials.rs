//! From the event table to trials: where each starts, which class it has, whether it was rejected.
//!
//! Recordings differ in the order of the two events of a trial. In most the start comes first and the cue (the class) a moment later; in
//! some the cue comes first. The wrong order would shift every label by one trial, so the order is found from the whole recording. Each
//! cue is assigned once to the last start before it and once to the first start after it. The order that gives more trials exactly one
//! cue wins. Where both give the same number, the order in which cue and start lie closer together wins.

use super::Event;
use crate::{Error, Result};

/// The meaning of the event codes of a recording.
#[derive(Debug, Clone)]
pub struct TrialCodes {
    /// Codes that start a trial.
    pub starts: Vec<u16>,
    /// Codes of the classes, in order: the first is class 1.
    pub cues: Vec<u16>,
    /// Code that marks a trial as rejected.
    pub rejected: u16,
    /// Whether a trial starts at its cue; then `starts` is not used.
    pub cue_is_start: bool,
}

/// One trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkedTrial {
    /// Position of the start in the event table.
    pub position: u64,
    /// Number of its cue in [`TrialCodes::cues`], counted from 1; 0 where it has no cue.
    pub class: usize,
    /// Whether it is marked as rejected.
    pub rejected: bool,
}

/// The trials of a recording, in order of time.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkedTrials {
    /// The trials.
    pub trials: Vec<MarkedTrial>,
    /// Whether cues lie before the starts of their trials.
    pub cue_first: bool,
}

impl TrialCodes {
    /// Finds the trials in an event table, whose events may be in any order. `file` is the name used in messages.
    pub fn trials(&self, file: &str, events: &[Event]) -> Result<MarkedTrials> {
        let class_of = |e: &Event| self.cues.iter().position(|c| *c == e.code).map(|c| c + 1);
        let mut cues: Vec<(u64, usize)> = events.iter().filter_map(|e| Some((e.position, class_of(e)?))).collect();
        cues.sort_unstable();
        let is_start =
            |e: &Event| if self.cue_is_start { class_of(e).is_some() } else { self.starts.contains(&e.code) };
        let mut starts: Vec<u64> = events.iter().filter(|e| is_start(e)).map(|e| e.position).collect();
        starts.sort_unstable();
        starts.dedup();
        let after = cues_by_trial(&cues, starts.len(), |at| starts.partition_point(|s| *s <= at).checked_sub(1));
        let before = cues_by_trial(&cues, starts.len(), |at| Some(starts.partition_point(|s| *s < at)));
        let cue_first = (trials_with_one_cue(&before), std::cmp::Reverse(distance(&before, &starts)))
            > (trials_with_one_cue(&after), std::cmp::Reverse(distance(&after, &starts)));
        let by_trial = if cue_first { before } else { after };
        if let Some((at, cues)) = starts.iter().zip(&by_trial).find(|(_, cues)| cues.iter().any(|c| c.1 != cues[0].1)) {
            let codes: Vec<String> = cues.iter().map(|c| self.cues[c.1 - 1].to_string()).collect();
            let what = format!(
                "the trial at position {at} has the cues {}; name the code that starts a trial with --event, or use --cue-is-start",
                codes.join(" and ")
            );
            return Err(Error::dataset(file, what));
        }
        // A trial begins with its first event: a rejection mark between cue and start belongs to that trial.
        let first = |i: usize| by_trial[i].first().map_or(starts[i], |c| c.0.min(starts[i]));
        let begins: Vec<u64> = (0..starts.len()).map(first).collect();
        let mut rejected = vec![false; starts.len()];
        for e in events.iter().filter(|e| e.code == self.rejected) {
            if let Some(i) = begins.partition_point(|b| *b <= e.position).checked_sub(1) {
                rejected[i] = true;
            }
        }
        let trial = |i: usize| MarkedTrial {
            position: starts[i],
            class: by_trial[i].first().map_or(0, |c| c.1),
            rejected: rejected[i],
        };
        Ok(MarkedTrials { trials: (0..starts.len()).map(trial).collect(), cue_first })
    }
}

/// The cues (position and class) of each of `n` trials. `trial` says to which trial a cue at a position belongs.
fn cues_by_trial(cues: &[(u64, usize)], n: usize, trial: impl Fn(u64) -> Option<usize>) -> Vec<Vec<(u64, usize)>> {
    let mut out = vec![Vec::new(); n];
    for cue in cues {
        if let Some(own) = trial(cue.0).and_then(|i| out.get_mut(i)) {
            own.push(*cue);
        }
    }
    out
}

/// How many trials have exactly one cue.
fn trials_with_one_cue(by_trial: &[Vec<(u64, usize)>]) -> usize {
    by_trial.iter().filter(|cues| cues.len() == 1).count()
}

/// The median distance between cue and start.
fn distance(by_trial: &[Vec<(u64, usize)>], starts: &[u64]) -> u64 {
    let mut all: Vec<u64> =
        by_trial.iter().zip(starts).filter_map(|(cues, start)| Some(cues.first()?.0.abs_diff(*start))).collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(list: &[(u64, u16)]) -> Vec<Event> {
        list.iter().map(|&(position, code)| Event { position, code, channel: 0, duration: 0 }).collect()
    }

    fn codes() -> TrialCodes {
        TrialCodes { starts: vec![768], cues: vec![769, 770], rejected: 1023, cue_is_start: false }
    }

    fn classes(codes: &TrialCodes, list: &[(u64, u16)]) -> Vec<(u64, usize, bool)> {
        let found = codes.trials("x.gdf", &events(list)).unwrap();
        found.trials.iter().map(|t| (t.position, t.class, t.rejected)).collect()
    }

    #[test]
    fn the_cue_may_come_after_or_before_the_start() {
        let after = [(0, 768), (20, 769), (100, 768), (120, 770), (110, 1023), (200, 768), (220, 769)];
        assert_eq!(classes(&codes(), &after), [(0, 1, false), (100, 2, true), (200, 1, false)]);
        // The same trials with the cue first: an assignment to the start before it would shift every label by one.
        let before = [(0, 769), (20, 768), (100, 770), (110, 1023), (120, 768), (200, 769), (220, 768)];
        assert_eq!(classes(&codes(), &before), [(20, 1, false), (120, 2, true), (220, 1, false)]);
        assert!(codes().trials("x", &events(&before)).unwrap().cue_first);
        // Cut at both ends, each order gives two trials a class: the shorter distance decides.
        assert_eq!(
            classes(&codes(), &[(0, 768), (90, 769), (100, 768), (190, 770), (200, 768)])[1..],
            [(100, 1, false), (200, 2, false)]
        );
    }

    #[test]
    fn several_starts_no_cue_and_cues_that_start() {
        let mut several = codes();
        several.starts = vec![768, 800];
        assert_eq!(classes(&several, &[(0, 800), (5, 769), (50, 768)]), [(0, 1, false), (50, 0, false)]);
        let mut cue = codes();
        cue.cue_is_start = true;
        let list = [(30, 770), (0, 769), (7, 768), (31, 1023)];
        assert_eq!(classes(&cue, &list), [(0, 1, false), (30, 2, true)]);
        assert!(classes(&codes(), &[(0, 32766)]).is_empty());
    }

    #[test]
    fn two_classes_in_one_trial_are_refused() {
        let list = [(0, 768), (5, 769), (9, 770), (50, 768), (55, 769)];
        let said = codes().trials("x.gdf", &events(&list)).unwrap_err().to_string();
        assert!(said.contains("x.gdf: the trial at position 0 has the cues 769 and 770"), "{said}");
        // The same cue twice says nothing new.
        let list = [(0, 768), (5, 769), (9, 769), (50, 768), (55, 770)];
        assert_eq!(classes(&codes(), &list), [(0, 1, false), (50, 2, false)]);
    }
}

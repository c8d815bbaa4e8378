//! The event codes of the data set, as its description defines them.

/// Idling EEG, eyes open.
pub const EYES_OPEN: u16 = 276;
/// Idling EEG, eyes closed.
pub const EYES_CLOSED: u16 = 277;
/// Start of a trial.
pub const TRIAL_START: u16 = 768;
/// Cue onset left hand (class 1); right hand, feet and tongue follow.
pub const CUE_LEFT: u16 = 769;
/// Cue onset tongue (class 4).
pub const CUE_TONGUE: u16 = 772;
/// Cue onset of an unknown class (session E of the competition).
pub const CUE_UNKNOWN: u16 = 783;
/// Rejected trial.
pub const REJECTED: u16 = 1023;
/// Eye movements.
pub const EYE_MOVEMENT: u16 = 1072;
/// Start of a new run.
pub const NEW_RUN: u16 = 32766;

/// What a code means.
pub fn meaning(code: u16) -> &'static str {
    match code {
        EYES_OPEN => "idling, eyes open",
        EYES_CLOSED => "idling, eyes closed",
        TRIAL_START => "start of a trial",
        769 => "cue left hand",
        770 => "cue right hand",
        771 => "cue feet",
        772 => "cue tongue",
        CUE_UNKNOWN => "cue unknown",
        REJECTED => "rejected trial",
        EYE_MOVEMENT => "eye movements",
        NEW_RUN => "start of a run",
        _ => "not defined by the data set",
    }
}

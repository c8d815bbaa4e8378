//! The parameters of the simulation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Parameters as written; [`SimParams::check`] makes them usable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SimParams {
    /// Trials of each of the four classes in a session (72 in the real recordings).
    pub trials_per_class: usize,
    /// Seconds from one trial start to the next (about 8 in the real recordings; shorter is faster).
    pub trial_seconds: f64,
    /// Samples per second.
    pub rate: u32,
    /// How much of a rhythm's amplitude imagery removes, 0 (classes look alike) to 1 (the rhythm vanishes).
    pub separation: f64,
    /// Size of the session shift: 0 leaves session E as session T.
    pub shift: f64,
    /// Size of the drift that depends on the class: each motor patch moves and changes its strength on its own.
    pub drift: f64,
    /// Share of trials marked as rejected.
    pub rejected: f64,
    /// Blinks per minute.
    pub blinks: f64,
    /// Amplitude of the 1/f background in microvolts.
    pub background: f64,
    /// Amplitude of the white noise of each electrode in microvolts.
    pub sensor_noise: f64,
    /// Amplitude of the motor rhythms in microvolts.
    pub rhythm: f64,
    /// Seed of everything.
    pub seed: u64,
}

impl Default for SimParams {
    fn default() -> Self {
        SimParams {
            trials_per_class: 72,
            trial_seconds: 7.0,
            rate: 250,
            separation: 0.33,
            shift: 0.35,
            drift: 0.04,
            rejected: 0.05,
            blinks: 12.0,
            background: 5.0,
            sensor_noise: 1.5,
            rhythm: 5.0,
            seed: 1,
        }
    }
}

/// Checked parameters: the only type that simulates.
#[derive(Debug, Clone)]
pub struct CheckedSim(SimParams);

impl CheckedSim {
    /// The parameters.
    pub fn params(&self) -> &SimParams {
        &self.0
    }
}

impl SimParams {
    /// Checks the ranges.
    pub fn check(&self) -> Result<CheckedSim> {
        let within = |name: &'static str, x: f64, low: f64, high: f64| {
            if x >= low && x <= high {
                Ok(())
            } else {
                Err(Error::param(name, format!("{x}; it must lie between {low} and {high}")))
            }
        };
        within("trials_per_class", self.trials_per_class as f64, 1.0, 1000.0)?;
        within("trial_seconds", self.trial_seconds, 6.5, 60.0)?;
        within("rate", f64::from(self.rate), 100.0, 2000.0)?;
        within("separation", self.separation, 0.0, 1.0)?;
        within("shift", self.shift, 0.0, 5.0)?;
        within("drift", self.drift, 0.0, 2.0)?;
        within("rejected", self.rejected, 0.0, 0.9)?;
        within("blinks", self.blinks, 0.0, 60.0)?;
        within("background", self.background, 0.0, 50.0)?;
        within("sensor_noise", self.sensor_noise, 0.01, 50.0)?;
        within("rhythm", self.rhythm, 0.0, 50.0)?;
        Ok(CheckedSim(self.clone()))
    }
}

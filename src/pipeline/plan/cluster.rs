//! Options of the cluster: `slurm:` in pipeline.yaml, `--slurm KEY=VALUE` on the command line.

use crate::value::Value;
use crate::value::size::bytes;
use crate::value::typed::{ParamError, from_value};
use crate::yaml::{YamlText, parse};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Options of the cluster executor. None of them enters a key: they say how to run, not what comes out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlurmOptions {
    /// `--partition`; the site's default when empty.
    pub partition: String,
    /// `--account`; none when empty.
    pub account: String,
    /// `--time` of a task in minutes; the site's default when 0.
    pub minutes: u64,
    /// A task that ran out of time is tried again with twice as much, up to this many minutes.
    pub max_minutes: u64,
    /// `--mem` of a task (`2GB`) for stages that name no memory themselves; the site's default when empty.
    pub memory: String,
    /// A task that ran out of memory is tried again with twice as much, up to this.
    pub max_memory: String,
    /// How a stage with `resources: {gpu: N}` asks for them: `gpu` gives `--gres=gpu:N`, `gpu:a100` gives `--gres=gpu:a100:N`.
    pub gpu: String,
    /// More arguments of `sbatch`, one per item, handed over as they are.
    pub options: Vec<String>,
    /// Lines of the job script before the worker starts (`module load ...`). The only text a shell reads as it is.
    pub setup: Vec<String>,
    /// Seconds of work that one task is given, as long as there is enough work.
    pub chunk: f64,
    /// Number of tasks among which a small amount of work is spread.
    pub spread: usize,
    /// Largest number of tasks of one job array (Slurm's `MaxArraySize` less one).
    pub max_array: usize,
    /// How often a failed unit is tried again, when its stage does not ask for more.
    pub retries: u32,
    /// Seconds that a shared file system may take to show a file of another node.
    pub grace: f64,
    /// Seconds that a command of Slurm may take before it is given up.
    pub timeout: f64,
}

impl Default for SlurmOptions {
    fn default() -> Self {
        Self {
            partition: String::new(),
            account: String::new(),
            minutes: 0,
            max_minutes: 24 * 60,
            memory: String::new(),
            max_memory: "64GB".into(),
            gpu: "gpu".into(),
            options: Vec::new(),
            setup: Vec::new(),
            chunk: 60.0,
            spread: 16,
            max_array: 1000,
            retries: 2,
            grace: 10.0,
            timeout: 60.0,
        }
    }
}

impl SlurmOptions {
    /// Reads and checks the options.
    pub fn from_value(value: &Value) -> Result<Self, ParamError> {
        let options: Self = if *value == Value::Null { Self::default() } else { from_value(value)? };
        let size = |name: &str, text: &str| match text.is_empty() || bytes(&Value::Str(text.into())).is_some() {
            true => Ok(()),
            false => Err(ParamError::new(name, format!("`{text}` is not a size; write `500MB` or `2GB`"))),
        };
        size("memory", &options.memory)?;
        size("max_memory", &options.max_memory)?;
        let positive = |name: &str, x: f64| match x.is_finite() && x > 0.0 && x < 1e7 {
            true => Ok(()),
            false => Err(ParamError::new(name, format!("{x} is not a number of seconds above 0"))),
        };
        positive("chunk", options.chunk)?;
        positive("grace", options.grace)?;
        positive("timeout", options.timeout)?;
        if options.spread == 0 {
            return Err(ParamError::new("spread", "0 tasks cannot do anything; write 1 or more"));
        }
        if options.max_array == 0 {
            return Err(ParamError::new("max_array", "0 tasks cannot do anything; write 1 or more"));
        }
        Ok(options)
    }

    /// These options overridden by `KEY=VALUE` pairs; values are YAML.
    pub fn with(&self, sets: &[(String, String)]) -> Result<Self, ParamError> {
        let Value::Map(all) = crate::value::typed::to_value(self)? else {
            return Err(ParamError::new("", "the options of the cluster are not a map"));
        };
        let mut all: BTreeMap<String, Value> = all.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
        for (key, value) in sets {
            let node = parse(YamlText::new("--slurm", value)).map_err(|e| ParamError::new(key.clone(), e))?;
            let mut value = node.value();
            // `--slurm memory=2000` is text to the option and a number to YAML.
            if let (Some(Value::Str(_)), Value::Int(_) | Value::Float(_) | Value::Bool(_)) = (all.get(key), &value) {
                value = Value::Str(node.text());
            }
            if let (Some(Value::List(_)), Value::Str(_)) = (all.get(key), &value) {
                value = Value::List(vec![value]);
            }
            all.insert(key.clone(), value);
        }
        Self::from_value(&Value::Map(all.into_iter().collect()))
    }

    pub(crate) fn grace(&self) -> Duration {
        Duration::from_secs_f64(self.grace)
    }

    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.timeout)
    }

    /// Mebibytes for a stage that wants `wants` bytes, doubled `boost` times within the limit; `None` is the site's
    /// default.
    pub(crate) fn mebibytes(&self, wants: u64, boost: u32) -> Option<u64> {
        let size = |text: &String| bytes(&Value::Str(text.clone())).unwrap_or(0);
        let base = if wants > 0 { wants } else { size(&self.memory) };
        // The site's default is not known. A task that ran out of it is given a gigabyte, doubled.
        let base = if base == 0 && boost > 0 { 1 << 30 } else { base };
        let boosted = base.saturating_mul(1 << boost.min(20)).min(size(&self.max_memory).max(base));
        (boosted > 0).then(|| boosted.div_ceil(1 << 20))
    }

    /// Minutes for a task, doubled `boost` times within the limit; `None` is the site's default.
    pub(crate) fn minutes(&self, boost: u32) -> Option<u64> {
        let base = if self.minutes == 0 && boost > 0 { 60 } else { self.minutes };
        let boosted = base.saturating_mul(1 << boost.min(20)).min(self.max_minutes.max(base));
        (boosted > 0).then_some(boosted)
    }

    /// Seconds after which a task starts no further unit, so that a wrong guess of their times costs little.
    pub(crate) fn deadline(&self, boost: u32) -> f64 {
        let limit = self.minutes(boost).map_or(f64::INFINITY, |m| m as f64 * 30.0);
        (2.0 * self.chunk).min(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_overlaid_and_checked() {
        let set = |k: &str, v: &str| SlurmOptions::default().with(&[(k.into(), v.into())]);
        assert_eq!(set("minutes", "90").unwrap().minutes, 90);
        assert_eq!(set("memory", "2000").unwrap().memory, "2000");
        assert_eq!(set("options", "--qos=long").unwrap().options, ["--qos=long"]);
        assert_eq!(set("setup", "[module load x, y]").unwrap().setup, ["module load x", "y"]);
        assert_eq!(set("memory", "much").unwrap_err().path, "memory");
        assert_eq!(set("spread", "0").unwrap_err().path, "spread");
        assert!(set("partitoin", "x").unwrap_err().candidates.contains(&"partition".to_string()));
    }

    #[test]
    fn more_is_asked_for_within_the_limit() {
        let options = SlurmOptions { minutes: 10, max_minutes: 30, max_memory: "3GB".into(), ..Default::default() };
        assert_eq!([0, 1, 2, 9].map(|b| options.minutes(b)), [Some(10), Some(20), Some(30), Some(30)]);
        assert_eq!([0, 1, 2, 9].map(|b| options.mebibytes(1 << 30, b).unwrap()), [1024, 2048, 3072, 3072]);
        assert_eq!((options.mebibytes(0, 0), options.mebibytes(0, 1)), (None, Some(2048)));
        assert_eq!(options.mebibytes(5 << 30, 3), Some(5120), "what a stage asks for is never cut");
    }
}

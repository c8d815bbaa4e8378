//! The method on people's own arrays: numpy files in, numpy files out, one file per command.
//!
//! | command | what |
//! |---|---|
//! | `fit`, `predict`, `inspect` | partial trace regression: learn a map, apply it, look at it |
//! | `complete` | fill the missing entries of a positive semidefinite matrix |
//! | `adapt`, `mdm` | move SPD matrices from one domain to another; classify them |
//! | `covariances`, `kernel` | get such matrices from recordings or features |
//! | `example` | arrays to try all this on; EXAMPLES.md says which command answers which question |
//!
//! Shared: `arrays` reads, `output` writes whole files or none, `pictures` draws, `facts` prints what was found, `progress` shows that
//! something happens. Bad input ends with one
//! sentence and exit code 2 before anything is written.

pub mod adapt;
mod arrays;
pub mod complete;
pub mod covariances;
pub mod example;
mod facts;
pub mod fit;
pub mod inspect;
pub mod kernel;
pub mod mdm;
pub mod output;
mod pictures;
pub mod predict;
mod progress;

use anyhow::Context;
pub use npy::shape_text as times;
use std::ops::RangeInclusive;
use std::path::Path;

/// Goes where `-C` says: the paths of these commands are relative to it.
pub fn enter(dir: Option<&Path>) -> anyhow::Result<()> {
    super::enough_threads();
    match dir {
        Some(dir) => std::env::set_current_dir(dir).with_context(|| format!("-C {}: no such folder", dir.display())),
        None => Ok(()),
    }
}

/// How much memory there is: files above a quarter of it are read in pieces where that is possible, and refused otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory(u64);

impl Memory {
    /// The user's figure in GiB, else the machine's.
    pub fn of(gib: Option<f64>) -> Memory {
        Memory(gib.map_or_else(pipeline::host::memory, |g| (g * (1u64 << 30) as f64) as u64))
    }

    /// A quarter.
    pub fn share(self) -> u64 {
        self.0 / 4
    }

    /// Size above which a file is read in pieces although it would fit, where nothing is lost by it.
    pub fn piecewise(self) -> u64 {
        self.share().min(256 << 20)
    }
}

/// A positive number of GiB.
pub fn gib(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|g: &f64| g.is_finite() && *g > 0.0)
        .ok_or_else(|| "expected GiB, for example 4 or 0.5".into())
}

/// `5`, `1..20` (both ends included) or `1,2,5,10`.
pub fn ranks(text: &str) -> Result<Vec<usize>, String> {
    let wrong = || "expected ranks such as 1..20 or 1,2,5,10".to_string();
    let one = |t: &str| t.trim().parse::<usize>().ok().filter(|r| *r > 0).ok_or_else(wrong);
    let mut list = match text.split_once("..") {
        Some((a, b)) => {
            let range: RangeInclusive<usize> = one(a)?..=one(b.trim_start_matches('='))?;
            if range.is_empty() || range.end() - range.start() > 10_000 {
                return Err(wrong());
            }
            range.collect::<Vec<_>>()
        }
        None => text.split(',').map(one).collect::<Result<_, _>>()?,
    };
    list.sort_unstable();
    list.dedup();
    Ok(list)
}

/// `none` or `clamp:1e-4`.
pub fn gamma(text: &str) -> Result<kraus::Gamma, String> {
    match text.split_once(':') {
        None if text == "none" => Ok(kraus::Gamma::None),
        Some(("clamp", eps)) => match eps.parse::<f64>() {
            Ok(e) if e.is_finite() && e >= 0.0 => Ok(kraus::Gamma::Clamp(e)),
            _ => Err("expected a number >= 0 after `clamp:`, for example clamp:1e-4".into()),
        },
        _ => Err("expected `none` or `clamp:EPS`, for example clamp:1e-4".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_ranks() {
        assert_eq!(ranks("1..4"), Ok(vec![1, 2, 3, 4]));
        assert_eq!(ranks("5,2, 2"), Ok(vec![2, 5]));
        assert!(["0..3", "4..1", "x", ""].iter().all(|t| ranks(t).is_err()));
    }

    #[test]
    fn between_layers() {
        assert_eq!(gamma("clamp:1e-4"), Ok(kraus::Gamma::Clamp(1e-4)));
        assert!(gamma("none").is_ok() && gamma("clamp:-1").is_err() && gamma("relu").is_err());
    }
}

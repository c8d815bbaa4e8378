//! Which sources of data the user allows ([`Options`]), and which one was used ([`Provenance`]).

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{HttpParams, Sources};
use crate::{Error, Result};

/// How far a download has come.
#[derive(Debug, Clone)]
pub struct Progress<'a> {
    /// The file in the cache.
    pub file: &'a str,
    /// Bytes received.
    pub done: u64,
    /// Bytes in all, when the server says.
    pub total: Option<u64>,
    /// A remark such as "waiting for another download of this file".
    pub note: Option<&'a str>,
}

/// Where data may come from.
#[derive(Clone)]
pub struct Options {
    /// A folder or zip with the user's copy of the data (`--data-dir`).
    pub data_dir: Option<PathBuf>,
    /// Where downloads are kept; without it nothing is downloaded.
    pub cache_dir: Option<PathBuf>,
    /// Never use the network.
    pub offline: bool,
    /// Refuse embedded and simulated data.
    pub require_real: bool,
    /// Ask hosts again even if they could not be reached a few minutes ago.
    pub ask_again: bool,
    /// Accept a file whose checksum is not the recorded one, and record the new one.
    pub accept_changed: bool,
    /// Called while downloading.
    pub progress: Option<Arc<dyn Fn(&Progress) + Send + Sync>>,
    /// The remote files.
    pub sources: Sources,
    /// Timeouts and retries.
    pub http: HttpParams,
}

impl Options {
    /// Everything allowed, downloads kept in `cache_dir`.
    pub fn new(cache_dir: impl Into<PathBuf>) -> Self {
        Options {
            data_dir: None,
            cache_dir: Some(cache_dir.into()),
            offline: false,
            require_real: false,
            ask_again: false,
            accept_changed: false,
            progress: None,
            sources: Sources::embedded(),
            http: HttpParams::default(),
        }
    }

    /// Why a file that is not on this machine was not downloaded before.
    pub(crate) fn why_not_fetched(&self) -> String {
        match (self.offline, &self.cache_dir) {
            (true, _) => "not tried, the network is not to be used (--offline)",
            (_, None) => "not tried, there is no folder to keep downloads in: set REPRO_CACHE or HOME",
            _ => "nothing was fetched from there",
        }
        .into()
    }

    /// Refuses a stand-in when real data are required.
    pub(crate) fn refuse_stand_in(&self, dataset: &str, tried: &[(String, String)]) -> Result<()> {
        if !self.require_real {
            return Ok(());
        }
        let tried: Vec<String> = tried.iter().map(|(source, why)| format!("{source}: {why}")).collect();
        Err(Error::NotReal { dataset: dataset.to_string(), tried: tried.join("; ") })
    }
}

/// What kind of data was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The real data set.
    Real,
    /// The real sample that comes with the program.
    Embedded,
    /// Made by our own generator.
    Simulated,
}

/// Where data came from; goes into the artefact and into every caption made from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The data set.
    pub dataset: String,
    /// Real, embedded or simulated.
    pub kind: Kind,
    /// The address that publishes exactly these files, or their checksum where no address is known, or the generator. It depends on the
    /// content only.
    pub source: String,
    /// BLAKE3 of what was read.
    pub checksum: String,
    /// Where the files lie on this machine. Not written into artefacts: the same data must give the same bytes everywhere.
    #[serde(skip)]
    pub place: String,
    /// What the checksum was compared with.
    pub trust: String,
    /// Licence and credit.
    pub licence: String,
    /// Sources tried before this one, each with the reason why it failed.
    pub tried: Vec<(String, String)>,
}

impl Provenance {
    /// One line for captions: simulated data always say so in capitals.
    pub fn caption(&self) -> String {
        match self.kind {
            Kind::Real => format!("{}, real data from {}", self.dataset, self.source),
            Kind::Embedded => format!("{}, {}", self.dataset, self.source),
            Kind::Simulated => format!("SIMULATED {} ({})", self.dataset, self.source),
        }
    }
}

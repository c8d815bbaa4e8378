//! Where a stage's data may come from: the program's options turned into those of `datasets`, and what of them enters the key.
//!
//! Data enter the pipeline through the kinds `fetch-digits` and `fetch-recordings` alone. Their key holds the *content* of the data that are on
//! this machine, so that a touched file or another folder with the same files changes nothing, and a stand-in is replaced as soon as real data
//! are there. The network is asked before a run judges what is fresh ([`Wanted::fetch`]), never by a unit.

use crate::shared::files::write_json;
use anyhow::{Context as _, Result, anyhow};
use datasets::bci::{self, Session};
use datasets::fetch::{Options, Provenance, Sources};
use datasets::mfeat;
use pipeline::{Context, Environment};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Artefact that says which data were used (`datasets::fetch::Provenance`).
pub const SOURCE: &str = "source.json";
/// Artefact that refers to a recording by content (of the same type): the report lists the data of the stage that reads it, not these.
pub const REFERENCE: &str = "recording.json";

/// Downloads are shared by all projects of a user: $REPRO_CACHE, else the XDG cache folder, else one in the home folder (which the
/// system knows also when $HOME is not set), else a temporary folder. Never the current folder.
pub fn cache_dir() -> PathBuf {
    let under =
        |var: &str, rest: &str| std::env::var_os(var).filter(|v| !v.is_empty()).map(|v| PathBuf::from(v).join(rest));
    under("REPRO_CACHE", "")
        .or_else(|| under("XDG_CACHE_HOME", "repro"))
        .or_else(|| std::env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(".cache/repro")))
        .unwrap_or_else(|| std::env::temp_dir().join("repro-downloads"))
}

/// Names of the values of the environment that data stages read: a folder, and three flags.
pub const DATA_DIR: &str = "data-dir";
pub const OFFLINE: &str = "offline";
pub const REQUIRE_REAL: &str = "require-real";
pub const ACCEPT_CHANGED: &str = "accept-changed";

/// The environment variable that names another list of addresses (a mirror, say) in the format of `data/sources.yaml`.
const SOURCES: &str = "REPRO_SOURCES";

/// The options of the program as options of `datasets`.
pub fn options(env: &Environment) -> Result<Options> {
    let mut options = Options::new("");
    options.cache_dir = Some(cache_dir());
    options.data_dir = env.get(DATA_DIR).map(PathBuf::from);
    options.offline = env.flag(OFFLINE);
    options.require_real = env.flag(REQUIRE_REAL);
    // Who insists on real data wants the network asked, even if it failed a minute ago.
    options.ask_again = options.require_real;
    options.accept_changed = env.flag(ACCEPT_CHANGED);
    if let Some(path) = std::env::var_os(SOURCES).filter(|v| !v.is_empty()) {
        let path = PathBuf::from(path);
        let text = std::fs::read_to_string(&path).with_context(|| format!("{SOURCES}={}", path.display()))?;
        options.sources = Sources::parse(&text).with_context(|| format!("{SOURCES}={}", path.display()))?;
    }
    Ok(options)
}

/// Writes which data were used as `artefact`. How they were found (the folder, sources that failed before, a first or a later download) goes to
/// the log and not into the artefact: the same data must give the same bytes on every machine.
pub fn record(ctx: &Context, artefact: &str, provenance: &Provenance) -> Result<()> {
    ctx.log(&format!("{}; found at {}; {}", provenance.caption(), provenance.place, provenance.trust));
    for (source, why) in &provenance.tried {
        ctx.log(&format!("tried before: {source}: {why}"));
    }
    let path = ctx.output(artefact).map_err(|e| anyhow!("{e}"))?;
    write_json(&path, &Provenance { trust: String::new(), tried: Vec::new(), ..provenance.clone() })
}

/// Data that a unit of a fetching kind needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// Multiple Features.
    Digits,
    /// One session of one subject of BCI Competition IV 2a. Both sessions of a subject are real, or none: a map from a real day to a
    /// simulated one means nothing.
    Recording(u8, Session),
}

impl Wanted {
    /// The content of the real data on this machine, or `None` if a stand-in is to be used.
    pub fn content(self, options: &Options) -> Result<Option<String>> {
        let Wanted::Recording(subject, session) = self else { return Ok(mfeat::content(options)?) };
        let contents = [bci::content(options, subject, Session::T)?, bci::content(options, subject, Session::E)?];
        match (contents, &options.data_dir) {
            ([Some(t), Some(e)], _) => Ok(Some(if session == Session::T { t } else { e })),
            ([None, None], _) | (_, None) => Ok(None),
            ([t, _], Some(dir)) => {
                let (there, gone) = if t.is_some() { ("T", "E") } else { ("E", "T") };
                Err(anyhow!(
                    "{} has session {there} of subject {subject} and not session {gone}; give the files of both or of none",
                    dir.display()
                ))
            }
        }
    }

    /// What enters the key: the content, or that a stand-in is used, or that none may be.
    pub fn externals(self, env: &Environment) -> Result<BTreeMap<String, String>> {
        let options = options(env)?;
        let state = match self.content(&options)? {
            Some(content) => content,
            None if options.require_real => "none, and stand-ins are refused".into(),
            None => "none: a stand-in".into(),
        };
        Ok(BTreeMap::from([("data".to_string(), state)]))
    }

    /// Brings the data to this machine; returns whether something was downloaded.
    pub fn fetch(self, options: &Options) -> datasets::Result<bool> {
        match self {
            Wanted::Digits => mfeat::download(options),
            Wanted::Recording(subject, session) => bci::download(options, subject, session),
        }
    }

    /// Its name in messages.
    pub fn name(self) -> String {
        match self {
            Wanted::Digits => "Multiple Features".into(),
            Wanted::Recording(subject, session) => format!("BCI Competition IV 2a, A{subject:02}{session}"),
        }
    }
}

//! Getting data: where they come from, what is checked about them, and how they become arrays.
//!
//! | folder | what belongs there |
//! |---|---|
//! | `fetch/` | the list of sources, the download cache, the network, the record of what was used |
//! | `archive/` | a folder, a zip or a tar seen as named files |
//! | `gdf/`, `mat/` | readers (and a writer) of the two file formats of EEG recordings |
//! | `mfeat/`, `bci/` | the two data sets: which files they consist of, and how those become arrays |
//! | `signal/` | filtering and cutting of recordings |
//! | `simulate/` | simulated recordings |
//!
//! # Where data come from
//! Each data set is looked up in the same order, and what was used is returned beside the data as a [`fetch::Provenance`] that goes into every
//! artefact and caption:
//!
//! 1. the user's own copy (`--data-dir`, a folder or a zip),
//! 2. the download cache, which `download` fills from the official addresses (`data/sources.yaml`),
//! 3. a stand-in: the embedded 200 digits of Multiple Features, or **simulated** EEG. `require_real` turns this step into an error that
//!    lists what was tried and why it failed.
//!
//! `load` never asks the network, so that what it gives follows from what is on this machine: `content` says what that is, by content, and a run
//! is keyed by it.
//!
//! | data set | call | result |
//! |---|---|---|
//! | Multiple Features | [`mfeat::load`] | six views (samples, features), labels |
//! | BCI Competition IV 2a | [`bci::load`] | a recording with trials, or covariances |
//!
//! ```
//! use datasets::{bci, fetch::{Kind, Options}, mfeat, signal::SignalParams, simulate::SimParams};
//!
//! let mut options = Options::new(std::env::temp_dir().join("no-such-cache"));
//! options.offline = true;
//! let (digits, from) = mfeat::load(&options).unwrap();
//! assert_eq!((digits.views[0].dim(), from.kind), ((200, 76), Kind::Embedded));
//!
//! let sim = SimParams { trials_per_class: 2, ..SimParams::default() }.check().unwrap();
//! let (data, from) = bci::load(&options, 1, bci::Session::T, &sim).unwrap();
//! assert!(from.caption().starts_with("SIMULATED"));
//! let bci::SessionData::Recording(r) = data else { panic!() };
//! let (starts, labels) = r.usable();
//! let path = SignalParams::default().check(r.rate).unwrap();
//! let epochs = path.run(r.signal.view(), &starts).unwrap();
//! assert_eq!(epochs.dim(), (labels.len(), 22, 1000));
//! ```
//!
//! # What is trusted
//! Nothing that is read. Readers ([`gdf`], [`mat`], [`archive`], the crate `npy`, [`mfeat::parse_view`]) check every size and count against the bytes that
//! are there before they allocate, refuse what does not fit with an error that names file and place, and never panic; the fuzz test holds them to
//! this. A download enters the cache only whole, below its size limit, with the right checksum and after its reader accepted it. Where
//! no checksum is listed, the first one seen is recorded and holds from then on; the provenance says so.
//! The user's own folder is believed to be what the user wants: if its files are damaged, that is an error, not a reason to look elsewhere.
//!
//! # From signals to epochs
//! [`signal`] filters and cuts; [`simulate`] makes recordings of the same shape, as genuine GDF files. Covariances and everything Riemannian live in `spd`.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod archive;
pub mod bci;
pub mod error;
pub mod fetch;
pub mod gdf;
pub mod mat;
pub mod mfeat;
pub mod signal;
pub mod simulate;

pub use error::{Error, Result};

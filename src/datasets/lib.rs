//! Data sets: where data come from, how they are checked, and how they become arrays.
//!
//! | folder | what belongs there |
//! |---|---|
//! | `fetch/` | the list of sources, the download cache, the network, the record of what was used |
//! | `archive/` | a folder, a zip or a tar as a set of named files |
//! | `gdf/`, `mat/` | readers (and a writer) of the two file formats of EEG recordings |
//! | `mfeat/`, `bci/` | the two data sets: which files they consist of, and how those become arrays |
//! | `signal/` | filtering and cutting of recordings |
//! | `simulate/` | simulated recordings |
//!
//! # Where data come from
//! Each data set is searched in the same order. What was used is returned with the data as a [`fetch::Provenance`], which goes into
//! every artefact and caption:
//!
//! 1. the user's own copy (`--data-dir`, a folder or a zip),
//! 2. the download cache, which `download` fills from the official addresses (`data/sources.yaml`),
//! 3. a stand-in: the embedded 200 digits of Multiple Features, or **simulated** EEG. `require_real` turns this step into an error that
//!    lists what was tried and why it failed.
//!
//! `load` never uses the network, so its result depends only on what is on this machine. `content` returns the checksum of these data, and
//! the key of a unit contains it.
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
//! No file is trusted. Before they allocate, readers ([`gdf`], [`mat`], [`archive`], the crate `npy`, [`mfeat::parse_view`]) compare every
//! size and count with the bytes that are there. They refuse what does not fit with an error that names file and place, and never panic;
//! the fuzz test checks this. A download enters the cache only whole, below its size limit, with the right checksum and after its reader
//! has accepted it. Where no checksum is listed, the first one seen is recorded and required from then on; the provenance says so.
//! If files in the user's own folder are damaged, that is an error and not a reason to look elsewhere.
//!
//! # From signals to epochs
//! [`signal`] filters and cuts; [`simulate`] makes recordings of the same shape, as genuine GDF files. Covariances and Riemannian geometry
//! are in the crate `spd`.
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

//! Finds a session: in the user's folder, in the download cache, on the network, or by simulation.
//!
//! [`content`] says which data would be used, without reading them at every run; [`find`] reads and checks them; [`open`] and [`load`]
//! return them; only [`download`] uses the network.

use std::io::Cursor;
use std::path::Path;

use super::{Recording, Session, SessionData, TRIALS_PER_CLASS, read_bnci, read_bundle, read_gdf, read_labels};
use crate::archive::Files;
use crate::fetch::{self, Fetched, Kind, Listing, Options, Provenance, Remote};
use crate::simulate::{CheckedSim, session_gdf};
use crate::{Error, Result};

const NAME: &str = "BCI Competition IV 2a";

/// Which session of which subject.
struct Wanted {
    /// The name of all its files without their endings, for example `A01T`.
    stem: String,
}

impl Wanted {
    fn new(subject: u8, session: Session) -> Result<Self> {
        match subject {
            1..=9 => Ok(Wanted { stem: format!("A{subject:02}{session}") }),
            _ => Err(Error::param("subject", format!("{subject}; the data set has subjects 1 to 9"))),
        }
    }

    /// Its name in captions and messages.
    fn name(&self) -> String {
        format!("{NAME}, {}", self.stem)
    }

    /// The file of BNCI Horizon, and the two archives of the competition.
    fn remotes<'a>(&self, options: &'a Options) -> Result<[&'a Remote; 3]> {
        let get = |id: &str| options.sources.get(id);
        Ok([get(&format!("bnci-{}", self.stem))?, get("bci-gdf")?, get("bci-labels")?])
    }
}

/// A session that is on this machine.
struct Local {
    data: SessionData,
    /// BLAKE3 of the recording and, where they were needed, of its labels.
    content: String,
    /// The address that publishes exactly this file, if one is known.
    published: Option<String>,
    place: String,
    trust: String,
}

/// The checksum of the real session that [`load`] would use, or `None` if it would simulate. Reads the files only if they changed.
pub fn content(options: &Options, subject: u8, session: Session) -> Result<Option<String>> {
    let wanted = Wanted::new(subject, session)?;
    let stem = wanted.stem.to_lowercase();
    let mut listing = Listing::default();
    if let Some(dir) = &options.data_dir {
        // Any archive in the user's folder may hold the files.
        listing.add(dir, &|name| name.to_lowercase().contains(&stem) || name.to_lowercase().ends_with(".zip"))?;
    }
    if let Some(dir) = &options.cache_dir {
        for remote in wanted.remotes(options)? {
            listing.add(&dir.join(&remote.file), &|_| true)?;
        }
    }
    let read = || Ok(local(options, &wanted, &mut Vec::new())?.map(|l| l.content));
    listing.content(options, &wanted.stem, read)
}

/// Reads and checks the real session on this machine and returns its provenance; `None` if there is none and a stand-in is allowed.
pub fn find(options: &Options, subject: u8, session: Session) -> Result<Option<Provenance>> {
    let wanted = Wanted::new(subject, session)?;
    let mut tried = Vec::new();
    match local(options, &wanted, &mut tried)? {
        Some(found) => Ok(Some(real(options, &wanted, &found, tried)?)),
        None => {
            not_fetched(options, &wanted, &mut tried)?;
            options.refuse_stand_in(&wanted.name(), &tried)?;
            Ok(None)
        }
    }
}

/// One session of one subject (1 to 9) from this machine. If it is not there, it is simulated with the parameters `sim`.
///
/// Real recordings must have 288 trials, 72 of each class; bundles of covariances may hold fewer classes.
pub fn load(options: &Options, subject: u8, session: Session, sim: &CheckedSim) -> Result<(SessionData, Provenance)> {
    let wanted = Wanted::new(subject, session)?;
    let mut tried = Vec::new();
    if let Some(found) = local(options, &wanted, &mut tried)? {
        let provenance = real(options, &wanted, &found, tried)?;
        return Ok((found.data, provenance));
    }
    not_fetched(options, &wanted, &mut tried)?;
    options.refuse_stand_in(&wanted.name(), &tried)?;
    let (recording, provenance) = simulated(sim, subject, session)?;
    Ok((SessionData::Recording(recording), Provenance { tried, ..provenance }))
}

/// The session with this checksum, which [`content`] returned. An error if the files have changed or disappeared since then.
pub fn open(options: &Options, subject: u8, session: Session, content: &str) -> Result<SessionData> {
    let wanted = Wanted::new(subject, session)?;
    let changed = |what: &str| {
        Error::dataset(wanted.name(), format!("{what} since it was fetched; run again with the same data folder"))
    };
    match local(options, &wanted, &mut Vec::new())? {
        Some(found) if found.content == content => Ok(found.data),
        Some(_) => Err(changed("the recording has changed")),
        None => Err(changed("the recording has gone")),
    }
}

/// Brings a session into the download cache, unless it is on this machine already. Returns whether something was downloaded.
pub fn download(options: &Options, subject: u8, session: Session) -> Result<bool> {
    let wanted = Wanted::new(subject, session)?;
    // A damaged file in the cache is fetched again. A damaged file of the user is an error, which `load` will report.
    if matches!(content(options, subject, session), Ok(Some(_))) {
        return Ok(false);
    }
    let [bnci, gdf, labels] = wanted.remotes(options)?;
    let first = match fetch::get(options, bnci, &|path| read_bnci_file(path, &wanted.stem).map(drop)) {
        Ok(_) => return Ok(true),
        Err(e) => e,
    };
    let readable = |path: &Path| Files::open(path).map(drop);
    // The labels first: they are small, and without them the recordings are of no use.
    let archive = fetch::get(options, labels, &readable).and_then(|_| fetch::get(options, gdf, &readable));
    match archive {
        Ok(_) => Ok(true),
        Err(second) => {
            let what = format!(
                "{}; {}: {}",
                first.reason_for(bnci.address()),
                gdf.address(),
                second.reason_for(gdf.address())
            );
            Err(Error::Download { url: bnci.address().to_string(), what })
        }
    }
}

/// The session from the user's folder or the download cache. Damaged files are errors: silently simulating would replace real results.
fn local(options: &Options, wanted: &Wanted, tried: &mut Vec<(String, String)>) -> Result<Option<Local>> {
    let stem = &wanted.stem;
    let [bnci, gdf, labels] = wanted.remotes(options)?;
    if let Some(dir) = &options.data_dir {
        let place = dir.display().to_string();
        if let Some((data, content, sha256)) = from_files(&mut Files::open(dir)?, stem)? {
            let published = (bnci.sha256.as_ref() == Some(&sha256)).then(|| bnci.address().to_string());
            return Ok(Some(Local { data, content, published, place, trust: "given by the user".into() }));
        }
        tried.push((place, format!("has no {stem}.gdf, {stem}.mat or {stem}.npz")));
    }
    if let Some(f) = fetch::cached(options, bnci)? {
        let data = SessionData::Recording(read_bnci_file(&f.path, stem)?);
        let published = f.listed.then(|| bnci.address().to_string());
        return Ok(Some(Local {
            data,
            content: f.checksum,
            published,
            place: f.path.display().to_string(),
            trust: f.trust,
        }));
    }
    if let (Some(gdf_file), Some(labels)) = (fetch::cached(options, gdf)?, fetch::cached(options, labels)?) {
        let (data, content) = from_archive(&gdf_file, &labels, stem)?;
        let place = gdf_file.path.display().to_string();
        return Ok(Some(Local { data, content, published: None, place, trust: gdf_file.trust }));
    }
    let cache = options.cache_dir.as_ref().map_or("none".into(), |d| d.display().to_string());
    tried.push((format!("download cache {cache}"), format!("has no files of {stem}")));
    Ok(None)
}

fn real(options: &Options, wanted: &Wanted, found: &Local, tried: Vec<(String, String)>) -> Result<Provenance> {
    let [_, gdf, _] = wanted.remotes(options)?;
    Ok(Provenance {
        dataset: wanted.name(),
        kind: Kind::Real,
        source: found.published.clone().unwrap_or_else(|| fetch::by_content(&found.content)),
        checksum: found.content.clone(),
        place: found.place.clone(),
        trust: found.trust.clone(),
        licence: format!("{}; {}", gdf.licence, gdf.attribution),
        tried,
    })
}

/// Adds to `tried` the reason why each address gave nothing.
fn not_fetched(options: &Options, wanted: &Wanted, tried: &mut Vec<(String, String)>) -> Result<()> {
    let [bnci, gdf, _] = wanted.remotes(options)?;
    tried.extend([bnci, gdf].map(|remote| (remote.address().to_string(), options.why_not_fetched())));
    Ok(())
}

/// A simulated session, written as a GDF file in memory and read back.
pub fn simulated(sim: &CheckedSim, subject: u8, session: Session) -> Result<(Recording, Provenance)> {
    let wanted = Wanted::new(subject, session)?;
    let bytes = session_gdf(sim, subject, session)?;
    let checksum = fetch::checksum(&bytes);
    let name = format!("simulated {}.gdf", wanted.stem);
    let recording = read_gdf(&name, Cursor::new(bytes), None)?;
    recording.check_counts(&name, sim.params().trials_per_class)?;
    let provenance = Provenance {
        dataset: wanted.name(),
        kind: Kind::Simulated,
        source: format!("our generator, seed {}", sim.params().seed),
        checksum,
        place: "this program".into(),
        trust: "made by this program".into(),
        licence: "none: no data of the competition".into(),
        tried: Vec::new(),
    };
    Ok((recording, provenance))
}

/// The session from a folder or archive, with the BLAKE3 of what was read and the SHA-256 of the recording.
fn from_files(files: &mut Files, stem: &str) -> Result<Option<(SessionData, String, String)>> {
    let named = |files: &Files, ext: &str| -> Vec<String> {
        let base = format!("{stem}.{ext}");
        let hit = |n: &&str| n.rsplit('/').next().is_some_and(|b| b.eq_ignore_ascii_case(&base));
        files.names().filter(hit).map(str::to_string).collect()
    };
    let place = |files: &Files, name: &str| format!("{}/{name}", files.root());
    // Label files and BNCI files have the same names; their contents tell them apart.
    let mut labels = None;
    for name in named(files, "mat") {
        let bytes = files.read(&name)?;
        let place = place(files, &name);
        if let Some(r) = read_bnci(&place, &bytes)? {
            r.check_counts(&place, TRIALS_PER_CLASS)?;
            return Ok(Some((SessionData::Recording(r), fetch::checksum(&bytes), fetch::sha256(&bytes))));
        }
        if let Some(found) = read_labels(&place, &bytes)? {
            labels = Some((found, bytes));
        }
    }
    if let Some(name) = named(files, "gdf").first() {
        let bytes = files.read(name)?;
        let place = place(files, name);
        let (content, sha256) = (gdf_content(&bytes, labels.as_ref().map(|l| &l.1[..])), fetch::sha256(&bytes));
        let r = read_gdf(&place, Cursor::new(bytes), labels.as_ref().map(|l| &l.0[..]))?;
        r.check_counts(&place, TRIALS_PER_CLASS)?;
        return Ok(Some((SessionData::Recording(r), content, sha256)));
    }
    if let Some(name) = named(files, "npz").first() {
        let bytes = files.read(name)?;
        let (content, sha256) = (fetch::checksum(&bytes), fetch::sha256(&bytes));
        let bundle = read_bundle(&place(files, name), bytes)?;
        return Ok(Some((SessionData::Covariances(bundle), content, sha256)));
    }
    Ok(None)
}

/// BLAKE3 of a GDF recording and of its label file, where there is one.
fn gdf_content(recording: &[u8], labels: Option<&[u8]>) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(recording);
    hasher.update(labels.unwrap_or_default());
    hasher.finalize().to_hex().to_string()
}

fn read_bnci_file(path: &Path, stem: &str) -> Result<Recording> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    let r = read_bnci(stem, &bytes)?.ok_or_else(|| Error::dataset(stem, "the file has no variable `data`"))?;
    r.check_counts(stem, TRIALS_PER_CLASS)?;
    Ok(r)
}

fn from_archive(gdf: &Fetched, labels: &Fetched, stem: &str) -> Result<(SessionData, String)> {
    let mut files = Files::open(&labels.path)?;
    let name = files.find_named(&format!("{stem}.mat")).map(str::to_string);
    let bytes = name.as_ref().map(|n| files.read(n)).transpose()?;
    let truth = match (&name, &bytes) {
        (Some(name), Some(bytes)) => read_labels(name, bytes)?,
        _ => None,
    };
    let mut files = Files::open(&gdf.path)?;
    let name = files.find_named(&format!("{stem}.gdf")).map(str::to_string);
    let name = name.ok_or_else(|| Error::dataset(stem, "the archive has no such GDF file"))?;
    let recording = files.read(&name)?;
    let content = gdf_content(&recording, truth.as_ref().and(bytes.as_deref()));
    let r = read_gdf(&name, Cursor::new(recording), truth.as_deref())?;
    r.check_counts(&name, TRIALS_PER_CLASS)?;
    Ok((SessionData::Recording(r), content))
}

//! Finding a session: the user's folder, the cache, BNCI Horizon, the competition's archive, the simulation.

use std::io::Cursor;

use super::{Recording, Session, SessionData, TRIALS_PER_CLASS, read_bnci, read_bundle, read_gdf, read_labels};
use crate::archive::Files;
use crate::fetch::{self, Fetched, Kind, Options, Provenance, Remote};
use crate::simulate::{CheckedSim, session_gdf};
use crate::{Error, Result};

const NAME: &str = "BCI Competition IV 2a";

/// One session of one subject (1 to 9) from the first source that has it; `sim` says how to simulate it if none has.
///
/// Real recordings must have 288 trials, 72 of each class; bundles of covariances may hold fewer classes.
pub fn load(options: &Options, subject: u8, session: Session, sim: &CheckedSim) -> Result<(SessionData, Provenance)> {
    if !(1..=9).contains(&subject) {
        return Err(Error::param("subject", format!("{subject}; the data set has subjects 1 to 9")));
    }
    let stem = format!("A{subject:02}{session}");
    let dataset = format!("{NAME}, {stem}");
    let mut tried = Vec::new();
    let [bnci, gdf, labels] = [&format!("bnci-{stem}"), "bci-gdf", "bci-labels"].map(|id| options.sources.get(id));
    let (bnci, gdf, labels) = (bnci?, gdf?, labels?);
    let licence = format!("{}; {}", gdf.licence, gdf.attribution);
    let real = |source: String, checksum, trust, tried| {
        let (dataset, licence) = (dataset.clone(), licence.clone());
        Provenance { dataset, kind: Kind::Real, source, checksum, trust, licence, tried }
    };
    if let Some(dir) = &options.data_dir {
        let source = dir.display().to_string();
        match from_files(&mut Files::open(dir)?, &stem)? {
            Some((data, checksum)) => return Ok((data, real(source, checksum, "given by the user".into(), tried))),
            None => tried.push((source, format!("has no {stem}.gdf, {stem}.mat or {stem}.npz"))),
        }
    }
    // Cached files first, whichever of the two places they come from; then the network, smallest download first.
    for network in [false, true] {
        if network && options.offline {
            break;
        }
        match from_bnci(options, bnci, &stem, network) {
            Ok(Some((r, f))) => {
                return Ok((SessionData::Recording(r), real(bnci.address.clone(), f.checksum, f.trust, tried)));
            }
            Ok(None) => {}
            Err(e) => tried.push((bnci.address.clone(), e.reason_for(&bnci.address))),
        }
        match from_archive(options, gdf, labels, &stem, network) {
            Ok(Some((data, f))) => return Ok((data, real(gdf.address.clone(), f.checksum, f.trust, tried))),
            Ok(None) => {}
            Err(e) => tried.push((gdf.address.clone(), e.reason_for(&gdf.address))),
        }
        if !network {
            tried.push((format!("download cache {}", options.cache_dir.display()), format!("has no files of {stem}")));
        }
    }
    if options.offline {
        tried.push((bnci.address.clone(), "not tried, the network is not to be used (--offline)".into()));
        tried.push((gdf.address.clone(), "not tried, the network is not to be used (--offline)".into()));
    }
    options.stand_in(&dataset, &tried)?;
    let (recording, checksum) = simulated(sim, subject, session)?;
    let provenance = Provenance {
        dataset,
        kind: Kind::Simulated,
        source: format!("our generator, seed {}", sim.params().seed),
        checksum,
        trust: "made by this program".into(),
        licence: "none: no data of the competition".into(),
        tried,
    };
    Ok((SessionData::Recording(recording), provenance))
}

/// A simulated session, written as GDF and read back; with the checksum of the GDF file.
pub fn simulated(sim: &CheckedSim, subject: u8, session: Session) -> Result<(Recording, String)> {
    let bytes = session_gdf(sim, subject, session)?;
    let checksum = fetch::checksum(&bytes);
    let name = format!("simulated A{subject:02}{session}.gdf");
    let recording = read_gdf(&name, Cursor::new(bytes), None)?;
    recording.check_counts(&name, sim.params().trials_per_class)?;
    Ok((recording, checksum))
}

/// The session from a folder or archive, with the checksum of what was read.
fn from_files(files: &mut Files, stem: &str) -> Result<Option<(SessionData, String)>> {
    let named = |files: &Files, ext: &str| -> Vec<String> {
        let base = format!("{stem}.{ext}");
        let hit = |n: &&str| n.rsplit('/').next().is_some_and(|b| b.eq_ignore_ascii_case(&base));
        files.names().filter(hit).map(str::to_string).collect()
    };
    let place = |files: &Files, name: &str| format!("{}/{name}", files.root());
    // Label files and BNCI files share their names: the contents tell.
    let mut labels = None;
    for name in named(files, "mat") {
        let bytes = files.read(&name)?;
        let place = place(files, &name);
        if let Some(r) = read_bnci(&place, &bytes)? {
            r.check_counts(&place, TRIALS_PER_CLASS)?;
            return Ok(Some((SessionData::Recording(r), fetch::checksum(&bytes))));
        }
        labels = read_labels(&place, &bytes)?.or(labels);
    }
    if let Some(name) = named(files, "gdf").first() {
        let bytes = files.read(name)?;
        let place = place(files, name);
        let checksum = fetch::checksum(&bytes);
        let r = read_gdf(&place, Cursor::new(bytes), labels.as_deref())?;
        r.check_counts(&place, TRIALS_PER_CLASS)?;
        return Ok(Some((SessionData::Recording(r), checksum)));
    }
    if let Some(name) = named(files, "npz").first() {
        let bytes = files.read(name)?;
        let checksum = fetch::checksum(&bytes);
        let bundle = read_bundle(&place(files, name), bytes)?;
        return Ok(Some((SessionData::Covariances(bundle), checksum)));
    }
    Ok(None)
}

fn from_bnci(options: &Options, remote: &Remote, stem: &str, network: bool) -> Result<Option<(Recording, Fetched)>> {
    let read = |path: &std::path::Path| {
        let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
        let r = read_bnci(stem, &bytes)?.ok_or_else(|| Error::dataset(stem, "the file has no variable `data`"))?;
        r.check_counts(stem, TRIALS_PER_CLASS)?;
        Ok(r)
    };
    let fetched = match network {
        false => fetch::cached(options, remote)?,
        true => Some(fetch::get(options, remote, &|p| read(p).map(|_| ()))?),
    };
    fetched.map(|f| Ok((read(&f.path)?, f))).transpose()
}

fn from_archive(
    options: &Options,
    gdf: &Remote,
    labels: &Remote,
    stem: &str,
    network: bool,
) -> Result<Option<(SessionData, Fetched)>> {
    let (gdf, labels) = match network {
        false => (fetch::cached(options, gdf)?, fetch::cached(options, labels)?),
        true => {
            let readable = |p: &std::path::Path| Files::open(p).map(|_| ());
            // The labels first: they are small, and without them the recordings are of no use.
            let labels = fetch::get(options, labels, &readable)?;
            (Some(fetch::get(options, gdf, &readable)?), Some(labels))
        }
    };
    let (Some(gdf), Some(labels)) = (gdf, labels) else { return Ok(None) };
    let mut label_files = Files::open(&labels.path)?;
    let name = label_files.find_named(&format!("{stem}.mat")).map(str::to_string);
    let truth = match name {
        Some(n) => read_labels(&n, &label_files.read(&n)?)?,
        None => None,
    };
    let mut files = Files::open(&gdf.path)?;
    let name = files.find_named(&format!("{stem}.gdf")).map(str::to_string);
    let name = name.ok_or_else(|| Error::dataset(stem, "the archive has no such GDF file"))?;
    let r = read_gdf(&name, Cursor::new(files.read(&name)?), truth.as_deref())?;
    r.check_counts(&name, TRIALS_PER_CLASS)?;
    Ok(Some((SessionData::Recording(r), gdf)))
}

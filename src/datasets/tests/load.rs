//! Data sets through their ordered sources: folder, zip, cache, embedded, simulated; and refusals.

mod common;

use common::shared;
use datasets::bci::{self, Session, SessionData};
use datasets::fetch::{Kind, Options};
use datasets::mfeat::{self, VIEWS};
use datasets::simulate::{SimParams, session_gdf};

fn offline(dir: &tempfile::TempDir) -> Options {
    let mut o = Options::new(dir.path().join("cache"));
    o.offline = true;
    o
}

#[test]
fn embedded_digits_have_the_right_shape() {
    let dir = tempfile::tempdir().unwrap();
    let (digits, from) = mfeat::load(&offline(&dir)).unwrap();
    for (view, (_, columns)) in digits.views.iter().zip(VIEWS) {
        assert_eq!(view.dim(), (200, columns));
    }
    assert!(digits.labels.iter().enumerate().all(|(i, l)| usize::from(*l) == i / 20));
    assert_eq!(from.kind, Kind::Embedded);
    assert!(from.licence.contains("CC BY 4.0") && from.caption().contains("embedded sample"));
    assert_eq!(from.tried.len(), 1);
    assert!(from.tried[0].1.contains("--offline"));
}

#[test]
fn require_real_lists_what_was_tried() {
    let dir = tempfile::tempdir().unwrap();
    let mut o = offline(&dir);
    o.require_real = true;
    o.data_dir = Some(dir.path().to_path_buf());
    let error = mfeat::load(&o).unwrap_err().to_string();
    assert!(error.contains("has no files `mfeat-*`") && error.contains("archive.ics.uci.edu"), "{error}");
    let sim = SimParams::default().check().unwrap();
    let error = bci::load(&o, 1, Session::T, &sim).unwrap_err().to_string();
    for part in ["A01T.gdf", "download cache", "bnci-horizon-2020.eu", "bbci.de", "--offline", "--data-dir"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn original_files_give_2000_rows_close_to_the_sample() {
    let Some(zip) = shared("mfeat.zip") else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut o = offline(&dir);
    o.data_dir = Some(zip);
    let (all, from) = mfeat::load(&o).unwrap();
    assert_eq!((from.kind, all.labels.len()), (Kind::Real, 2000));
    let paper = all.first_per_class(20).unwrap();
    let sample = mfeat::embedded().unwrap();
    assert_eq!(paper.labels, sample.labels);
    for (a, b) in paper.views.iter().zip(&sample.views) {
        for (x, y) in a.iter().zip(b) {
            // Five significant digits.
            assert!((x - y).abs() <= 1e-4 * x.abs() + 1e-5, "{x} {y}");
        }
    }
    assert!(all.first_per_class(201).is_err() && all.first_per_class(0).is_err());
}

#[test]
fn a_damaged_copy_of_the_user_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    for (view, columns) in VIEWS {
        let row = vec!["1"; columns].join(" ");
        let mut rows = vec![row; 200];
        if view == "zer" {
            rows[41] = rows[41].replacen('1', "oops", 1);
        }
        std::fs::write(dir.path().join(format!("mfeat-{view}")), rows.join("\n")).unwrap();
    }
    let mut o = offline(&dir);
    o.data_dir = Some(dir.path().to_path_buf());
    let error = mfeat::load(&o).unwrap_err().to_string();
    assert!(error.ends_with("mfeat-zer, line 42, column 1: `oops` is not a number"), "{error}");
}

#[test]
fn tables_of_the_wrong_size_are_named() {
    let text = |t: String| mfeat::parse_view("v", t.as_bytes(), 3).unwrap_err().to_string();
    assert!(text("1,2,3\n".repeat(150)).contains("ends after 150 rows"));
    assert!(text("1 2 3\n".repeat(2001)).contains("line 2001, column 1: more than 2000 rows"));
    assert!(text("1 2\n".repeat(200)).contains("line 1, column 3: the row ends after 2 of 3"));
    assert!(text("1,2,3,4\n".repeat(200)).contains("line 1, column 4: more than 3"));
    assert!(text("1,,3\n".repeat(200)).contains("column 2: `` is not a number"));
    assert!(text("1 nan 3\n".repeat(200)).contains("not finite"));
    assert!(mfeat::parse_view("v", "1,2,3\n".repeat(200).as_bytes(), 3).is_ok());
    assert!(mfeat::parse_view("v", b"\xff\xfe", 3).unwrap_err().to_string().contains("not text"));
}

#[test]
fn covariance_bundles() {
    let Some(folder) = shared("bci") else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut o = offline(&dir);
    o.data_dir = Some(folder);
    let sim = SimParams::default().check().unwrap();
    for subject in [1, 3, 7, 8, 9] {
        for session in [Session::T, Session::E] {
            let (data, from) = bci::load(&o, subject, session, &sim).unwrap();
            let SessionData::Covariances(b) = data else { panic!("not a bundle") };
            assert_eq!((b.covariances.dim(), from.kind), ((144, 22, 22), Kind::Real));
            assert_eq!(b.labels.iter().filter(|l| **l == 1).count(), 72);
        }
    }
    // A subject that is not there is simulated, and says why.
    o.require_real = true;
    assert!(bci::load(&o, 2, Session::T, &sim).is_err());
    assert!(bci::load(&o, 10, Session::T, &sim).is_err());
}

#[test]
fn gdf_files_of_the_user_and_trial_counts() {
    let dir = tempfile::tempdir().unwrap();
    let few = SimParams { trials_per_class: 3, ..SimParams::default() }.check().unwrap();
    std::fs::write(dir.path().join("A05T.gdf"), session_gdf(&few, 5, Session::T).unwrap()).unwrap();
    let mut o = offline(&dir);
    o.data_dir = Some(dir.path().to_path_buf());
    let error = bci::load(&o, 5, Session::T, &few).unwrap_err().to_string();
    assert!(error.contains("they should be 72 each"), "{error}");
    let full = SimParams { trial_seconds: 6.5, rate: 100, ..SimParams::default() }.check().unwrap();
    std::fs::write(dir.path().join("A05T.gdf"), session_gdf(&full, 5, Session::T).unwrap()).unwrap();
    let (data, from) = bci::load(&o, 5, Session::T, &full).unwrap();
    let SessionData::Recording(r) = data else { panic!("not a recording") };
    assert_eq!((from.kind, r.trials.len()), (Kind::Real, 288));
    let (_, from) = bci::load(&o, 5, Session::E, &few).unwrap();
    assert_eq!(from.kind, Kind::Simulated);
    assert!(from.caption().starts_with("SIMULATED"));
}

#[test]
fn the_content_tells_what_would_be_used() {
    let (dir, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut o = offline(&cache);
    assert_eq!(mfeat::content(&o).unwrap(), None);
    o.data_dir = Some(dir.path().to_path_buf());
    assert_eq!(mfeat::content(&o).unwrap(), None, "a folder without these files");
    for (view, columns) in VIEWS {
        std::fs::write(dir.path().join(format!("mfeat-{view}")), (vec!["1"; columns].join(" ") + "\n").repeat(200))
            .unwrap();
    }
    let found = mfeat::content(&o).unwrap();
    let (_, from) = mfeat::load(&o).unwrap();
    assert_eq!((found.as_ref(), from.kind), (Some(&from.checksum), Kind::Real));
    assert!(!from.source.contains(&*dir.path().to_string_lossy()), "where the files lie is not part of the result");
    // The same files elsewhere, packed: the same content and the same record.
    let packed = tempfile::tempdir().unwrap();
    let mut zip = zip::ZipWriter::new(std::fs::File::create(packed.path().join("any.zip")).unwrap());
    for (view, _) in VIEWS {
        zip.start_file(
            format!("mfeat-{view}"),
            zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored),
        )
        .unwrap();
        let bytes = std::fs::read(dir.path().join(format!("mfeat-{view}"))).unwrap();
        std::io::Write::write_all(&mut zip, &bytes).unwrap();
    }
    zip.finish().unwrap();
    o.data_dir = Some(packed.path().to_path_buf());
    assert_eq!(mfeat::content(&o).unwrap(), found);
    assert_eq!(mfeat::load(&o).unwrap().1.source, from.source);
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut o = offline(&dir);
    o.data_dir = Some(dir.path().join("mistyped"));
    let said = mfeat::load(&o).unwrap_err().to_string();
    assert!(said.contains("mistyped: no such folder or zip file"), "{said}");
}

/// A pipe among the data is not opened: opening it would wait for a writer for ever.
#[cfg(unix)]
#[test]
fn a_pipe_in_the_folder_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("mfeat-fou");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut o = offline(&dir);
    o.data_dir = Some(dir.path().to_path_buf());
    assert_eq!(mfeat::load(&o).unwrap().1.kind, Kind::Embedded);
    o.data_dir = Some(pipe);
    assert!(mfeat::load(&o).unwrap_err().to_string().contains("neither a folder nor a file"));
}

/// A damaged file of the download cache must not silently become simulated data.
#[test]
fn a_damaged_download_is_an_error_and_not_a_reason_to_simulate() {
    let dir = tempfile::tempdir().unwrap();
    let o = offline(&dir);
    let cache = o.cache_dir.clone().unwrap();
    std::fs::create_dir_all(&cache).unwrap();
    std::fs::write(cache.join("BNCI_001-2014_A01T.mat"), b"damaged").unwrap();
    let sim = SimParams::default().check().unwrap();
    let said = bci::load(&o, 1, Session::T, &sim).unwrap_err().to_string();
    assert!(said.contains("BNCI_001-2014_A01T.mat") && said.contains("054f02e7") && said.contains("damaged"), "{said}");
    assert!(bci::content(&o, 1, Session::T).is_err());
}

//! Files as people have them: recordings with their habits, tables as pandas writes them, words as labels, MATLAB arrays, pipes. Each was
//! once misread without a word, or refused without need.

mod common;
use common::{Finished, Project, SMALL};
use datasets::gdf::{Event, GdfWriter};
use ndarray::{Array1, Array2, Array3, array};
use ndarray_npy::{read_npy, write_npy};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn folder() -> Project {
    Project::new(SMALL)
}

/// A file of the shared folder beside the project, or nothing and a printed line.
fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/formats").join(name);
    if !path.is_file() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

fn json_of(said: &str) -> Value {
    serde_json::from_str(said).unwrap_or_else(|e| panic!("{e}: {said}"))
}

/// One sentence on stderr, exit code 2, nothing on stdout.
#[track_caller]
fn refused(p: &Project, line: &str, parts: &[&str]) {
    let Finished { code, out, err } = p.repro(line);
    assert_eq!((code, out.as_str(), err.trim_end().lines().count()), (2, "", 1), "repro {line}\n{out}{err}");
    for part in parts {
        assert!(err.contains(part), "repro {line}: `{part}` is not in: {err}");
    }
}

/// A recording of noise with these channels and events, 100 samples per second.
fn recording(p: &Project, name: &str, channels: &[&str], samples: usize, events: &[(u64, u16)]) {
    let noise = |c: usize, t: usize| ((t * (7 + 3 * c) + c) as f64 * 0.618).sin() * 20.0 + ((t * t) as f64 * 0.1).cos();
    let signal = Array2::from_shape_fn((channels.len(), samples), |(c, t)| noise(c, t));
    let events: Vec<Event> =
        events.iter().map(|&(position, code)| Event { position, code, channel: 0, duration: 0 }).collect();
    let mut bytes = Vec::new();
    GdfWriter::new(100, 400.0).write(&mut bytes, channels, signal.view(), &events).unwrap();
    std::fs::write(p.path().join(name), bytes).unwrap();
}

const CUT: &str = "--start 0 --end 1 --order 30 --low 8 --high 30 --estimator oas";

/// mne's classes of the 32 trials. The cue comes half a second before the start: each label used to be that of the next trial.
#[test]
fn labels_are_right_when_the_cue_precedes_the_start() {
    let Some(gdf) = shared("ssvep_exoskeleton_s01.gdf") else { return };
    let p = folder();
    let line = format!(
        "covariances --gdf {} --event 32779 --cues 33024,33025,33026,33027 --start 0 --end 2 -o c.npz --json",
        gdf.display()
    );
    let found = json_of(&p.ok(&line));
    let mut truth = vec![1; 8];
    truth.extend([3, 4, 2, 3, 2, 4, 2, 3, 4, 3, 4, 2, 4, 2, 3, 4, 2, 3, 2, 4, 3, 4, 3, 2]);
    assert_eq!(found["labels"], json!(truth));
    assert_eq!(found[gdf.display().to_string().as_str()]["cue_first"], true);
}

#[test]
fn channels_of_different_rates_are_refused_by_their_name_and_can_be_chosen() {
    let Some(gdf) = shared("libgdf_multirate.gdf") else { return };
    let p = folder();
    let line = format!("covariances --gdf {} --event 1,2,3 --start 0 --end 1 --order 20 -o c.npz", gdf.display());
    refused(&p, &line, &["different rates", "1000 Hz: chan 1", "100 Hz: chan 2, chan 4", "--channels"]);
    // Positions count at 1000 Hz, the two channels at 100 Hz.
    let found = json_of(
        &p.command(&line).args(["--channels", "chan 2,chan 4", "--json"]).output().map(Finished::from).unwrap().out,
    );
    assert_eq!(found["covariances"], json!([3, 2, 2]));
    let said = Finished::from(p.command(&line).args(["--channels", "Cz"]).output().unwrap());
    assert!(said.code == 2 && said.err.contains("has no channel `Cz`; it has chan 1"), "{}", said.err);
}

#[test]
fn a_trial_cut_by_the_end_of_the_recording_is_left_out_with_a_line() {
    let p = folder();
    recording(&p, "a.gdf", &["C3", "C4"], 500, &[(0, 768), (10, 769), (200, 768), (210, 770), (450, 768), (455, 769)]);
    let found = p.ok(&format!("covariances --gdf a.gdf {CUT} -o c.npz"));
    assert!(found.contains("2 trials, 0 rejected, 1 cut short by the end of the recording and left out"), "{found}");
    recording(&p, "b.gdf", &["C3", "C4"], 500, &[(450, 768), (455, 769)]);
    refused(
        &p,
        &format!("covariances --gdf b.gdf {CUT} -o c.npz"),
        &["b.gdf: of 1 trial none is usable", "1 cut short"],
    );
}

#[test]
fn several_codes_start_trials_and_cues_can() {
    let p = folder();
    recording(&p, "a.gdf", &["C3", "C4"], 900, &[(0, 800), (10, 769), (200, 768), (210, 770), (450, 768), (455, 769)]);
    let labels =
        |line: &str| json_of(&p.ok(&format!("covariances --gdf a.gdf {CUT} {line} -o c.npz --json")))["labels"].clone();
    assert_eq!(labels("--event 768,800"), json!([1, 2, 1]));
    assert_eq!(labels("--event 768"), json!([2, 1]));
    assert_eq!(labels("--cue-is-start"), json!([1, 2, 1]));
    let Some(gdf) = shared("biosig_t310_sample.gdf") else { return };
    let line = format!("covariances --gdf {} --cue-is-start --start 0.5 --end 2.5 -o c.npz --json", gdf.display());
    let found = json_of(&p.ok(&line));
    let count = |c: i64| found["labels"].as_array().unwrap().iter().filter(|l| **l == json!(c)).count();
    assert_eq!((count(1), count(2)), (20, 20));
}

#[test]
fn a_missing_event_lists_those_that_are_there() {
    let p = folder();
    recording(&p, "a.gdf", &["C3", "C4"], 500, &[(0, 781), (10, 769), (200, 781)]);
    let line = format!("covariances --gdf a.gdf {CUT} -o c.npz");
    refused(&p, &line, &["a.gdf has no event 768", "769 (1), 781 (2)", "--event"]);
    recording(&p, "b.gdf", &["C3", "C4"], 500, &[]);
    refused(&p, &line.replace("a.gdf", "b.gdf"), &["it has no events"]);
}

#[test]
fn eog_channels_and_clipped_samples_are_told() {
    let p = folder();
    let mut signal = Array2::from_shape_fn((3, 500), |(c, t)| ((t * (7 + c)) as f64 * 0.618).sin() * 20.0);
    signal[(0, 30)] = 1e6;
    let events = [(0, 768), (200, 768)].map(|(position, code)| Event { position, code, channel: 0, duration: 0 });
    let mut bytes = Vec::new();
    GdfWriter::new(100, 400.0).write(&mut bytes, &["C3", "C4", "EOG-left"], signal.view(), &events).unwrap();
    std::fs::write(p.path().join("a.gdf"), bytes).unwrap();
    let said = p.repro(&format!("covariances --gdf a.gdf {CUT} -o c.npz"));
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("EOG channels EOG-left"), "{}", said.out);
    assert!(
        said.err.contains("1 sample of the channels used are clipped or lost and count as 0; they touch 1 of 2 trials"),
        "{}",
        said.err
    );
    assert!(said.err.contains("2 trials without a cue, labelled 0"), "{}", said.err);
}

#[test]
fn inspect_shows_what_files_hold() {
    let p = folder();
    recording(&p, "a.gdf", &["C3", "EOG-left"], 500, &[(0, 768), (10, 769), (200, 768)]);
    let page = p.ok("inspect a.gdf");
    for part in ["GDF 2.20", "5.0 s", "C3, EOG-left", "100 Hz", "event 768", "start of a trial"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(json_of(&p.ok("inspect a.gdf --json"))["event_768"], 2);
    write_npy(p.path().join("x.npy"), &Array3::<f32>::from_elem((4, 2, 2), 1.5)).unwrap();
    let page = p.ok("inspect x.npy");
    assert!(page.contains("4 x 2 x 2") && page.contains("float32") && page.contains("1.50 to 1.50"), "{page}");
    p.ok(&format!("covariances --gdf a.gdf {CUT} -o c.npz"));
    let page = p.ok("inspect c.npz");
    assert!(page.contains("covariances  2 x 1 x 1, float64") && page.contains("labels       2, int64"), "{page}");
    std::fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/datasets/tests/data/scipy_plain.mat"),
        p.path().join("m.mat"),
    )
    .unwrap();
    let page = p.ok("inspect m.mat");
    assert!(page.contains("3 x 2, numbers") && page.contains("struct with the fields"), "{page}");
    refused(&p, "inspect nothing.npz", &["nothing.npz cannot be read"]);
    if let Some(gdf) = shared("libgdf_multirate.gdf") {
        let page = p.ok(&format!("inspect {}", gdf.display()));
        assert!(page.contains("1000 Hz") && page.contains("no regular samples"), "{page}");
    }
}

#[test]
fn formats_that_are_not_read_name_their_conversion() {
    let p = folder();
    for name in ["S1.set", "S1.fdt", "S1.edf"] {
        std::fs::write(p.path().join(name), b"anything").unwrap();
        refused(&p, &format!("covariances --gdf {name} -o c.npz"), &[name, "mne"]);
        refused(&p, &format!("covariances --signals {name} -o c.npz"), &[name, "mne"]);
        refused(&p, &format!("inspect {name}"), &[name, "mne"]);
    }
    let mut hdf5 = vec![b' '; 1024];
    hdf5[..19].copy_from_slice(b"MATLAB 7.3 MAT-file");
    hdf5[512..520].copy_from_slice(b"\x89HDF\r\n\x1a\n");
    std::fs::write(p.path().join("new.mat"), hdf5).unwrap();
    refused(&p, "covariances --signals new.mat:E -o c.npz", &["new.mat", "v7.3", "-v7"]);
}

/// Sixteen 2 x 2 matrices of two classes that lie far apart.
fn classes(p: &Project) -> Array3<f64> {
    let x = Array3::from_shape_fn((16, 2, 2), |(i, a, b)| {
        let size = if i % 2 == 0 { 1.0 } else { 9.0 } + 0.01 * i as f64;
        if a == b { size } else { 0.1 }
    });
    write_npy(p.path().join("x.npy"), &x).unwrap();
    x
}

#[test]
fn words_are_labels_and_come_back_as_words() {
    let p = folder();
    classes(&p);
    let text: String = (0..16).map(|i| if i % 2 == 0 { "small\n" } else { "large\n" }).collect();
    std::fs::write(p.path().join("y.csv"), format!("label\n{text}")).unwrap();
    let line = "mdm --train x.npy --labels y.csv --test x.npy --test-labels y.csv";
    assert!(p.ok(line).contains("100"), "{}", p.ok(line));
    p.ok("mdm --train x.npy --labels y.csv --test x.npy -o words.npy");
    // What was written is read again as labels, and shown as words.
    assert!(p.ok("mdm --train x.npy --labels words.npy --test x.npy --test-labels y.csv").contains("100"));
    assert!(p.ok("inspect words.npy").contains("2 different: large, small"));
}

#[test]
fn tables_as_pandas_writes_them() {
    let p = folder();
    let features = [[0.5, 1.5], [2.5, 0.1], [0.3, 0.4]];
    let body = |index: bool| -> String {
        let row = |(i, r): (usize, &[f64; 2])| {
            format!("{}{},{}\n", if index { format!("{i},") } else { String::new() }, r[0], r[1])
        };
        features.iter().enumerate().map(row).collect()
    };
    std::fs::write(p.path().join("plain.csv"), body(false)).unwrap();
    p.ok("kernel rbf --features plain.csv -o plain.npy");
    let plain: Array2<f64> = read_npy(p.path().join("plain.npy")).unwrap();
    for (name, text) in [("default", format!(",0,1\n{}", body(true))), ("named", format!("a,b\n{}", body(false)))] {
        std::fs::write(p.path().join("f.csv"), text).unwrap();
        let said = p.repro("kernel rbf --features f.csv -o k.npy");
        assert!(said.code == 0 && said.err.contains("note: f.csv: the first line"), "{name}: {}", said.err);
        assert_eq!(read_npy::<_, Array2<f64>>(p.path().join("k.npy")).unwrap(), plain, "{name}");
    }
}

#[test]
fn arrays_of_matlab_files() {
    let p = folder();
    std::fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/datasets/tests/data/scipy_plain.mat"),
        p.path().join("m.mat"),
    )
    .unwrap();
    p.ok("kernel rbf --features m.mat:a_float64 -o k.npy");
    write_npy(p.path().join("f.npy"), &array![[1.0, 2.0], [-3.0, 100.0], [5.0, 6.0]]).unwrap();
    p.ok("kernel rbf --features f.npy -o same.npy");
    let bytes = |name: &str| std::fs::read(p.path().join(name)).unwrap();
    assert_eq!(bytes("k.npy"), bytes("same.npy"));
    refused(&p, "kernel rbf --features m.mat -o k.npy", &["holds several arrays", "a_float64", "m.mat:NAME"]);
    refused(&p, "kernel rbf --features m.mat:nothing -o k.npy", &["has no array `nothing`", "a_float64"]);
}

#[test]
fn an_output_never_replaces_an_input() {
    let p = folder();
    let x = classes(&p);
    write_npy(p.path().join("y.npy"), &x).unwrap();
    p.ok("fit --x x.npy --y y.npy --rank 1 --folds 0 -o model.npz");
    let before = std::fs::read(p.path().join("x.npy")).unwrap();
    let said = ["is an input of this command and would be overwritten"];
    refused(&p, "predict --model model.npz --x x.npy -o x.npy", &said);
    refused(&p, "predict --model model.npz --x ./x.npy -o x.npy", &said);
    refused(&p, "fit --x model.npz:layer0 --y y.npy -o model.npz", &said);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("x.npy", p.path().join("link.npy")).unwrap();
        refused(&p, "predict --model model.npz --x x.npy -o link.npy", &said);
    }
    assert_eq!(std::fs::read(p.path().join("x.npy")).unwrap(), before);
    refused(&p, "adapt --source x.npy --target y.npy --new x.npy -o z.npz --model z.npz", &["would be written twice"]);
    assert!(!p.path().join("z.npz").exists());
}

/// In Fortran order with an empty first axis the reader walked over all positions of the other axis.
#[test]
fn a_tiny_file_with_an_empty_axis_is_refused_at_once() {
    let p = folder();
    classes(&p);
    let header = format!("{:<117}\n", "{'descr': '<f8', 'fortran_order': True, 'shape': (0, 999999999999), }");
    std::fs::write(p.path().join("y.npy"), [b"\x93NUMPY\x01\x00\x76\x00".as_slice(), header.as_bytes()].concat())
        .unwrap();
    refused(&p, "mdm --train x.npy --labels y.npy --test x.npy -o p.npy", &["y.npy", "one number per sample"]);
}

/// A pipe has no length: it was said to be cut short by nearly 2^64 bytes.
#[cfg(unix)]
#[test]
fn an_array_may_come_through_a_pipe() {
    let p = folder();
    classes(&p);
    write_npy(p.path().join("y.npy"), &Array1::from_iter((0..16).map(|i| i % 2))).unwrap();
    let mut child = p.command("mdm --train /dev/stdin --labels y.npy --test x.npy -o p.npy");
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let bytes = std::fs::read(p.path().join("x.npy")).unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &bytes).unwrap();
    let said = Finished::from(child.wait_with_output().unwrap());
    assert_eq!(said.code, 0, "{}", said.err);
    let found: Array1<i64> = read_npy(p.path().join("p.npy")).unwrap();
    assert!(found.len() == 16 && found.iter().enumerate().all(|(i, class)| *class == i as i64 % 2), "{found}");
}

//! Models on disk: the same model, the same bytes, numpy's format, and no trust in what is read.

use kraus::{Architecture, DiskError, Fit, Gamma, History, Stack, Stop, load, save};
use std::path::PathBuf;

fn fit(gamma: Gamma) -> Fit<f64> {
    let model = Stack::glorot(&Architecture::deep(&[4, 3, 2], 2, gamma), 1).unwrap();
    let mut history = History::of("adam");
    history.loss = vec![1.5, 0.1 + 0.2];
    history.notes = vec!["a \"quoted\" note, naïve Φ".into()];
    history.model_epoch = 2;
    history.stop = Stop::Patience;
    Fit { model, history, last: None }
}

/// A path of its own for each test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("kraus-disk-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
    fn file(&self) -> PathBuf {
        self.0.join("model.npz")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn comes_back_to_the_bit_and_bytes_repeat() {
    let scratch = Scratch::new("roundtrip");
    for gamma in [Gamma::None, Gamma::Clamp(1e-4)] {
        let fit = fit(gamma);
        save(scratch.file(), &fit).unwrap();
        let first = std::fs::read(scratch.file()).unwrap();
        assert_eq!(load::<f64>(scratch.file()).unwrap(), fit);
        save(scratch.file(), &fit).unwrap();
        assert_eq!(first, std::fs::read(scratch.file()).unwrap());
    }
    // Nothing but the model is left in the folder.
    assert_eq!(std::fs::read_dir(&scratch.0).unwrap().count(), 1);
}

#[test]
fn single_precision_and_conversion() {
    let scratch = Scratch::new("single");
    let layers = fit(Gamma::None).model.into_layers();
    let layers = layers.into_iter().map(|l| kraus::KrausMap::new(l.into_ops().mapv(|v| v as f32)).unwrap()).collect();
    let small = Fit { model: Stack::new(layers, Gamma::None).unwrap(), history: History::of("lbfgs"), last: None };
    save(scratch.file(), &small).unwrap();
    assert_eq!(load::<f32>(scratch.file()).unwrap(), small);
    let wide = load::<f64>(scratch.file()).unwrap();
    assert_eq!(wide.model.layers()[0].ops()[[0, 0, 0]], f64::from(small.model.layers()[0].ops()[[0, 0, 0]]));
}

#[test]
fn members_are_npy_as_numpy_writes_them() {
    let scratch = Scratch::new("header");
    let fit = fit(Gamma::Clamp(0.1));
    save(scratch.file(), &fit).unwrap();
    let mut zip = zip::ZipArchive::new(std::fs::File::open(scratch.file()).unwrap()).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut zip.by_name("layer0.npy").unwrap(), &mut bytes).unwrap();
    let header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3, 4), }";
    assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00v\x00"); // 118 bytes of header: data start at 128
    assert_eq!(&bytes[10..10 + header.len()], header);
    assert!(bytes[10 + header.len()..127].iter().all(|b| *b == b' '));
    assert_eq!(bytes[127], b'\n');
    assert_eq!(bytes.len(), 128 + 24 * 8);
    assert_eq!(bytes[128..136], fit.model.layers()[0].ops()[[0, 0, 0]].to_le_bytes());
}

#[test]
fn truncated_and_tampered_files_are_refused() {
    let scratch = Scratch::new("hostile");
    save(scratch.file(), &fit(Gamma::None)).unwrap();
    let good = std::fs::read(scratch.file()).unwrap();
    for cut in [0, 1, 30, 200, good.len() / 2, good.len() - 1] {
        std::fs::write(scratch.file(), &good[..cut]).unwrap();
        assert!(matches!(load::<f64>(scratch.file()), Err(DiskError::Corrupt { .. })), "cut at {cut}");
    }
    // Every single flipped byte either leaves the model as it was or is an error; none panics or allocates wildly.
    let original = fit(Gamma::None);
    for at in (0..good.len()).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 0x41;
        std::fs::write(scratch.file(), &bad).unwrap();
        if let Ok(read) = load::<f64>(scratch.file()) {
            assert_eq!(read, original, "byte {at}");
        }
    }
    std::fs::write(scratch.file(), b"PK\x05\x06 not a zip").unwrap();
    assert!(load::<f64>(scratch.file()).is_err());
    let missing = load::<f64>(scratch.0.join("absent.npz")).unwrap_err();
    assert!(matches!(missing, DiskError::Io { .. }), "{missing}");
}

#[test]
fn a_shape_larger_than_the_file_is_refused_before_allocation() {
    let scratch = Scratch::new("bomb");
    let mut header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000, 1000000), }".to_vec();
    header.resize(117, b' ');
    header.push(b'\n');
    let mut bytes = b"\x93NUMPY\x01\x00v\x00".to_vec();
    bytes.extend(header);
    let mut zip = zip::ZipWriter::new(std::fs::File::create(scratch.file()).unwrap());
    zip.start_file("metadata.npy", zip::write::SimpleFileOptions::default()).unwrap();
    std::io::Write::write_all(&mut zip, &bytes).unwrap();
    zip.finish().unwrap();
    let e = load::<f64>(scratch.file()).unwrap_err().to_string();
    assert!(e.contains("0 bytes are there"), "{e}");
}

#[test]
fn an_unwritable_target_leaves_nothing() {
    let scratch = Scratch::new("unwritable");
    let e = save(scratch.0.join("no/such/folder/model.npz"), &fit(Gamma::None)).unwrap_err();
    assert!(matches!(e, DiskError::Io { .. }));
    // A folder in the way of the rename.
    std::fs::create_dir(scratch.file()).unwrap();
    assert!(save(scratch.file(), &fit(Gamma::None)).is_err());
    assert_eq!(std::fs::read_dir(&scratch.0).unwrap().count(), 1);
}

/// Reads a model with numpy, where there is one: `PYTHON` or `python3`.
#[test]
fn numpy_reads_it() {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let run = |args: &[&str]| std::process::Command::new(&python).args(args).output();
    if !run(&["-c", "import numpy"]).is_ok_and(|o| o.status.success()) {
        println!("skipped: {python} has no numpy");
        return;
    }
    let scratch = Scratch::new("numpy");
    let fit = fit(Gamma::Clamp(0.25));
    save(scratch.file(), &fit).unwrap();
    let script = "import sys, json, numpy as np; f = np.load(sys.argv[1]); m = json.loads(str(f['metadata'])); \
                  print(f['layer0'].shape, f['layer1'].dtype, float(f['gamma']), repr(float(f['layer1'][1, 1, 2])), \
                  m['dims'], m['solver'], m['loss'], m['notes'][0].encode('unicode_escape').decode())";
    let out = run(&["-c", script, scratch.file().to_str().unwrap()]).unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let value = fit.model.layers()[1].ops()[[1, 1, 2]];
    let expected = format!(
        "(2, 3, 4) float64 0.25 {value} [4, 3, 2] adam [1.5, 0.30000000000000004] a \"quoted\" note, na\\xefve \\u03a6"
    );
    assert_eq!(text.trim(), expected, "{}", String::from_utf8_lossy(&out.stderr));
}

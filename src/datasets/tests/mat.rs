//! MATLAB v5: files written by scipy 1.17.1 (tests/data), a big-endian one, the genuine label files, the BNCI layout.

use std::path::PathBuf;

use datasets::bci::{read_bnci, read_labels};
use datasets::mat::{Value, read};

fn data(name: &str) -> Vec<u8> {
    std::fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

fn get<'a>(vars: &'a [(String, Value)], name: &str) -> &'a Value {
    &vars.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name}")).1
}

#[test]
fn scipy_files_compressed_and_not() {
    let plain = read("plain", &data("scipy_plain.mat")).unwrap();
    assert_eq!(plain, read("packed", &data("scipy_packed.mat")).unwrap());
    for class in ["int8", "int16", "int32", "int64", "float32", "float64"] {
        let n = get(&plain, &format!("a_{class}")).numeric().unwrap();
        assert_eq!((n.shape.as_slice(), n.data.as_slice()), (&[3, 2][..], &[1.0, -3.0, 5.0, 2.0, 100.0, 6.0][..]));
    }
    for class in ["uint8", "uint16", "uint32", "uint64"] {
        let n = get(&plain, &format!("a_{class}")).numeric().unwrap();
        assert_eq!(n.data, [1.0, 3.0, 5.0, 2.0, 100.0, 6.0]);
    }
    let z = get(&plain, "z").numeric().unwrap();
    assert_eq!((z.data.as_slice(), z.imaginary.as_deref()), (&[1.0, 3.0][..], Some(&[2.0, -4.0][..])));
    assert_eq!(get(&plain, "b").numeric().unwrap().data, [1.0, 0.0]);
    assert_eq!(get(&plain, "text").text(), Some("Kraus map"));
    let cells = get(&plain, "cell").cells().unwrap();
    assert_eq!(cells[0].numeric().unwrap().data, [1.5, 2.5]);
    assert_eq!(cells[1].text(), Some("in cell"));
    assert!(cells[2].numeric().unwrap().data.is_empty());
    let s = get(&plain, "s");
    assert_eq!(s.field("fs").unwrap().scalar(), Some(250.0));
    assert_eq!(s.field("name").unwrap().text(), Some("run"));
    let x = s.field("inner").unwrap().field("x").unwrap().numeric().unwrap();
    assert_eq!((x.shape.as_slice(), x.data.as_slice()), (&[2, 3][..], &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0][..]));
    assert_eq!(get(&plain, "empty").numeric().unwrap().shape, [0, 3]);
    assert!(s.field("none").is_none() && s.scalar().is_none() && s.text().is_none() && s.cells().is_none());
}

#[test]
fn big_endian() {
    let vars = read("big", &data("big_endian.mat")).unwrap();
    assert_eq!(get(&vars, "x").numeric().unwrap().data, [1.25, -2.0]);
    assert_eq!(get(&vars, "y").scalar(), Some(7.0));
}

#[test]
fn the_genuine_label_files() {
    for name in ["A01T.mat", "A01E.mat"] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/formats").join(name);
        let Ok(bytes) = std::fs::read(path) else {
            println!("skipped: the shared data folder has no formats/{name}");
            continue;
        };
        let labels = read_labels(name, &bytes).unwrap().unwrap();
        assert_eq!(labels.len(), 288);
        for class in 1..=4 {
            assert_eq!(labels.iter().filter(|l| **l == class).count(), 72);
        }
        assert!(read_bnci(name, &bytes).unwrap().is_none());
    }
}

#[test]
fn bnci_layout() {
    let r = read_bnci("A01T.mat", &data("scipy_bnci.mat")).unwrap().unwrap();
    assert_eq!((r.rate, r.signal.dim()), (250.0, (22, 3 * 140)));
    assert_eq!(r.trials.len(), 4);
    // Runs of 40 samples with 100 lost ones after each; positions count from 1.
    let starts: Vec<usize> = r.trials.iter().map(|t| t.start).collect();
    assert_eq!(starts, [140, 160, 280, 300]);
    assert_eq!(r.trials.iter().map(|t| t.label).collect::<Vec<_>>(), [1, 3, 2, 4]);
    assert_eq!(r.trials.iter().map(|t| t.rejected).collect::<Vec<_>>(), [false, true, false, true]);
    // numpy: runs[1]['X'][0, :3] and runs[2]['X'][20, 21].
    assert_eq!([r.signal[(0, 140)], r.signal[(1, 140)], r.signal[(2, 140)]], [1.18, 0.3, 0.19]);
    assert_eq!(r.signal[(21, 300)], 0.26);
    assert!(r.signal[(0, 40)].is_nan());
    let error = r.check_counts("A01T", 72).unwrap_err().to_string();
    assert!(error.contains("[1, 1, 1, 1]"), "{error}");
    assert!(read_labels("A01T.mat", &data("scipy_bnci.mat")).unwrap().is_none());
}

#[test]
fn damage_is_named() {
    let good = data("scipy_plain.mat");
    let text = |f: &[u8]| read("x.mat", f).unwrap_err().to_string();
    assert!(text(&good[..60]).contains("128 bytes"));
    assert!(text(&good[..400]).contains("left"));
    let mut f = good.clone();
    f[126] = 0;
    assert!(text(&f).contains("byte-order"));
    let packed = data("scipy_packed.mat");
    let mut f = packed.clone();
    f[150] ^= 0xff;
    assert!(text(&f).contains("unpack"), "{}", text(&f));
}

#[test]
fn a_bomb_is_refused() {
    use std::io::Write;
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(&vec![0u8; 20 << 20]).unwrap();
    let packed = zlib.finish().unwrap();
    let mut f = data("scipy_packed.mat")[..128].to_vec();
    f.extend(15u32.to_le_bytes());
    f.extend((packed.len() as u32).to_le_bytes());
    f.extend(packed);
    let error = read("bomb.mat", &f).unwrap_err().to_string();
    assert!(error.contains("unpacks to more than"), "{error}");
}

#[test]
fn newer_files_name_the_conversion() {
    let mut hdf5 = vec![b' '; 1024];
    hdf5[512..520].copy_from_slice(b"\x89HDF\r\n\x1a\n");
    let said = read("new.mat", &hdf5).unwrap_err().to_string();
    assert!(
        said.contains("new.mat") && said.contains("v7.3") && said.contains("-v7") && !said.contains("damaged"),
        "{said}"
    );
}

//! `.npz` in and out: the same arrays, the same bytes, and no trust in what is read.

use ndarray::{ArrayD, arr0, array};
use npy::{Array, Dtype, Member, NpzReader, NpzWriter};
use std::io::{Cursor, Write};

fn written() -> Vec<u8> {
    let values = array![[1.0, 2.5], [-3.0, 0.1]].into_dyn();
    let mut npz = NpzWriter::new(Cursor::new(Vec::new()));
    npz.add("double", &Member::Floats { array: values.view(), single: false }).unwrap();
    npz.add("single", &Member::Floats { array: values.t(), single: true }).unwrap();
    npz.add("labels", &Member::Integers(&[3, -1])).unwrap();
    npz.add("note", &Member::Text("naïve Φ")).unwrap();
    npz.add("scalar", &Member::Floats { array: arr0(f64::NAN).into_dyn().view(), single: false }).unwrap();
    npz.finish().unwrap().into_inner()
}

fn numbers(npz: &mut NpzReader<Cursor<Vec<u8>>>, name: &str) -> (ArrayD<f64>, Dtype) {
    match npz.array(name).unwrap() {
        Array::Numbers { values, dtype } => (values, dtype),
        Array::Text { .. } => panic!("text"),
    }
}

#[test]
fn arrays_come_back_and_bytes_repeat() {
    let bytes = written();
    assert_eq!(bytes, written());
    let mut npz = NpzReader::open("x.npz", Cursor::new(bytes)).unwrap();
    assert_eq!(npz.names(), ["double", "single", "labels", "note", "scalar"]);
    let (double, dtype) = numbers(&mut npz, "double");
    assert_eq!((double.clone(), dtype.name().as_str()), (array![[1.0, 2.5], [-3.0, 0.1]].into_dyn(), "float64"));
    let (single, dtype) = numbers(&mut npz, "single");
    assert!(dtype.is_single() && single[[1, 0]] == 2.5 && single[[1, 1]] == f64::from(0.1f32));
    assert_eq!(numbers(&mut npz, "labels").0, array![3.0, -1.0].into_dyn());
    assert_eq!(npz.header("labels").unwrap().shape, [2]);
    assert!(numbers(&mut npz, "scalar").0.sum().is_nan());
    assert_eq!(npz.array("note").unwrap(), Array::Text { shape: vec![], values: vec!["naïve Φ".into()] });
    let error = npz.array("other").unwrap_err().to_string();
    assert_eq!(error, "x.npz:other is not in the archive, which holds double, single, labels, note, scalar");
}

#[test]
fn damaged_archives_are_refused() {
    let good = written();
    for cut in [0, 1, 30, 200, good.len() / 2, good.len() - 1] {
        assert!(NpzReader::open("x.npz", Cursor::new(good[..cut].to_vec())).is_err(), "cut at {cut}");
    }
    // A flipped byte either changes nothing that is read or is an error: the checksum of the member stands guard.
    let expected = NpzReader::open("x.npz", Cursor::new(good.clone())).unwrap().array("double").unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x41;
        let read = NpzReader::open("x.npz", Cursor::new(bad)).and_then(|mut n| n.array("double"));
        assert!(read.is_err() || read.unwrap() == expected, "byte {at}");
    }
}

#[test]
fn a_member_must_hold_exactly_what_it_promises() {
    let of = |body: &[u8]| {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        zip.start_file("x.npy", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&npy::Header::new(Dtype::F8, &[2]).to_bytes()).unwrap();
        zip.write_all(body).unwrap();
        let mut npz = NpzReader::open("a.npz", Cursor::new(zip.finish().unwrap().into_inner())).unwrap();
        npz.array("x").map(drop).map_err(|e| e.to_string())
    };
    assert_eq!(of(&[0; 16]), Ok(()));
    assert!(of(&[0; 15]).unwrap_err().starts_with("a.npz:x is cut short"));
    assert!(of(&[0; 17]).unwrap_err().contains("more bytes than"));
}

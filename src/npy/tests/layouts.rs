//! Every layout gives the same numbers, whole or in pieces, and our header is the one that ndarray-npy writes.

use ndarray::{Array, ArrayD, Dimension, IxDyn, ShapeBuilder};
use npy::{Dtype, Header, Reader};
use proptest::prelude::*;

/// A file with the given header values and bytes.
fn file(descr: &str, fortran: &str, shape: &str, body: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(body);
    bytes
}

#[test]
fn rows_agree_in_both_orders_and_both_byte_orders() {
    let value = |s: usize, i: usize, j: usize| (100 * s + 10 * i + j) as f64;
    let array = ArrayD::from_shape_fn(IxDyn(&[5, 2, 3]), |at| value(at[0], at[1], at[2]));
    let big: Vec<u8> = array.iter().flat_map(|v| (*v as f32).to_be_bytes()).collect();
    let fortran: Vec<u8> = array.t().iter().flat_map(|v| v.to_le_bytes()).collect();
    let files = [file(">f4", "False", "(5, 2, 3)", &big), file("<f8", "True", "(5, 2, 3)", &fortran)];
    let expected: Vec<f64> = array.iter().skip(12).take(12).copied().collect();
    for bytes in &files {
        let mut reader = Reader::from_bytes("x.npy", bytes).unwrap();
        assert_eq!(reader.rows(2..4).unwrap(), expected);
        let all = reader.all().unwrap();
        assert!(all.is_standard_layout());
        assert_eq!(all, array);
    }
}

#[test]
fn every_type_of_number_becomes_a_float() {
    let cases: [(&str, &[u8], f64); 9] = [
        ("|i1", &[0xff], -1.0),
        ("|u1", &[0xff], 255.0),
        ("|b1", &[1], 1.0),
        ("<i2", &[0, 0x80], -32768.0),
        (">u2", &[0x80, 0], 32768.0),
        ("<i4", &[0xfe, 0xff, 0xff, 0xff], -2.0),
        (">u4", &[0, 0, 1, 0], 256.0),
        ("<i8", &[0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], -3.0),
        ("<u8", &[7, 0, 0, 0, 0, 0, 0, 0], 7.0),
    ];
    for (descr, bytes, value) in cases {
        let bytes = file(descr, "False", "(1,)", bytes);
        assert_eq!(Reader::from_bytes("x.npy", &bytes).unwrap().all().unwrap()[0], value, "{descr}");
    }
}

#[test]
fn texts_are_read_and_are_no_numbers() {
    let units: Vec<u8> = "ab\0c\0\0".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
    let bytes = file("<U3", "False", "(2,)", &units);
    let mut reader = Reader::from_bytes("x.npy", &bytes).unwrap();
    assert_eq!(reader.text().unwrap(), ["ab", "c"]);
    let error = reader.all().unwrap_err().to_string();
    assert!(error.contains("`<U3`"), "{error}");
    let bytes = file("|S2", "False", "(2,)", b"a\0bc");
    assert_eq!(Reader::from_bytes("x.npy", &bytes).unwrap().text().unwrap(), ["a", "bc"]);
    let bytes = file("<U1", "False", "(1,)", &[0, 0, 0, 0x7f]);
    assert!(Reader::from_bytes("x.npy", &bytes).unwrap().text().unwrap_err().to_string().contains("Unicode"));
}

#[test]
fn words_come_back() {
    let words = ["left", "", "tongue and Φ"];
    let mut bytes = Vec::new();
    npy::write_words(&mut bytes, &words).unwrap();
    assert_eq!(Reader::from_bytes("x.npy", &bytes).unwrap().text().unwrap(), words);
}

#[test]
fn promises_are_checked_before_anything_is_allocated() {
    let error = |bytes: &[u8]| Reader::from_bytes("x.npy", bytes).unwrap_err().to_string();
    let cut = error(&file("<f8", "False", "(5,)", &[0; 39]));
    assert_eq!(cut, "x.npy is cut short: 5 items of 8 bytes are promised, 39 bytes are there; copy or save it again");
    assert!(error(&file("<f8", "False", "(99999999999, 99999999999)", &[])).contains("cut short"));
    assert!(error(&file("|O", "False", "(1,)", &[0; 8])).contains("astype"));
    assert!(error(&file("<f8", "False", "(1, -1)", &[0; 8])).contains("shape"));
    assert!(error(b"PK\x03\x04 and so on").contains("is no .npy file"));
    let mut longer = file("<f8", "False", "(1,)", &[0; 8]);
    longer[6] = 9;
    assert!(error(&longer).contains("format 9"));
    assert!(error(&file("<f8", "False", "(1,)", &[0; 8])[..40]).contains("inside its header"));
}

/// In Fortran order with an empty first axis, walking over the positions of the other axes took forever.
#[test]
fn an_empty_axis_costs_nothing_however_long_the_others_are() {
    for (fortran, shape) in [("True", "(0, 999999999999)"), ("False", "(999999999999, 0)")] {
        let bytes = file("<f8", fortran, shape, &[]);
        let mut reader = Reader::from_bytes("x.npy", &bytes).unwrap();
        assert!(reader.rows(0..reader.shape()[0]).unwrap().is_empty());
        assert!(reader.all().unwrap().is_empty());
    }
}

proptest! {
    #[test]
    fn our_files_and_those_of_ndarray_npy_hold_the_same(
        shape in prop::collection::vec(0usize..12, 0..5),
        fortran in any::<bool>(),
        single in any::<bool>(),
    ) {
        let array: ArrayD<f64> = Array::from_shape_fn(IxDyn(&shape).set_f(fortran), |at| {
            at.as_array_view().iter().fold(0.1, |v, i| 12.0 * v + *i as f64)
        });
        let mut theirs = Vec::new();
        match single {
            true => npy::write(&mut theirs, &array.mapv(|v| v as f32)).unwrap(),
            false => npy::write(&mut theirs, &array).unwrap(),
        }
        let mut header = Header::new(Dtype::float(single), &shape);
        header.fortran = !array.is_standard_layout();
        let mut ours = header.to_bytes();
        let in_file_order = if header.fortran { array.t().as_standard_layout().into_owned() } else { array.clone() };
        npy::write_floats(&mut ours, single, &in_file_order).unwrap();
        // Headers differ by the comma that numpy writes before the closing brace and ndarray-npy leaves out.
        prop_assert_eq!(ours.len(), theirs.len());
        let other = Reader::from_bytes("y.npy", &theirs).unwrap().all().unwrap();
        let mut reader = Reader::from_bytes("x.npy", &ours).unwrap();
        let back = reader.all().unwrap();
        prop_assert_eq!(&back, &other);
        prop_assert_eq!(&back, &array.mapv(|v| if single { f64::from(v as f32) } else { v }));
        let first = shape.first().copied().unwrap_or(1);
        let middle = first / 2;
        let mut halves = reader.rows(0..middle).unwrap();
        halves.extend(reader.rows(middle..first).unwrap());
        prop_assert_eq!(halves, back.iter().copied().collect::<Vec<_>>());
    }
}

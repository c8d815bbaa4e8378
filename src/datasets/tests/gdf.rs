//! GDF: a genuine file, what we write, hand-made files of other types and versions, and damaged ones.

mod common;

use std::io::Cursor;

use common::shared;
use datasets::gdf::{Event, GdfReader, GdfWriter, Overflow, SampleType};
use ndarray::Array2;

#[test]
fn the_genuine_file_reads_as_mne_reads_it() {
    let Some(path) = shared("formats/biosig_t310_sample.gdf") else { return };
    let mut gdf = GdfReader::open("sample", std::fs::File::open(path).unwrap()).unwrap();
    let h = gdf.header().clone();
    assert_eq!((h.version, h.channels.len(), h.rate(0)), (1.25, 4, 256.0));
    assert_eq!(h.channels[3].label, "Channel 5");
    let cues: Vec<Event> = gdf.events().iter().copied().filter(|e| [769, 770].contains(&e.code)).collect();
    assert_eq!(cues.len(), 40);
    assert_eq!((cues[0].position, cues[1].position), (1535, 4031));
    assert_eq!(gdf.events().iter().filter(|e| e.code == 768).count(), 40);
    let x = gdf.read_channels(&[0, 1, 2, 3]).unwrap();
    assert_eq!(x.dim(), (4, 97419));
    // mne 1.13.2, read_raw_gdf.
    for (c, t, v) in [
        (0, 0, 8.036926832990005),
        (1, 1, 11.589227130540932),
        (3, 2, -0.6118867780575266),
        (2, 97418, -1.4358739604791333),
        (0, 50000, 4.997329671168078),
    ] {
        assert!((x[(c, t)] - v).abs() < 1e-9, "channel {c} sample {t}: {} is not {v}", x[(c, t)]);
    }
}

fn written() -> (Array2<f64>, Vec<Event>, Vec<u8>) {
    let mut signal = Array2::from_shape_fn((3, 260), |(c, t)| (c as f64 + 1.0) * (t as f64 * 0.37).sin() * 30.0);
    signal[(1, 5)] = f64::NAN;
    signal[(2, 7)] = 1e6;
    let events = vec![
        Event { position: 0, code: 32766, channel: 0, duration: 0 },
        Event { position: 250, code: 769, channel: 2, duration: 313 },
    ];
    let mut bytes = Vec::new();
    let writer = GdfWriter::new(250, 400.0).recording("test");
    writer.write(&mut bytes, &["Fz", "C3", "a label longer than sixteen bytes"], signal.view(), &events).unwrap();
    (signal, events, bytes)
}

#[test]
fn written_and_read_back_is_equal_sample_for_sample() {
    let (signal, events, bytes) = written();
    let mut gdf = GdfReader::open("w", Cursor::new(&bytes)).unwrap();
    assert_eq!((gdf.header().version, gdf.header().recording.as_str()), (2.2, "test"));
    assert_eq!((gdf.header().channels[0].unit.as_str(), gdf.header().rate(1)), ("uV", 250.0));
    assert_eq!(gdf.events(), events);
    let back = gdf.read_channels(&[0, 1, 2]).unwrap();
    assert_eq!(back.dim(), (3, 500));
    let writer = GdfWriter::new(250, 400.0);
    for ((c, t), x) in signal.indexed_iter() {
        let (want, got) = (writer.quantise(*x), back[(c, t)]);
        assert!(want.to_bits() == got.to_bits() || (want.is_nan() && got.is_nan()), "({c}, {t}): {want} and {got}");
        assert!(x.is_nan() || *x > 400.0 || (got - x).abs() <= 400.0 / 65535.0 + 1e-12);
    }
    assert!(back[(1, 5)].is_nan() && back[(2, 7)].is_nan() && back[(0, 499)].is_nan());
    // What was read once can be written again without change.
    let mut again = Vec::new();
    let labels = ["Fz", "C3", "a label longer "];
    writer.recording("test").write(&mut again, &labels, back.view(), &events).unwrap();
    let twice = GdfReader::open("w2", Cursor::new(&again)).unwrap().read_channels(&[0, 1, 2]).unwrap();
    assert!(back.iter().zip(&twice).all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())));
    let kept = GdfReader::open("w", Cursor::new(&bytes)).unwrap().overflow(Overflow::Keep).read_channels(&[1]).unwrap();
    assert_eq!(kept[(0, 5)], -400.0);
}

/// A file with two channels of different types and rates: (type code, samples per record), two records.
fn two_rates(version: &str) -> Vec<u8> {
    let v2 = version.starts_with("GDF 2");
    let mut f = vec![0u8; 256];
    f[..8].copy_from_slice(version.as_bytes());
    if v2 {
        f[184..186].copy_from_slice(&3u16.to_le_bytes());
    } else {
        f[184..192].copy_from_slice(&768u64.to_le_bytes());
    }
    f[236..244].copy_from_slice(&2i64.to_le_bytes());
    if version == "GDF 2.51" {
        f[244..252].copy_from_slice(&0.5f64.to_le_bytes());
    } else {
        f[244..248].copy_from_slice(&1u32.to_le_bytes());
        f[248..252].copy_from_slice(&2u32.to_le_bytes());
    }
    f[252..254].copy_from_slice(&2u16.to_le_bytes());
    let mut h = vec![0u8; 512];
    for c in 0..2 {
        h[16 * c] = b'a' + c as u8;
        let mut put = |field: usize, bytes: &[u8]| {
            let at = field * 2 + c * bytes.len();
            h[at..at + bytes.len()].copy_from_slice(bytes);
        };
        put(104, &(-1.0f64).to_le_bytes());
        put(112, &1.0f64.to_le_bytes());
        if v2 {
            put(120, &(-100.0f64).to_le_bytes());
            put(128, &100.0f64.to_le_bytes());
        } else {
            put(120, &(-100i64).to_le_bytes());
            put(128, &100i64.to_le_bytes());
        }
        put(216, &[3u32, 1][c].to_le_bytes());
        put(220, &[1u32, 17][c].to_le_bytes());
    }
    f.extend(h);
    for record in 0..2i8 {
        f.extend([10 * record, -100, 50].map(|x: i8| x as u8));
        f.extend((25.0 * f64::from(record)).to_le_bytes());
    }
    // Event table of mode 1 with one event at the file's position 3.
    if v2 {
        f.extend([1, 1, 0, 0]);
        f.extend(6f32.to_le_bytes());
    } else {
        f.extend([1, 6, 0, 0]);
        f.extend(1u32.to_le_bytes());
    }
    f.extend(3u32.to_le_bytes());
    f.extend(768u16.to_le_bytes());
    f
}

#[test]
fn versions_types_rates_and_mode_one() {
    for version in ["GDF 1.24", "GDF 1.25", "GDF 2.00", "GDF 2.10", "GDF 2.11", "GDF 2.20", "GDF 2.51"] {
        let mut gdf = GdfReader::open(version, Cursor::new(two_rates(version))).unwrap();
        assert_eq!((gdf.header().rate(0), gdf.header().rate(1)), (6.0, 2.0), "{version}");
        assert_eq!((gdf.header().channels[0].kind, gdf.header().channels[1].kind), (SampleType::I8, SampleType::F64));
        assert_eq!(gdf.events(), [Event { position: 2, code: 768, channel: 0, duration: 0 }]);
        let a = gdf.read_channels(&[0]).unwrap();
        assert_eq!(a.len(), 6);
        assert!(a[(0, 1)].is_nan() && (a[(0, 2)] - 0.5).abs() < 1e-15 && (a[(0, 3)] - 0.1).abs() < 1e-15);
        let b = gdf.read_channels(&[1]).unwrap();
        assert!(b[(0, 0)].abs() < 1e-15 && (b[(0, 1)] - 0.25).abs() < 1e-15);
        let error = gdf.read_channels(&[0, 1]).unwrap_err().to_string();
        assert!(error.contains("different rates"), "{error}");
        // The table counts at 6 Hz, the second channel at 2 Hz.
        assert_eq!((gdf.sample_of(2, 0), gdf.sample_of(3, 1), gdf.event_counts()), (2, 1, [(768, 1)].into()));
        let mut count = 0;
        gdf.for_each(&[0, 1], |_, s| count += s.len()).unwrap();
        assert_eq!(count, 8);
    }
}

/// Event tables of other programs: no table, a table without events, events out of order and past the end, and time stamps after them.
#[test]
fn odd_event_tables() {
    let good = two_rates("GDF 2.11");
    let table = 768 + 2 * (3 + 8);
    let events = |bytes: Vec<u8>| GdfReader::open("odd", Cursor::new(bytes)).map(|g| g.events().to_vec());
    assert!(events(good[..table].to_vec()).unwrap().is_empty());
    let with = |mode: u8, positions: &[u32], more: &[u8]| {
        let mut f = good[..table].to_vec();
        f.extend([mode, positions.len() as u8, 0, 0]);
        f.extend(6f32.to_le_bytes());
        positions.iter().for_each(|p| f.extend(p.to_le_bytes()));
        positions.iter().for_each(|_| f.extend(769u16.to_le_bytes()));
        f.extend(more);
        f
    };
    assert!(events(with(9, &[], &[])).unwrap().is_empty());
    let found = events(with(1, &[5, 2, 900], &[])).unwrap();
    assert_eq!(found.iter().map(|e| e.position).collect::<Vec<_>>(), [4, 1, 899]);
    // Mode 5: mode 1 with a time stamp of eight bytes for each event, which is not read.
    assert_eq!(events(with(5, &[3], &[0; 8])).unwrap()[0].position, 2);
    let refused = |bytes: Vec<u8>, part: &str| {
        let said = events(bytes).unwrap_err().to_string();
        assert!(said.contains("odd") && said.contains(part), "{said}");
    };
    refused(with(2, &[3], &[]), "event table mode 2; 1 and 3 are known");
    refused(with(1, &[0], &[]), "positions count from 1");
    refused(with(3, &[3], &[]), "1 events need 12 bytes, the file has 6 left");
    refused(good[..table + 5].to_vec(), "the event table is cut short");
}

#[test]
fn one_channel_is_enough() {
    let signal = Array2::from_shape_fn((1, 30), |(_, t)| t as f64);
    let mut bytes = Vec::new();
    GdfWriter::new(10, 400.0).write(&mut bytes, &["Cz"], signal.view(), &[]).unwrap();
    let mut gdf = GdfReader::open("one", Cursor::new(&bytes)).unwrap();
    assert!(gdf.events().is_empty() && gdf.event_counts().is_empty());
    assert_eq!(gdf.read_channels(&[0]).unwrap().dim(), (1, 30));
}

/// The genuine file with channels of 1000, 100, 200 and 20 Hz, and three without regular samples.
#[test]
fn channels_of_different_rates_in_a_genuine_file() {
    let Some(path) = shared("formats/libgdf_multirate.gdf") else { return };
    let mut gdf = GdfReader::open("multi", std::fs::File::open(path).unwrap()).unwrap();
    let rates: Vec<f64> = (0..8).map(|c| gdf.header().rate(c)).collect();
    assert_eq!(rates, [1000.0, 100.0, 200.0, 100.0, 20.0, 0.0, 0.0, 0.0]);
    let error = gdf.read_channels(&[0, 1]).unwrap_err().to_string();
    assert!(error.contains("`chan 1` (1000 Hz)") && !error.contains("damaged"), "{error}");
    assert_eq!(gdf.read_channels(&[1, 3]).unwrap().dim(), (2, 1200));
    assert_eq!((gdf.sample_of(999, 0), gdf.sample_of(999, 1)), (999, 100));
}

#[test]
fn damage_is_named() {
    let good = two_rates("GDF 2.20");
    let fails = |change: &dyn Fn(&mut Vec<u8>), expect: &str| {
        let mut f = good.clone();
        change(&mut f);
        let e = match GdfReader::open("x.gdf", Cursor::new(f)) {
            Err(e) => e.to_string(),
            Ok(_) => panic!("`{expect}` was accepted"),
        };
        assert!(e.contains(expect) && e.starts_with("x.gdf: "), "{e}");
    };
    fails(&|f| f.truncate(100), "shorter than");
    fails(&|f| f[0] = b'X', "does not begin");
    fails(&|f| f[252] = 0, "no channels");
    fails(&|f| f[253] = 200, "bytes of header");
    fails(&|f| f[184] = 1, "header length");
    fails(&|f| f[237] = 1, "cut short: the header promises 258 records, the file holds 3");
    fails(&|f| f[243] = 0x80, "records");
    fails(&|f| f[248..252].fill(0), "seconds");
    fails(&|f| f[256 + 440] = 99, "sample type 99");
    fails(&|f| f[256 + 256..256 + 264].fill(0xff), "not an interval");
    fails(&|f| f[768 + 22 + 1] = 9, "9 events need 54 bytes");
    fails(&|f| f[768 + 22] = 2, "mode 2");
    fails(&|f| f[768 + 22 + 8] = 0, "position 0");
}

/// Reads our file with mne where it is installed (`PYTHON` names the interpreter), else says that it did not.
#[test]
fn mne_reads_what_we_write() {
    let (_, _, bytes) = written();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ours.gdf");
    std::fs::write(&path, &bytes).unwrap();
    let script = "import sys, mne\n\
        r = mne.io.read_raw_gdf(sys.argv[1], preload=True, verbose='error')\n\
        d = r.get_data()\n\
        print(len(r.ch_names), r.info['sfreq'], d.shape[1], repr(float(d[0, 3] * 1e6)), repr(float(d[2, 255] * 1e6)), ','.join(r.annotations.description))";
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let out = std::process::Command::new(&python).args(["-c", script]).arg(&path).output();
    let out = match out {
        Ok(o) if o.status.success() => String::from_utf8(o.stdout).unwrap(),
        _ => {
            println!("skipped: {python} with mne is not installed");
            return;
        }
    };
    let ours = GdfReader::open("w", Cursor::new(&bytes)).unwrap().read_channels(&[0, 2]).unwrap();
    let words: Vec<&str> = out.split_whitespace().collect();
    assert_eq!(words[..3], ["3", "250.0", "500"]);
    assert!((words[3].parse::<f64>().unwrap() - ours[(0, 3)]).abs() < 1e-9, "{out}");
    assert!((words[4].parse::<f64>().unwrap() - ours[(1, 255)]).abs() < 1e-9, "{out}");
    assert_eq!(words[5], "32766,769");
}

//! Mutated bytes for every reader: no panic, and no memory beyond a small multiple of the input.
//!
//! `FUZZ_INPUTS=100000 cargo test --release -p datasets --test fuzz` runs that many inputs per reader; 2000 by default.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Cursor, Write};
use std::path::PathBuf;

use datasets::archive::Files;
use datasets::gdf::{Event, GdfReader, GdfWriter};
use datasets::{mat, mfeat};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

struct Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(by: isize) {
    NOW.with(|n| {
        n.set(n.get() + by);
        PEAK.with(|p| p.set(p.get().max(n.get())));
    });
}

// The only way to count allocations is to replace the allocator. Every call is passed on to the system's allocator with the
// same arguments; the counters are plain thread-local cells that never allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes allocated at the worst moment of `f`, above what was there before.
fn peak(f: impl FnOnce()) -> usize {
    let before = NOW.with(|n| n.get());
    PEAK.with(|p| p.set(before));
    f();
    (PEAK.with(|p| p.get()) - before) as usize
}

/// A change to a file: where (as a share of its length), what, and with which value.
#[derive(Debug, Clone)]
enum Change {
    Set(f64, u8),
    Flip(f64, u8),
    Word(f64, u32),
    Cut(f64),
    Copy(f64, f64, u8),
}

fn change() -> impl Strategy<Value = Change> {
    let at = || prop_oneof![3 => 0.0..1.0f64, 1 => 0.0..0.1f64];
    let word =
        prop_oneof![Just(u32::MAX), Just(0x7fff_ffff), Just(0x8000_0000), Just(0), Just(1), any::<u32>(), 0..300u32];
    prop_oneof![
        4 => (at(), any::<u8>()).prop_map(|(a, v)| Change::Set(a, v)),
        4 => (at(), 0..8u8).prop_map(|(a, b)| Change::Flip(a, 1 << b)),
        4 => (at(), word).prop_map(|(a, w)| Change::Word(a, w)),
        1 => (0.0..1.0f64).prop_map(Change::Cut),
        2 => (at(), at(), any::<u8>()).prop_map(|(a, b, n)| Change::Copy(a, b, n)),
    ]
}

fn apply(file: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut f = file.to_vec();
    for c in changes {
        if f.is_empty() {
            break;
        }
        let place = |a: f64| ((a * f.len() as f64) as usize).min(f.len() - 1);
        match *c {
            Change::Set(a, v) => {
                let i = place(a);
                f[i] = v
            }
            Change::Flip(a, v) => {
                let i = place(a);
                f[i] ^= v
            }
            Change::Word(a, w) => {
                let i = place(a) & !3;
                let n = 4.min(f.len() - i);
                f[i..i + n].copy_from_slice(&w.to_le_bytes()[..n])
            }
            Change::Cut(a) => {
                let i = place(a);
                f.truncate(i)
            }
            Change::Copy(a, b, n) => {
                let (i, j) = (place(a), place(b));
                let n = usize::from(n).min(f.len() - i).min(f.len() - j);
                f.copy_within(i..i + n, j)
            }
        }
    }
    f
}

/// Feeds mutated seeds to a reader. `factor` bounds the peak memory as a multiple of the input; 256 KiB are always allowed (tables
/// of the decompressor, buffers).
fn fuzz(name: &str, seeds: &[Vec<u8>], factor: usize, reader: impl Fn(&[u8]) -> bool) {
    for s in seeds {
        assert!(reader(s), "{name}: a seed must be readable");
    }
    let cases = std::env::var("FUZZ_INPUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let (accepted, worst) = (Cell::new(0u32), Cell::new(0.0f64));
    let strategy = (0..seeds.len(), prop::collection::vec(change(), 1..6));
    let result = runner.run(&strategy, |(i, changes)| {
        let input = apply(&seeds[i], &changes);
        let used = peak(|| accepted.set(accepted.get() + u32::from(reader(&input))));
        // On tiny inputs buffers and the error message dominate, so the multiple of the input size means nothing.
        if input.len() >= 1000 {
            worst.set(worst.get().max(used as f64 / input.len() as f64));
        }
        prop_assert!(used <= factor * input.len() + (256 << 10), "{} bytes for an input of {}", used, input.len());
        Ok(())
    });
    println!("{name}: {cases} inputs, {} still readable, at most {:.1} times the input", accepted.get(), worst.get());
    result.unwrap_or_else(|e| panic!("{name}: {e}"));
}

fn data(name: &str) -> Vec<u8> {
    std::fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

#[test]
fn gdf_reader() {
    let signal = ndarray::Array2::from_shape_fn((3, 100), |(c, t)| (c * t) as f64);
    let events: Vec<Event> = (0..10).map(|i| Event { position: 9 * i, code: 768, channel: 0, duration: 1 }).collect();
    let mut two = Vec::new();
    GdfWriter::new(50, 400.0).write(&mut two, &["a", "b", "c"], signal.view(), &events).unwrap();
    // The same file as version 1.25: header length and limits as integers.
    let mut one = two.clone();
    one[..8].copy_from_slice(b"GDF 1.25");
    one[184..192].copy_from_slice(&1024u64.to_le_bytes());
    for c in 0..3 {
        one[256 + 360 + 8 * c..][..8].copy_from_slice(&(-32768i64).to_le_bytes());
        one[256 + 384 + 8 * c..][..8].copy_from_slice(&32767i64.to_le_bytes());
    }
    let at = one.len() - (8 + 120);
    one[at..at + 8].copy_from_slice(&[3, 50, 0, 0, 10, 0, 0, 0]);
    fuzz("GDF", &[one, two], 16, |f| {
        let Ok(mut gdf) = GdfReader::open("fuzz", Cursor::new(f)) else { return false };
        let n = gdf.header().channels.len();
        let _ = gdf.for_each(&(0..n).collect::<Vec<_>>(), |_, _| ());
        (0..n).all(|c| gdf.read_channels(&[c]).is_ok())
    });
}

#[test]
fn mat_reader() {
    let seeds = ["scipy_plain.mat", "scipy_packed.mat", "scipy_bnci.mat", "big_endian.mat"].map(data);
    // A compressed element may unpack to 100 times its size and its numbers take up to eight bytes per byte.
    fuzz("MAT", &seeds, 128, |f| {
        let _ = datasets::bci::read_bnci("fuzz", f);
        let _ = datasets::bci::read_labels("fuzz", f);
        mat::read("fuzz", f).is_ok()
    });
}

fn zip_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut w = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, data) in members {
        w.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        w.write_all(data).unwrap();
    }
    w.finish().unwrap().into_inner()
}

fn npy_of(shape: &str, items: &[f64]) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    let mut f = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    f.extend(format!("{header:<117}\n").bytes());
    items.iter().for_each(|x| f.extend(x.to_le_bytes()));
    f
}

#[test]
fn zip_reader() {
    let text = "0.1 0.2 0.3\n".repeat(100);
    let noise: Vec<u8> = (0..2000u32).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
    let inner = zip_of(&[("c", b"three")]);
    let seed = zip_of(&[("a.txt", text.as_bytes()), ("d/b", &noise), ("n.zip", &inner)]);
    fuzz("zip", &[seed], 128, |f| {
        let Ok(mut files) = Files::from_zip_bytes("fuzz", f.to_vec()) else { return false };
        let names: Vec<String> = files.names().map(str::to_string).collect();
        names.iter().all(|n| files.read(n).is_ok())
    });
}

#[test]
fn npy_and_npz_readers() {
    let covariances = npy_of("(20, 3, 3)", &[1.0; 180]);
    let labels = npy_of("(20,)", &[1.0; 20]);
    fuzz("npy", &[covariances.clone(), labels.clone()], 16, |f| {
        npy::Reader::from_bytes("fuzz", f).and_then(|mut a| a.all()).is_ok()
    });
    // Noise beside the arrays, so that the bundle does not compress to almost nothing.
    let noise: Vec<u8> = (0..2000u32).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
    let bundle = zip_of(&[("covariances.npy", &covariances), ("labels.npy", &labels), ("noise", &noise)]);
    fuzz("npz", &[bundle], 128, |f| datasets::bci::read_bundle("fuzz", f.to_vec()).is_ok());
}

#[test]
fn mfeat_reader() {
    let blank = "  1.25 -3e-2  7\n".repeat(200).into_bytes();
    let comma = "1.25,-3e-2,7\r\n".repeat(200).into_bytes();
    fuzz("Multiple Features", &[blank, comma], 16, |f| mfeat::parse_view("fuzz", f, 3).is_ok());
}

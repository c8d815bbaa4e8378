//! Archives: flat, in a folder, nested; and the hostile ones.

use std::io::Write;

use datasets::archive::{Files, Limits};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn zip_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut w = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, data) in members {
        w.start_file(*name, SimpleFileOptions::default()).unwrap();
        w.write_all(data).unwrap();
    }
    w.finish().unwrap().into_inner()
}

/// Replaces a name inside a finished zip by one of the same length (the writer itself refuses evil names).
fn rename(zip: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut out = zip.to_vec();
    for at in 0..out.len() - from.len() {
        if &out[at..at + from.len()] == from.as_bytes() {
            out[at..at + from.len()].copy_from_slice(to.as_bytes());
        }
    }
    out
}

#[test]
fn flat_in_a_folder_and_nested() {
    let inner = zip_of(&[("deep/c", b"three")]);
    let bytes = zip_of(&[("a", b"one"), ("d/b", b"two"), ("x.zip", &inner)]);
    let mut files = Files::from_zip_bytes("t.zip", bytes.clone()).unwrap();
    for (base, text) in [("a", "one"), ("B", "two"), ("c", "three")] {
        let name = files.find_named(base).unwrap().to_string();
        assert_eq!(files.read(&name).unwrap(), text.as_bytes());
    }
    assert!(files.find_named("nothing").is_none() && files.read("nothing").is_err());

    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    std::fs::write(dir.path().join("sub/plain"), "zero").unwrap();
    std::fs::write(dir.path().join("sub/t.zip"), &bytes).unwrap();
    let mut files = Files::open(dir.path()).unwrap();
    for (base, text) in [("plain", "zero"), ("a", "one"), ("b", "two"), ("c", "three")] {
        let name = files.find_named(base).unwrap().to_string();
        assert_eq!(files.read(&name).unwrap(), text.as_bytes());
    }
    assert_eq!(Files::open(&dir.path().join("sub/t.zip")).unwrap().names().count(), 3);
    assert!(Files::open(&dir.path().join("none")).is_err());
}

/// Files past the limit were left out without a word.
#[test]
fn a_folder_of_too_many_files_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for k in 0..4 {
        std::fs::write(dir.path().join(k.to_string()), "x").unwrap();
    }
    let open = |members: usize| Files::open_with(dir.path(), Limits { members, ..Limits::default() });
    assert_eq!(open(4).unwrap().names().count(), 4);
    let said = open(3).err().unwrap().to_string();
    assert!(said.ends_with("more than 3 files; name the folder that holds the data alone"), "{said}");
}

fn refused(bytes: Vec<u8>, limits: Limits) -> String {
    match Files::from_zip_bytes_with("evil.zip", bytes, limits) {
        Err(e) => e.to_string(),
        Ok(_) => panic!("accepted"),
    }
}

#[test]
fn paths_that_leave_the_archive_are_refused() {
    let good = zip_of(&[("aa/bb/file", b"x")]);
    for evil in ["../../file", "/a/bb/file", "aa/../file", "C:\\bb\\file", "..\\bb\\file"] {
        let text = refused(rename(&good, "aa/bb/file", evil), Limits::default());
        assert!(text.contains("outside the archive"), "{evil}: {text}");
    }
}

#[test]
fn bombs_and_crowds_are_refused() {
    let bomb = zip_of(&[("zeros", &vec![0u8; 30 << 20])]);
    assert!(bomb.len() < 100_000);
    assert!(refused(bomb.clone(), Limits::default()).contains("a bomb"));
    let small = Limits { member: 1 << 20, ratio: 100_000, ..Limits::default() };
    assert!(refused(bomb.clone(), small).contains("too many"));
    // A directory that lies about the size: the reader stops at what was stated.
    let mut liar = bomb;
    let stated = (30u32 << 20).to_le_bytes();
    for at in 0..liar.len() - 4 {
        if liar[at..at + 4] == stated {
            liar[at..at + 4].copy_from_slice(&1000u32.to_le_bytes());
        }
    }
    let mut files = Files::from_zip_bytes("liar.zip", liar).unwrap();
    let name = files.find_named("zeros").unwrap().to_string();
    assert!(files.read(&name).is_err());
    let crowd: Vec<String> = (0..20).map(|i| format!("f{i}")).collect();
    let crowd: Vec<(&str, &[u8])> = crowd.iter().map(|n| (n.as_str(), &b""[..])).collect();
    assert!(refused(zip_of(&crowd), Limits { members: 10, ..Limits::default() }).contains("20 members"));
}

#[test]
fn short_and_damaged_archives_are_refused() {
    let data: Vec<u8> = (0..5000u32).map(|i| (i * i % 251) as u8).collect();
    let good = zip_of(&[("f", &data)]);
    for cut in [0, 3, 100, good.len() / 2, good.len() - 1] {
        assert!(Files::from_zip_bytes("cut.zip", good[..cut].to_vec()).is_err(), "cut at {cut}");
    }
    let mut damaged = good.clone();
    damaged[200] ^= 0x55;
    let mut files = Files::from_zip_bytes("d.zip", damaged).unwrap();
    let text = files.read("f").unwrap_err().to_string();
    assert!(text.contains("damaged") || text.contains("stated"), "{text}");
    assert!(refused(b"<html>not found</html>".to_vec(), Limits::default()).contains("not a readable zip"));
}

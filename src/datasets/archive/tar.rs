//! Plain tar, as far as old data archives need it: the archive of UCI contained one.

use super::check_name;
use crate::{Error, Result};

/// The regular files of a tar, borrowed from its bytes.
pub(super) fn read<'a>(archive: &str, bytes: &'a [u8]) -> Result<Vec<(String, &'a [u8])>> {
    let refuse = |what: String| Error::Archive { file: archive.to_string(), what };
    let mut files = Vec::new();
    let mut rest = bytes;
    let mut ended = false;
    while let Some((head, body)) = rest.split_first_chunk::<512>() {
        if head.iter().all(|b| *b == 0) {
            ended = true;
            break;
        }
        let name = text(&head[..100]);
        let size = usize::from_str_radix(text(&head[124..136]).trim(), 8)
            .map_err(|_| refuse(format!("the tar entry `{}` has no size", name.escape_default())))?;
        if size > body.len() {
            return Err(refuse(format!("the tar entry `{}` is cut short", name.escape_default())));
        }
        check_name(archive, &name)?;
        if matches!(head[156], b'0' | 0) {
            files.push((name, &body[..size]));
        }
        let padded = size.next_multiple_of(512).min(body.len());
        rest = &body[padded..];
    }
    if !ended && !rest.is_empty() {
        return Err(refuse("the tar is cut short".into()));
    }
    Ok(files)
}

fn text(raw: &[u8]) -> String {
    raw.iter().take_while(|b| **b != 0).map(|b| *b as char).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, data: &[u8]) -> Vec<u8> {
        let mut e = vec![0u8; 512];
        e[..name.len()].copy_from_slice(name.as_bytes());
        e[124..135].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
        e[156] = b'0';
        e.extend(data);
        e.resize(512 + data.len().next_multiple_of(512), 0);
        e
    }

    #[test]
    fn reads_files_and_refuses_climbing_and_short_ones() {
        let two = [entry("a", b"one"), entry("d/b", &[7; 600])].concat();
        let files = read("t.tar", &two).unwrap();
        assert_eq!(files[0], ("a".to_string(), &b"one"[..]));
        assert_eq!((files[1].0.as_str(), files[1].1.len()), ("d/b", 600));
        assert!(read("t.tar", &two[..1500]).unwrap_err().to_string().contains("cut short"));
        assert!(read("t.tar", &entry("../x", b"")).unwrap_err().to_string().contains("outside"));
    }
}

//! The .npz container: a zip of .npy arrays, written with fixed bytes and read with suspicion.
//!
//! Only what models need: little-endian float arrays and one unicode string. Written stored (not deflated) with a fixed
//! timestamp, so the same arrays give the same bytes. Reading checks every size against the file before it allocates.

use std::io::{Read, Seek, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// One member of an archive.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Member {
    /// A float array in C order. `single`: stored as `<f4` instead of `<f8`.
    Floats { shape: Vec<usize>, values: Vec<f64>, single: bool },
    /// A unicode scalar.
    Text(String),
}

/// Largest array that is read: 4 GiB. Models are far smaller.
const MAX_BYTES: u64 = 1 << 32;
/// Longest .npy header that is read; numpy's own limit is 10000.
const MAX_HEADER: usize = 10_000;
/// Deflate cannot expand more than this.
const MAX_RATIO: u64 = 1040;

/// The .npy bytes (format 1.0) of a member.
pub(crate) fn npy(member: &Member) -> Vec<u8> {
    let (descr, shape, body) = match member {
        Member::Floats { shape, values, single: false } => {
            ("<f8".to_owned(), shape.as_slice(), values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())
        }
        Member::Floats { shape, values, single: true } => {
            ("<f4".to_owned(), shape.as_slice(), values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect())
        }
        Member::Text(text) => {
            let units: Vec<u8> = text.chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
            (format!("<U{}", units.len() / 4), [].as_slice(), units)
        }
    };
    let shape = match shape {
        [n] => format!("({n},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // Magic, version and length take 10 bytes; the data start at a multiple of 64.
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(body);
    out
}

/// Writes the members in order.
pub(crate) fn write(to: impl Write + Seek, members: &[(String, Member)]) -> Result<(), String> {
    let mut zip = ZipWriter::new(to);
    // The earliest time a zip can hold: the same arrays give the same bytes on any day.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    for (name, member) in members {
        let bytes = npy(member);
        let options = options.large_file(bytes.len() as u64 >= u64::from(u32::MAX));
        zip.start_file(format!("{name}.npy"), options).map_err(|e| e.to_string())?;
        zip.write_all(&bytes).map_err(|e| e.to_string())?;
    }
    zip.finish().and_then(|mut w| w.flush().map_err(Into::into)).map_err(|e| e.to_string())
}

/// An archive open for reading.
pub(crate) struct Reader<R> {
    zip: ZipArchive<R>,
}

impl<R: Read + Seek> Reader<R> {
    /// Reads the directory.
    pub fn open(from: R) -> Result<Self, String> {
        ZipArchive::new(from).map(|zip| Self { zip }).map_err(|e| format!("not an .npz archive ({e})"))
    }

    /// Whether the archive has that array.
    pub fn has(&self, name: &str) -> bool {
        let name = format!("{name}.npy");
        self.zip.file_names_raw().any(|n| n == name.as_bytes())
    }

    /// Reads one array.
    pub fn member(&mut self, name: &str) -> Result<Member, String> {
        let file = self.zip.by_name(&format!("{name}.npy")).map_err(|e| format!("array `{name}`: {e}"))?;
        let (size, packed) = (file.size(), file.compressed_size());
        if size > MAX_BYTES || size > packed.saturating_mul(MAX_RATIO) {
            return Err(format!("array `{name}` claims {size} bytes from {packed}; refused"));
        }
        // Grows with what is really there, so a lying directory cannot make us allocate.
        let mut bytes = Vec::new();
        file.take(size + 1).read_to_end(&mut bytes).map_err(|e| format!("array `{name}`: {e}"))?;
        parse(&bytes).map_err(|e| format!("array `{name}`: {e}"))
    }
}

/// The value of `'key':` in the header's Python dictionary, up to the next key.
fn field<'a>(header: &'a str, key: &str) -> Result<&'a str, String> {
    let at = header.find(&format!("'{key}':")).ok_or_else(|| format!("no `{key}` in the header"))?;
    let value = header[at + key.len() + 3..].trim_start();
    let end = match value.chars().next() {
        Some('(') => value.find(')').map(|i| i + 1),
        Some('\'') => value[1..].find('\'').map(|i| i + 2),
        _ => value.find([',', '}']),
    };
    end.map(|e| &value[..e]).ok_or_else(|| format!("bad `{key}` in the header"))
}

/// Parses .npy bytes of formats 1.0 to 3.0.
pub(crate) fn parse(bytes: &[u8]) -> Result<Member, String> {
    let magic = bytes.get(..8).ok_or("truncated")?;
    if &magic[..6] != b"\x93NUMPY" {
        return Err("not .npy data".into());
    }
    let (length, start) = match magic[6] {
        1 => {
            let b = bytes.get(8..10).ok_or("truncated")?;
            (usize::from(u16::from_le_bytes([b[0], b[1]])), 10)
        }
        2 | 3 => {
            let b = bytes.get(8..12).ok_or("truncated")?;
            (u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize, 12)
        }
        v => return Err(format!("unknown .npy format {v}")),
    };
    if length > MAX_HEADER {
        return Err(format!("header of {length} bytes"));
    }
    let header = bytes.get(start..start + length).ok_or("truncated")?;
    let header = std::str::from_utf8(header).map_err(|_| "header is not text")?;
    let body = &bytes[start + length..];
    let descr = field(header, "descr")?.trim_matches('\'');
    if field(header, "fortran_order")?.trim() != "False" {
        return Err("Fortran order; save it with numpy.ascontiguousarray".into());
    }
    let inside = field(header, "shape")?.trim_matches(['(', ')']);
    let numbers = inside.split(',').map(str::trim).filter(|s| !s.is_empty());
    let shape = numbers.map(|s| s.parse::<usize>()).collect::<Result<Vec<_>, _>>().map_err(|_| "bad shape")?;
    let items = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).ok_or("shape overflows")?;
    let expect = |width: usize| match items.checked_mul(width) {
        Some(n) if n == body.len() => Ok(()),
        _ => Err(format!(
            "shape {shape:?} of {descr} does not fit {} bytes; the file is truncated or corrupt",
            body.len()
        )),
    };
    // `chunks_exact` gives slices of exactly the width asked for, so the conversions cannot fail.
    match descr {
        "<f8" => {
            expect(8)?;
            let values = body.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes"))).collect();
            Ok(Member::Floats { shape, values, single: false })
        }
        "<f4" => {
            expect(4)?;
            let one = |b: &[u8]| f64::from(f32::from_le_bytes(b.try_into().expect("4 bytes")));
            Ok(Member::Floats { values: body.chunks_exact(4).map(one).collect(), shape, single: true })
        }
        _ if descr.starts_with("<U") && shape.is_empty() => {
            let width = descr[2..].parse::<usize>().ok().and_then(|n| n.checked_mul(4)).ok_or("bad string width")?;
            expect(width)?;
            let code = |b: &[u8]| char::from_u32(u32::from_le_bytes(b.try_into().expect("4 bytes")));
            let text: Option<String> = body.chunks_exact(4).map(code).collect();
            Ok(Member::Text(text.ok_or("not unicode")?.trim_end_matches('\0').to_owned()))
        }
        _ => Err(format!("type {descr}; expected little-endian f4, f8 or one string")),
    }
}

//! A small PNG writer (8-bit RGB or RGBA, one zlib stream): the same bytes every time, in memory, without another crate.

use std::io::Write;

use flate2::Crc;
use flate2::write::ZlibEncoder;

use crate::charts::style::Rgb;
use crate::page::escape::base64;

fn chunk(out: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    out.extend_from_slice(&(data.len() as u32).to_be_bytes());
    out.extend_from_slice(kind);
    out.extend_from_slice(data);
    let mut crc = Crc::new();
    crc.update(kind);
    crc.update(data);
    out.extend_from_slice(&crc.sum().to_be_bytes());
}

/// Encode `pixels` (row by row, 3 or 4 bytes each); `dpi` is written so that the picture prints at its size.
pub fn encode(width: usize, height: usize, channels: usize, pixels: &[u8], dpi: f64) -> Vec<u8> {
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut head = Vec::new();
    head.extend_from_slice(&(width as u32).to_be_bytes());
    head.extend_from_slice(&(height as u32).to_be_bytes());
    head.extend_from_slice(&[8, if channels == 4 { 6 } else { 2 }, 0, 0, 0]);
    chunk(&mut out, b"IHDR", &head);
    let per_metre = (dpi / 0.0254).round() as u32;
    let mut phys = [per_metre.to_be_bytes(), per_metre.to_be_bytes()].concat();
    phys.push(1);
    chunk(&mut out, b"pHYs", &phys);
    let stride = width * channels;
    let mut raw = Vec::with_capacity((stride + 1) * height);
    for row in pixels.chunks_exact(stride.max(1)) {
        // Filter 1 (difference to the left neighbour): drawings have long runs of one colour.
        raw.push(1);
        for i in 0..stride {
            let left = if i >= channels { row[i - channels] } else { 0 };
            raw.push(row[i].wrapping_sub(left));
        }
    }
    let mut z = ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
    // Writing into a Vec cannot fail; an empty stream would still be a valid chunk.
    let data = z.write_all(&raw).and_then(|()| z.finish()).unwrap_or_default();
    chunk(&mut out, b"IDAT", &data);
    chunk(&mut out, b"IEND", &[]);
    out
}

/// One pixel per cell, missing cells transparent.
pub fn cells(rows: usize, cols: usize, colors: &[Option<Rgb>]) -> Vec<u8> {
    let px: Vec<u8> = colors.iter().flat_map(|c| c.map_or([0; 4], |c| [c.0, c.1, c.2, 255])).collect();
    encode(cols, rows, 4, &px, 96.0)
}

/// As a `data:` address.
pub fn data_uri(png: &[u8]) -> String {
    format!("data:image/png;base64,{}", base64(png))
}

//! PNG files in memory: the same bytes every time, with the resolution written down so that a picture prints at its size.

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError, PixelDimensions, Unit};

use crate::charts::style::Rgb;
use crate::page::escape::base64;

/// Encodes `pixels` (row by row, 3 bytes each, or 4 with transparency) at `dpi` dots per inch.
pub fn encode(width: usize, height: usize, channels: usize, pixels: &[u8], dpi: f64) -> Result<Vec<u8>, EncodingError> {
    let mut out = Vec::new();
    let mut file = Encoder::new(&mut out, width as u32, height as u32);
    file.set_color(if channels == 4 { ColorType::Rgba } else { ColorType::Rgb });
    file.set_depth(BitDepth::Eight);
    file.set_compression(Compression::High);
    let per_metre = (dpi / 0.0254).round() as u32;
    file.set_pixel_dims(Some(PixelDimensions { xppu: per_metre, yppu: per_metre, unit: Unit::Meter }));
    let mut writer = file.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(out)
}

/// One pixel per cell, missing cells transparent, as a `data:` address.
pub fn cells(rows: usize, cols: usize, colors: &[Option<Rgb>]) -> Result<String, EncodingError> {
    let pixels: Vec<u8> = colors.iter().flat_map(|c| c.map_or([0; 4], |c| [c.0, c.1, c.2, 255])).collect();
    Ok(format!("data:image/png;base64,{}", base64(&encode(cols, rows, 4, &pixels, 96.0)?)))
}

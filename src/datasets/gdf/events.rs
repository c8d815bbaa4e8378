//! The event table: where in the recording something happened.

use std::io::Read;

use super::bad;
use super::header::{read_exact, u16_at, u32_at};
use crate::Result;

/// One event of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Sample at which it happens, counted from 0 (the file counts from 1).
    pub position: u64,
    /// Type, for example 769 for the cue "left hand".
    pub code: u16,
    /// Channel it belongs to, counted from 1; 0 means all. Always 0 in mode 1.
    pub channel: u16,
    /// Duration in samples; 0 in mode 1.
    pub duration: u32,
}

/// Reads the table that begins at `offset`; `rest` is how many bytes the file still has there.
///
/// Mode 1 holds positions and types; mode 3 adds channel and duration; the bit 4 of newer versions adds time
/// stamps, which are skipped. A file that ends with its records has no events.
pub(super) fn read(file: &str, r: &mut impl Read, version: f64, offset: u64, rest: u64) -> Result<Vec<Event>> {
    if rest == 0 {
        return Ok(Vec::new());
    }
    if rest < 8 {
        return Err(bad(file, offset, "the event table is cut short"));
    }
    let mut head = [0u8; 8];
    read_exact(file, r, &mut head, offset)?;
    let mode = head[0];
    // 1.94 and later: a 24-bit count, then the rate. Before: a 24-bit rate, then the count.
    let count = if version >= 1.94 { u32_at(&head, 0) >> 8 } else { u32_at(&head, 4) } as usize;
    if count == 0 {
        return Ok(Vec::new());
    }
    let with_duration = match mode & !4 {
        1 => false,
        3 => true,
        _ => return Err(bad(file, offset, format!("event table mode {mode}; 1 and 3 are known"))),
    };
    let width = if with_duration { 12 } else { 6 };
    let bytes = count as u64 * width;
    if bytes > rest - 8 {
        let what = format!("{count} events need {bytes} bytes, the file has {} left", rest - 8);
        return Err(bad(file, offset, what));
    }
    let mut table = vec![0u8; bytes as usize];
    read_exact(file, r, &mut table, offset + 8)?;
    let (positions, rest) = table.split_at(4 * count);
    let (codes, rest) = rest.split_at(2 * count);
    (0..count)
        .map(|i| {
            let position = u32_at(positions, 4 * i);
            if position == 0 {
                return Err(bad(file, offset + 8 + 4 * i as u64, "an event at position 0; positions count from 1"));
            }
            Ok(Event {
                position: u64::from(position) - 1,
                code: u16_at(codes, 2 * i),
                channel: if with_duration { u16_at(rest, 2 * i) } else { 0 },
                duration: if with_duration { u32_at(rest, 2 * count + 4 * i) } else { 0 },
            })
        })
        .collect()
}

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

/// The event table.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub events: Vec<Event>,
    /// Positions per second; `None` where the file does not say, which means the rate of the samples.
    pub rate: Option<f64>,
}

/// Reads the table that begins at `offset`; `rest` is how many bytes the file still has there.
///
/// Mode 1 holds positions and types; mode 3 adds channel and duration. In newer versions 4 is added to the mode where time
/// stamps follow, which are skipped. A file that ends with its records has no events.
pub(super) fn read(file: &str, r: &mut impl Read, version: f64, offset: u64, rest: u64) -> Result<Table> {
    if rest == 0 {
        return Ok(Table::default());
    }
    if rest < 8 {
        return Err(bad(file, offset, "the event table is cut short"));
    }
    let mut head = [0u8; 8];
    read_exact(file, r, &mut head, offset)?;
    let mode = head[0];
    // 1.94 and later: a 24-bit count, then the rate. Before: a 24-bit rate, then the count.
    let (count, rate) = match version >= 1.94 {
        true => (u32_at(&head, 0) >> 8, f64::from(f32::from_bits(u32_at(&head, 4)))),
        false => (u32_at(&head, 4), f64::from(u32_at(&head, 0) >> 8)),
    };
    let (count, rate) = (count as usize, Some(rate).filter(|r| r.is_finite() && *r > 0.0));
    if count == 0 {
        return Ok(Table { events: Vec::new(), rate });
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
    let event = |i: usize| {
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
    };
    Ok(Table { events: (0..count).map(event).collect::<Result<_>>()?, rate })
}

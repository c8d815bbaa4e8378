//! Matrix elements: flags, dimensions, name, contents; cells and structs hold further matrices.

use super::element::{Cursor, Element, MATRIX};
use super::{Numeric, Value, bad};
use crate::Result;

/// Deepest nesting of cells and structs. A deeper one is refused, because the reader is recursive and the stack is finite.
const MAX_DEPTH: usize = 16;
const COMPLEX: u32 = 0x0800;

/// Reads a matrix element into its name and value.
pub(super) fn read(e: &Element, depth: usize) -> Result<(String, Value)> {
    if depth > MAX_DEPTH {
        return Err(bad(e.file, e.offset, format!("cells or structs nested more than {MAX_DEPTH} deep")));
    }
    if e.data.is_empty() {
        // How an empty cell is written.
        return Ok((String::new(), Value::Numeric(Numeric { shape: vec![0, 0], data: Vec::new(), imaginary: None })));
    }
    let mut c = Cursor::inside(e);
    let flags = c.element()?.numbers()?.first().copied().unwrap_or(0.0) as u32;
    let class = (flags & 0xff) as u8;
    if matches!(class, 16 | 17) {
        // Function handles and opaque objects have a layout of their own.
        return Ok((String::new(), Value::Unsupported(class)));
    }
    let at = c.offset();
    let (shape, count) = shape(e.file, at, &c.element()?.numbers()?)?;
    let name = c.element()?.text()?;
    let value = match class {
        1 => cell(&mut c, e, shape, count, depth)?,
        2 => structure(&mut c, e, shape, count, depth)?,
        4 => {
            let text = if count == 0 && c.is_empty() { String::new() } else { c.element()?.text()? };
            Value::Text(text)
        }
        6..=15 => {
            let data = numbers(&mut c, e, count)?;
            let imaginary = if flags & COMPLEX != 0 { Some(numbers(&mut c, e, count)?) } else { None };
            Value::Numeric(Numeric { shape, data, imaginary })
        }
        other => Value::Unsupported(other),
    };
    Ok((name, value))
}

fn shape(file: &str, at: u64, dims: &[f64]) -> Result<(Vec<usize>, usize)> {
    if dims.len() < 2 || dims.len() > 32 || dims.iter().any(|d| *d < 0.0) {
        return Err(bad(file, at, "an array needs 2 to 32 dimensions, none negative"));
    }
    let shape: Vec<usize> = dims.iter().map(|d| *d as usize).collect();
    let count = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
    Ok((shape, count.ok_or_else(|| bad(file, at, "the number of items overflows"))?))
}

fn numbers(c: &mut Cursor, e: &Element, count: usize) -> Result<Vec<f64>> {
    let at = c.offset();
    if count == 0 && c.is_empty() {
        return Ok(Vec::new());
    }
    let data = c.element()?.numbers()?;
    if data.len() != count {
        return Err(bad(e.file, at, format!("{} numbers in an array of {count}", data.len())));
    }
    Ok(data)
}

fn cell(c: &mut Cursor, e: &Element, shape: Vec<usize>, count: usize, depth: usize) -> Result<Value> {
    enough(c, e, count)?;
    let cells = (0..count).map(|_| item(c, depth)).collect::<Result<_>>()?;
    Ok(Value::Cell { shape, cells })
}

fn structure(c: &mut Cursor, e: &Element, shape: Vec<usize>, count: usize, depth: usize) -> Result<Value> {
    let at = c.offset();
    let width = c.element()?.numbers()?.first().copied().unwrap_or(0.0) as usize;
    let raw = c.element()?;
    if width == 0 || width > 4096 || raw.data.len() % width != 0 {
        return Err(bad(e.file, at, format!("field names of width {width} in {} bytes", raw.data.len())));
    }
    let names: Vec<String> =
        raw.data.chunks_exact(width).map(|n| n.iter().take_while(|b| **b != 0).map(|b| *b as char).collect()).collect();
    let items = names.len().checked_mul(count).ok_or_else(|| bad(e.file, at, "the number of fields overflows"))?;
    enough(c, e, items)?;
    // A struct without fields takes no bytes per element: do not build rows for it.
    let rows = if names.is_empty() { 0 } else { count };
    let rows = (0..rows).map(|_| names.iter().map(|_| item(c, depth)).collect()).collect::<Result<_>>()?;
    Ok(Value::Struct { shape, names, rows })
}

/// Refuses a count that cannot be true: each item takes at least the 8 bytes of its tag.
fn enough(c: &Cursor, e: &Element, count: usize) -> Result<()> {
    if count > c.left() / 8 {
        return Err(bad(e.file, c.offset(), format!("{count} items in {} bytes", c.left())));
    }
    Ok(())
}

fn item(c: &mut Cursor, depth: usize) -> Result<Value> {
    let at = c.offset();
    let e = c.element()?;
    if e.kind != MATRIX {
        return Err(bad(e.file, at, format!("element type {} where an array should be", e.kind)));
    }
    Ok(read(&e, depth + 1)?.1)
}

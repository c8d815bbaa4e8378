//! How texts are written for the user: colours, durations, sizes, tables.
//!
//! Colour is used only on a terminal and never with `NO_COLOR` or `TERM=dumb`; nothing is said by colour alone.

use std::io::IsTerminal;
use std::time::Duration;

/// Colour or not, decided once per stream.
#[derive(Clone, Copy, Debug)]
pub struct Paint(bool);

impl Paint {
    /// For results.
    pub fn stdout() -> Paint {
        Paint(allowed() && std::io::stdout().is_terminal())
    }

    /// For progress and messages.
    pub fn stderr() -> Paint {
        Paint(allowed() && std::io::stderr().is_terminal())
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    /// Good.
    pub fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    /// To be looked at.
    pub fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    /// Bad.
    pub fn red(self, text: &str) -> String {
        self.with("1;31", text)
    }
}

fn allowed() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) && !dumb()
}

/// Whether the terminal knows no control sequences: neither colours nor a cursor that moves.
pub fn dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// [`duration`] of a number of seconds that was read from a file, where a damaged one may say anything.
pub fn seconds(s: f64) -> String {
    Duration::try_from_secs_f64(s).map_or_else(|_| "unknown time".to_string(), duration)
}

/// `12 ms`, `3.4 s`, `5 min 06 s`, `2 h 03 min`.
pub fn duration(d: Duration) -> String {
    let s = d.as_secs_f64();
    match s {
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 99.95 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{} min {:02} s", d.as_secs() / 60, d.as_secs() % 60),
        _ => format!("{} h {:02} min", d.as_secs() / 3600, d.as_secs() / 60 % 60),
    }
}

/// `0 B`, `1.2 KiB`, `34 MiB`.
pub fn size(bytes: u64) -> String {
    let mut x = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if x < 1000.0 {
            return if unit == "B" || x >= 99.95 { format!("{x:.0} {unit}") } else { format!("{x:.1} {unit}") };
        }
        x /= 1024.0;
    }
    format!("{x:.1} TiB")
}

/// `1 unit`, `2 units`.
pub fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// Rows under a header, columns aligned, numbers to the right; the last column runs free.
pub struct Table {
    rows: Vec<Vec<String>>,
    right: &'static [usize],
}

impl Table {
    /// A table whose columns `right` are right-aligned.
    pub fn new(header: &[&str], right: &'static [usize]) -> Table {
        Table { rows: vec![header.iter().map(ToString::to_string).collect()], right }
    }

    /// Add a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines.
    pub fn render(&self) -> String {
        let columns = self.rows[0].len();
        let width = |c: usize| self.rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (c, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[c] - cell.chars().count());
                let right = self.right.contains(&c);
                line += &if right { format!("{pad}{cell}  ") } else { format!("{cell}{pad}  ") };
            }
            out += line.trim_end();
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        let ms = |x| duration(Duration::from_millis(x));
        assert_eq!(
            [ms(12), ms(999), ms(3_400), ms(306_000), ms(7_380_000)],
            ["12 ms", "999 ms", "3.4 s", "5 min 06 s", "2 h 03 min"]
        );
    }

    #[test]
    fn seconds_of_a_damaged_record_are_unknown() {
        assert_eq!([1.5, -1.0, f64::NAN, f64::INFINITY, 1e300].map(seconds)[..2], ["1.5 s", "unknown time"]);
        assert!([f64::NAN, f64::INFINITY, 1e300].iter().all(|s| seconds(*s) == "unknown time"));
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!([size(0), size(1229), size(35_651_584)], ["0 B", "1.2 KiB", "34.0 MiB"]);
    }

    #[test]
    fn tables_align() {
        let mut t = Table::new(&["stage", "units", "why"], &[1]);
        t.row(vec!["a".into(), "12".into(), String::new()]);
        assert_eq!(t.render(), "stage  units  why\na         12\n");
    }
}

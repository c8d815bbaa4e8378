//! Results as an archive that outlives the program: `repro export` writes a Workflow Run RO-Crate, `repro import` checks one.
//!
//! | file | what |
//! |---|---|
//! | `export` | which files go in, and the zip |
//! | `metadata` | ro-crate-metadata.json: files, units, machines, data, citation |
//! | `import` | reads one back: every checksum, every result against the lock file, then its report |

pub mod export;
pub mod import;
mod metadata;

/// The file of the metadata in a crate.
const METADATA: &str = "ro-crate-metadata.json";
/// The text before the digests of a unit's results in the metadata. `import` searches for it.
const RESULTS: &str = "BLAKE3 of its results: ";
/// The file of the report in a crate.
const REPORT: &str = "report.html";

/// The SHA-256 of some bytes in hexadecimal, as `sha256sum` prints it.
fn sha256(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().map(|b| format!("{b:02x}")).collect()
}

/// Seconds since 1970 as a date and time of RFC 3339, in UTC.
fn time(seconds: u64) -> String {
    let (days, rest) = ((seconds / 86_400) as i64, seconds % 86_400);
    // Days since 1 March of year 0, so that a leap day is the last day of its year. An era has 400 years.
    let z = days + 719_468;
    let (era, day) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (year + era * 400 + i64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_those_of_the_calendar() {
        let said = [0, 951_782_399, 951_782_400, 1_709_210_096, 1_798_761_599].map(super::time);
        let expected = [
            "1970-01-01T00:00:00Z",
            "2000-02-28T23:59:59Z",
            "2000-02-29T00:00:00Z",
            "2024-02-29T12:34:56Z",
            "2026-12-31T23:59:59Z",
        ];
        assert_eq!(said, expected);
    }
}

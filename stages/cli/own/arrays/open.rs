//! From the name that the user wrote to the array: which reader, which array of several, and what to say about formats that are not read.

use super::super::output::refuse_target;
use super::{Inner, csv, times};
use anyhow::{Context, Result, bail};
use datasets::mat::{self, Value};
use ndarray::{ArrayD, IxDyn, ShapeBuilder};
use npy::{Array, NpzReader, Reader};
use std::fs::File;
use std::io::{Cursor, Read, Seek, Write};

/// Files that hold several arrays: `FILE.npz:NAME`.
const BUNDLES: [&str; 2] = [".npz", ".mat"];

pub(super) fn open(name: &str) -> Result<Inner> {
    let (path, member) = parts(name);
    refuse_target(path.as_ref())?;
    let ends = |end: &str| path.to_ascii_lowercase().ends_with(end);
    if ends(".npz") {
        return bundle(path, member);
    }
    if ends(".mat") {
        return matlab(path, member);
    }
    if ends(".csv") || ends(".txt") || ends(".tsv") {
        return text(path);
    }
    if let Some(conversion) = conversion(path) {
        bail!("{conversion}");
    }
    match whole(path)? {
        Input::File(file) => Ok(Inner::File(Reader::open(path, file)?)),
        Input::Piped(bytes) => {
            let mut npy = Reader::from_bytes(path, &bytes)?;
            if npy.dtype().is_text() {
                return Ok(Inner::Words(npy.text()?));
            }
            Ok(Inner::Here { array: npy.all()?, single: npy.dtype().is_single() })
        }
    }
}

/// The file of `FILE.npz:NAME`, and the name.
pub fn parts(name: &str) -> (&str, Option<&str>) {
    for end in BUNDLES {
        if let Some(at) = name.to_ascii_lowercase().rfind(&format!("{end}:")) {
            return (&name[..at + end.len()], Some(&name[at + end.len() + 1..]));
        }
    }
    (name, None)
}

/// How to convert what is not read here, as one sentence; nothing for other names.
pub fn conversion(path: &str) -> Option<String> {
    let lower = path.to_ascii_lowercase();
    let (what, how) = if lower.ends_with(".set") || lower.ends_with(".fdt") {
        (
            "an EEGLAB data set",
            "in Python: numpy.save(\"E.npy\", mne.read_epochs_eeglab(\"FILE.set\").get_data()), then --signals E.npy",
        )
    } else if lower.ends_with(".h5") || lower.ends_with(".hdf5") {
        ("an HDF5 file", "in Python: numpy.save(\"X.npy\", h5py.File(\"FILE\")[\"NAME\"][()])")
    } else if lower.ends_with(".edf") || lower.ends_with(".bdf") || lower.ends_with(".vhdr") || lower.ends_with(".fif")
    {
        (
            "a recording in a format that is not read here",
            "in Python: read it with mne, cut epochs, numpy.save(\"E.npy\", epochs.get_data())",
        )
    } else {
        return None;
    };
    Some(format!("{path} is {what}; convert it ({how})"))
}

enum Input {
    /// A file in which one can go back and forth.
    File(File),
    /// A pipe, read to its end.
    Piped(Vec<u8>),
}

fn whole(path: &str) -> Result<Input> {
    let failed = || format!("{path} cannot be read");
    let mut file = File::open(path).with_context(failed)?;
    let meta = file.metadata().with_context(failed)?;
    if meta.is_dir() {
        bail!("{path} is a folder; name a file");
    }
    if meta.is_file() {
        return Ok(Input::File(file));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).with_context(failed)?;
    Ok(Input::Piped(bytes))
}

/// The bytes of a file or a pipe.
pub fn bytes(path: &str) -> Result<Vec<u8>> {
    match whole(path)? {
        Input::Piped(bytes) => Ok(bytes),
        Input::File(mut file) => {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).with_context(|| format!("{path} cannot be read"))?;
            Ok(bytes)
        }
    }
}

fn bundle(path: &str, member: Option<&str>) -> Result<Inner> {
    match whole(path)? {
        Input::File(file) => array_of(path, member, NpzReader::open(path, std::io::BufReader::new(file))?),
        Input::Piped(bytes) => array_of(path, member, NpzReader::open(path, Cursor::new(bytes))?),
    }
}

fn array_of<R: Read + Seek>(path: &str, member: Option<&str>, mut archive: NpzReader<R>) -> Result<Inner> {
    let name = choose(path, member, &archive.names())?;
    Ok(match archive.array(&name)? {
        Array::Numbers { values, dtype } => Inner::Here { array: values, single: dtype.is_single() },
        Array::Text { values, .. } => Inner::Words(values),
    })
}

/// The array that is meant: the one of that name, or the only one.
fn choose(path: &str, member: Option<&str>, names: &[String]) -> Result<String> {
    let list = names.join(", ");
    match (member, names) {
        (_, []) => bail!("{path} holds no arrays"),
        (Some(name), all) if all.iter().any(|n| n == name) => Ok(name.to_owned()),
        (Some(name), _) => bail!("{path} has no array `{name}`; it holds {list}"),
        (None, [one]) => Ok(one.clone()),
        (None, _) => bail!("{path} holds several arrays ({list}); write {path}:NAME to choose one"),
    }
}

fn matlab(path: &str, member: Option<&str>) -> Result<Inner> {
    let variables = mat::read(path, &bytes(path)?)?;
    let usable = |v: &Value| matches!(v, Value::Numeric(_)) || words(v).is_some();
    let names: Vec<String> = variables.iter().filter(|(_, v)| usable(v)).map(|(n, _)| n.clone()).collect();
    let name = choose(path, member, &names)?;
    // `choose` gives a name of the list.
    let Some((_, value)) = variables.into_iter().find(|(n, _)| *n == name) else {
        bail!("{path} has no array `{name}`")
    };
    if let Some(words) = words(&value) {
        return Ok(Inner::Words(words));
    }
    let Value::Numeric(numbers) = value else { bail!("{path}:{name} holds no numbers") };
    if numbers.imaginary.is_some() {
        bail!("{path}:{name} holds complex numbers; save its real part");
    }
    // MATLAB keeps the first axis fastest, as Fortran does.
    let array = ArrayD::from_shape_vec(IxDyn(&numbers.shape).f(), numbers.data)?;
    let array = match *array.shape() {
        [n, m, l] if n == m && m != l => {
            note(&format!(
                "{path}:{name} is {}, as MATLAB keeps matrices; read as {l} matrices of {}",
                times(&[n, m, l]),
                times(&[n, m])
            ));
            array.permuted_axes(IxDyn(&[2, 0, 1]))
        }
        _ => array,
    };
    Ok(Inner::Here { array: array.as_standard_layout().into_owned(), single: false })
}

/// The texts of a cell array of texts.
fn words(value: &Value) -> Option<Vec<String>> {
    value.cells()?.iter().map(|c| c.text().map(str::to_owned)).collect()
}

fn text(path: &str) -> Result<Inner> {
    let bytes = bytes(path)?;
    let text = std::str::from_utf8(&bytes).ok().with_context(|| format!("{path} is no text; write it as UTF-8"))?;
    match csv::table(path, text) {
        Ok(table) => {
            if let Some(what) = table.note {
                note(&format!("{path}: {what}"));
            }
            Ok(Inner::Here { array: table.values.into_dyn(), single: false })
        }
        // A column of words: labels.
        Err(e) => match csv::words(path, text)? {
            Some(words) if words.iter().all(|w| w.parse::<f64>().is_err()) && !words.is_empty() => {
                Ok(Inner::Words(words))
            }
            _ => Err(e),
        },
    }
}

/// A line on stderr about how something was understood. It never ends the command.
fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "note: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_arrays_in_bundles() {
        assert_eq!(parts("a.npz"), ("a.npz", None));
        assert_eq!(parts("d.x/a.npz:layer0"), ("d.x/a.npz", Some("layer0")));
        assert_eq!(parts("a.mat:C"), ("a.mat", Some("C")));
        assert_eq!(parts("C:\\a.npy"), ("C:\\a.npy", None));
    }

    #[test]
    fn what_is_not_read_names_its_conversion() {
        assert!(conversion("S1.set").unwrap().contains("read_epochs_eeglab"));
        assert!(conversion("S1.EDF").unwrap().contains("mne") && conversion("x.h5").unwrap().contains("h5py"));
        assert_eq!(conversion("x.npy"), None);
    }
}

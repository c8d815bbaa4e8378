//! Arrays that people bring: .npy (in memory or in pieces), one array of an .npz, a matrix as CSV.
//!
//! An .npz with several arrays is addressed as `file.npz:name`. Matrices that are symmetric up to the rounding of the
//! file's own precision are made exactly symmetric, so that float32 data do not count as asymmetric.

use super::facts::number as readable;
use super::times;
use crate::cli::text::count;
use anyhow::{Context, Result, bail, ensure};
use ndarray::{Array1, Array2, Array3, ArrayD, ArrayViewMut2, Axis, Ix1, Ix2, IxDyn, Slice};
use npy::{NpzReader, Reader};
use std::fs::File;
use std::ops::Range;

/// An array to read.
#[derive(Debug)]
pub struct Source {
    /// As the user wrote it.
    pub name: String,
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    File(Reader<File>),
    Here(ArrayD<f64>),
}

impl Source {
    /// Opens `file.npy`, `file.npz`, `file.npz:array` or `file.csv`.
    pub fn open(name: &str) -> Result<Source> {
        let (path, member) = match name.rsplit_once(".npz:") {
            Some((stem, member)) => (format!("{stem}.npz"), Some(member)),
            None => (name.to_owned(), None),
        };
        let ends = |end: &str| path.to_ascii_lowercase().ends_with(end);
        let inner = if ends(".npz") {
            Inner::Here(bundled(&path, member)?)
        } else if ends(".csv") || ends(".txt") {
            Inner::Here(csv(&path)?.into_dyn())
        } else {
            Inner::File(Reader::open(&path, open(&path)?)?)
        };
        Ok(Source { name: name.into(), inner })
    }

    /// Lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        match &self.inner {
            Inner::File(npy) => npy.shape(),
            Inner::Here(array) => array.shape(),
        }
    }

    /// Whether the file holds 4-byte floats.
    pub fn single(&self) -> bool {
        matches!(&self.inner, Inner::File(npy) if npy.dtype().is_single())
    }

    /// Whether to read it in pieces. What is in memory already is not.
    pub fn large(&self, limit: u64) -> bool {
        matches!(&self.inner, Inner::File(npy) if npy.header().bytes() > limit)
    }

    /// Items `range` along the first axis.
    pub fn rows(&mut self, range: Range<usize>) -> Result<ArrayD<f64>> {
        let mut shape = self.shape().to_vec();
        if let Some(first) = shape.first_mut() {
            *first = range.len();
        }
        match &mut self.inner {
            Inner::File(npy) => Ok(ArrayD::from_shape_vec(IxDyn(&shape), npy.rows(range)?)?),
            Inner::Here(array) => Ok(array.slice_axis(Axis(0), Slice::from(range)).to_owned()),
        }
    }

    /// Everything.
    pub fn all(&mut self) -> Result<ArrayD<f64>> {
        match &mut self.inner {
            Inner::Here(array) => Ok(array.clone()),
            Inner::File(npy) => Ok(npy.all()?),
        }
    }

    /// Number and size of a batch of square matrices (l, n, n), at least one.
    pub fn batch(&self, what: &str) -> Result<(usize, usize)> {
        let (name, shape) = (&self.name, times(self.shape()));
        match *self.shape() {
            [0, ..] | [_, 0, _] => bail!("{name} is empty ({shape}); {what} needs at least one matrix"),
            [l, n, m] if n == m => Ok((l, n)),
            _ => bail!("{name} has shape {shape}; {what} must be l square matrices, shape (l, n, n)"),
        }
    }

    /// Matrices `range` of a batch: finite, and exactly symmetric where they are so up to rounding.
    pub fn matrices(&mut self, range: Range<usize>) -> Result<Array3<f64>> {
        let (from, tolerance) = (range.start, self.tolerance());
        let mut block: Array3<f64> = self.rows(range)?.into_dimensionality()?;
        for (s, mut m) in block.outer_iter_mut().enumerate() {
            if m.iter().any(|v| !v.is_finite()) {
                bail!("{}: sample {} holds NaN or infinite values; remove or repair it", self.name, from + s);
            }
            tidy(&mut m, tolerance);
        }
        Ok(block)
    }

    /// A whole batch of matrices, checked as [`matrices`](Self::matrices).
    pub fn whole(&mut self, what: &str) -> Result<Array3<f64>> {
        let (l, _) = self.batch(what)?;
        self.matrices(0..l)
    }

    /// A whole batch of symmetric positive definite matrices.
    pub fn definite(&mut self, what: &str) -> Result<Array3<f64>> {
        let batch = self.whole(what)?;
        for (i, m) in batch.outer_iter().enumerate() {
            let name = &self.name;
            ensure!(
                linalg::is_symmetric(m, 1e-8),
                "{name}: matrix {i} is not symmetric; save (A + A^T) / 2 if that is what you mean"
            );
            if linalg::cholesky(m).is_err() {
                let least = linalg::eigh(m)?.values[0]; // `batch` refuses matrices without rows
                bail!(
                    "{name}: matrix {i} is not positive definite, its least eigenvalue is {}; use a shrinkage covariance or drop it",
                    readable(least)
                );
            }
        }
        Ok(batch)
    }

    /// One matrix; NaN is allowed.
    pub fn matrix(&mut self, what: &str) -> Result<Array2<f64>> {
        let (name, shape) = (self.name.clone(), times(self.shape()));
        ensure!(!self.shape().contains(&0), "{name} is empty ({shape}); {what} needs at least one row and column");
        let array = self.all()?;
        array
            .into_dimensionality::<Ix2>()
            .ok()
            .with_context(|| format!("{name} has shape {shape}; {what} is one matrix"))
    }

    /// One whole number per sample.
    pub fn labels(&mut self, count: usize, of: &str) -> Result<Vec<i64>> {
        let (name, shape) = (self.name.clone(), times(self.shape()));
        // A CSV column or a (l, 1) array is as good as a vector.
        let flat: Array1<f64> = match self.all()? {
            a if a.ndim() == 2 && (a.shape()[0] == 1 || a.shape()[1] == 1) => a.into_iter().collect(),
            a => a
                .into_dimensionality::<Ix1>()
                .ok()
                .with_context(|| format!("{name} has shape {shape}; labels are one number per sample, shape (l,)"))?,
        };
        let n = flat.len();
        ensure!(n == count, "{name} has {n} labels for the {count} matrices of {of}; give one each");
        let range = f64::from(i32::MIN)..=f64::from(i32::MAX);
        for (i, v) in flat.iter().enumerate() {
            if v.fract() != 0.0 || !range.contains(v) {
                bail!("{name}: label {i} is {v}; labels are whole numbers from {} to {}", i32::MIN, i32::MAX);
            }
        }
        Ok(flat.iter().map(|v| *v as i64).collect())
    }

    /// How far from symmetric counts as rounding.
    pub fn tolerance(&self) -> f64 {
        1e3 * if self.single() { f64::from(f32::EPSILON) } else { f64::EPSILON }
    }
}

/// Samples that one piece of a streamed file holds: about 32 MiB.
pub fn piece(shape: &[usize]) -> usize {
    let each: usize = shape.iter().skip(1).product::<usize>() * 8;
    ((32 << 20) / each.max(1)).max(1)
}

/// Replaces a nearly symmetric matrix by its symmetric part.
fn tidy(m: &mut ArrayViewMut2<'_, f64>, tolerance: f64) {
    let n = m.nrows();
    let scale = m.iter().fold(0.0f64, |s, v| s.max(v.abs()));
    let near = (0..n).all(|i| (0..i).all(|j| (m[[i, j]] - m[[j, i]]).abs() <= tolerance * scale));
    if near {
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (m[[i, j]] + m[[j, i]]);
                (m[[i, j]], m[[j, i]]) = (mean, mean);
            }
        }
    }
}

fn open(path: &str) -> Result<File> {
    File::open(path).with_context(|| format!("{path} cannot be read"))
}

/// One array of an .npz.
fn bundled(path: &str, member: Option<&str>) -> Result<ArrayD<f64>> {
    let mut archive = NpzReader::open(path, std::io::BufReader::new(open(path)?))?;
    let names = archive.names();
    let list = names.join(", ");
    let name = match (member, names.as_slice()) {
        (Some(name), all) if all.iter().any(|n| n == name) => name,
        (Some(name), _) => bail!("{path} has no array `{name}`; it holds {list}"),
        (None, [one]) => one.as_str(),
        (None, _) => bail!("{path} holds several arrays ({list}); write {path}:NAME to choose one"),
    };
    match archive.array(name)? {
        npy::Array::Numbers { values, .. } => Ok(values),
        npy::Array::Text { .. } => bail!("{path}:{name} holds text; numbers are needed"),
    }
}

/// Numbers separated by commas, semicolons or blanks. A first line of words is a header; empty fields and `nan` are NaN.
fn csv(path: &str) -> Result<Array2<f64>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{path} cannot be read"))?;
    let (mut values, mut columns, mut rows) = (Vec::new(), None, 0);
    for (number, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let separator = [',', ';'].into_iter().find(|s| line.contains(*s));
        let fields: Vec<&str> = match separator {
            Some(s) => line.split(s).map(str::trim).collect(),
            None => line.split_whitespace().collect(),
        };
        let missing = |f: &str| f.is_empty() || f.eq_ignore_ascii_case("nan") || f.eq_ignore_ascii_case("na");
        let parsed: Option<Vec<f64>> =
            fields.iter().map(|f| if missing(f) { Some(f64::NAN) } else { f.parse().ok() }).collect();
        let Some(parsed) = parsed else {
            ensure!(
                columns.is_none() && rows == 0 && number == 0,
                "{path}:{}: not all fields are numbers; repair the line",
                number + 1
            );
            continue;
        };
        let expected = *columns.get_or_insert(parsed.len());
        let got = parsed.len();
        ensure!(
            got == expected,
            "{path}:{}: {} where the lines before have {expected}; repair the line",
            number + 1,
            count(got, "field")
        );
        values.extend(parsed);
        rows += 1;
    }
    let columns = columns.unwrap_or(0);
    ensure!(rows > 0 && columns > 0, "{path} holds no numbers; a matrix is one line per row");
    Ok(Array2::from_shape_vec((rows, columns), values)?)
}

//! Readers of the two formats of EEG recordings: GDF and MATLAB v5.

use crate::arrays::refused;
use crate::run::compute;
use datasets::gdf::GdfReader;
use datasets::mat::{self, Value};
use ndarray::{ArrayD, IxDyn, ShapeBuilder};
use numpy::IntoPyArray;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

/// Signals, rate, channels and events of a recording.
#[pyfunction]
#[pyo3(signature = (path, channels))]
pub fn read_gdf<'py>(py: Python<'py>, path: PathBuf, channels: Option<Vec<String>>) -> PyResult<Bound<'py, PyDict>> {
    let name = path.display().to_string();
    let file = File::open(&path).map_err(|e| PyOSError::new_err(format!("{name} cannot be read: {e}")))?;
    let done = compute(py, 1, || -> Result<_, String> {
        let mut gdf = GdfReader::open(&name, BufReader::new(file)).map_err(|e| e.to_string())?;
        let labels: Vec<String> = gdf.header().channels.iter().map(|c| c.label.clone()).collect();
        let chosen: Vec<usize> = match &channels {
            // Channels without regular samples have no signal.
            None => (0..labels.len()).filter(|c| gdf.header().channels[*c].samples_per_record > 0).collect(),
            Some(wanted) => wanted
                .iter()
                .map(|w| {
                    let found = labels.iter().position(|l| l.eq_ignore_ascii_case(w.trim()));
                    found.ok_or_else(|| format!("{name} has no channel `{w}`; it has {}", labels.join(", ")))
                })
                .collect::<Result<_, _>>()?,
        };
        let rates: Vec<f64> = chosen.iter().map(|c| gdf.header().rate(*c)).collect();
        if rates.windows(2).any(|w| w[0] != w[1]) {
            return Err(format!("{name} has channels of different rates; name those of one rate by channels="));
        }
        let signal = gdf.read_channels(&chosen).map_err(|e| e.to_string())?;
        let events: Vec<(u64, u16, u32)> = gdf.events().iter().map(|e| (e.position, e.code, e.duration)).collect();
        let used: Vec<String> = chosen.iter().map(|c| labels[*c].clone()).collect();
        Ok((signal, rates.first().copied().unwrap_or(0.0), used, events))
    })?;
    let (signal, rate, used, events) = done.map_err(refused)?;
    let out = PyDict::new(py);
    out.set_item("signals", signal.into_pyarray(py))?;
    out.set_item("rate", rate)?;
    out.set_item("channels", used)?;
    out.set_item("events", events)?;
    Ok(out)
}

/// All variables of a MATLAB v5 file.
#[pyfunction]
pub fn read_mat<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let name = path.display().to_string();
    let bytes = std::fs::read(&path).map_err(|e| PyOSError::new_err(format!("{name} cannot be read: {e}")))?;
    let variables = compute(py, 1, || mat::read(&name, &bytes).map_err(|e| e.to_string()))?.map_err(refused)?;
    let out = PyDict::new(py);
    for (name, value) in variables {
        out.set_item(name, python(py, value)?)?;
    }
    Ok(out)
}

/// Arrays in MATLAB's order of entries, texts, lists of cells, lists of dictionaries for struct arrays; None for what is not read.
fn python<'py>(py: Python<'py>, value: Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Numeric(n) => {
            let shape = || IxDyn(&n.shape).f();
            let real = ArrayD::from_shape_vec(shape(), n.data).map_err(refused)?;
            match n.imaginary {
                None => Ok(real.into_pyarray(py).into_any()),
                Some(imaginary) => {
                    let imaginary = ArrayD::from_shape_vec(shape(), imaginary).map_err(refused)?.into_pyarray(py);
                    imaginary
                        .call_method1("__mul__", (pyo3::types::PyComplex::from_doubles(py, 0.0, 1.0),))?
                        .call_method1("__add__", (real.into_pyarray(py),))
                }
            }
        }
        Value::Text(text) => Ok(text.into_pyobject(py)?.into_any()),
        Value::Cell { cells, .. } => {
            let cells = cells.into_iter().map(|c| python(py, c)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, cells)?.into_any())
        }
        Value::Struct { names, rows, .. } => {
            let list = PyList::empty(py);
            for row in rows {
                let fields = PyDict::new(py);
                for (name, value) in names.iter().zip(row) {
                    fields.set_item(name, python(py, value)?)?;
                }
                list.append(fields)?;
            }
            Ok(list.into_any())
        }
        Value::Unsupported(_) => Ok(py.None().into_bound(py)),
    }
}

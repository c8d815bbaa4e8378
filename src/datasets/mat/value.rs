//! The value of a variable.

/// A numeric array; values in column-major order, as MATLAB keeps them.
#[derive(Debug, Clone, PartialEq)]
pub struct Numeric {
    /// Dimensions, at least two.
    pub shape: Vec<usize>,
    /// Real parts.
    pub data: Vec<f64>,
    /// Imaginary parts of a complex array.
    pub imaginary: Option<Vec<f64>>,
}

/// A variable, a cell or a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Double, single, any integer class, or logical.
    Numeric(Numeric),
    /// Characters in column-major order (for a row, the string itself).
    Text(String),
    /// Cells in column-major order.
    Cell {
        /// Dimensions.
        shape: Vec<usize>,
        /// The cells.
        cells: Vec<Value>,
    },
    /// A struct array: `rows[i][k]` is field `names[k]` of element `i`.
    Struct {
        /// Dimensions.
        shape: Vec<usize>,
        /// Field names.
        names: Vec<String>,
        /// Field values of each element.
        rows: Vec<Vec<Value>>,
    },
    /// A class this reader does not read (sparse, object, function), by its number.
    Unsupported(u8),
}

impl Value {
    /// The numeric array, if it is one.
    pub fn numeric(&self) -> Option<&Numeric> {
        match self {
            Value::Numeric(n) => Some(n),
            _ => None,
        }
    }

    /// The only number of a 1 x 1 array.
    pub fn scalar(&self) -> Option<f64> {
        self.numeric().and_then(|n| if n.data.len() == 1 { Some(n.data[0]) } else { None })
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(t) => Some(t),
            _ => None,
        }
    }

    /// The cells, if it is a cell array.
    pub fn cells(&self) -> Option<&[Value]> {
        match self {
            Value::Cell { cells, .. } => Some(cells),
            _ => None,
        }
    }

    /// Field `name` of element `i` of a struct array.
    pub fn field_of(&self, i: usize, name: &str) -> Option<&Value> {
        match self {
            Value::Struct { names, rows, .. } => rows.get(i)?.get(names.iter().position(|n| n == name)?),
            _ => None,
        }
    }

    /// Field `name` of a 1 x 1 struct.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.field_of(0, name)
    }
}

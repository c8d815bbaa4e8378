//! Why a file could not be read. The text is one sentence: the file, what is wrong, what to do.

use std::fmt;

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

/// A file (or a member of an archive) and what is wrong with it.
#[derive(Debug)]
pub struct Error {
    /// The name that the caller gave the file.
    pub file: String,
    /// What is wrong.
    pub defect: Defect,
}

/// What can be wrong with a file. The text continues the sentence that the file's name begins.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Defect {
    /// The operating system refused.
    #[error("cannot be read")]
    Io(#[source] std::io::Error),
    /// The file does not begin as a `.npy` file does.
    #[error("is no .npy file; write it with numpy.save")]
    NotNpy,
    /// A version of the format that came after this reader.
    #[error("has .npy format {0}, which is not known here; write it with numpy.save")]
    Version(u8),
    /// A header far longer than numpy writes.
    #[error("has a header of {0} bytes; write it with numpy.save")]
    LongHeader(usize),
    /// The file ends before its header does.
    #[error("ends inside its header; copy or save it again")]
    CutHeader,
    /// A key that every header has is not there.
    #[error("has no `{0}` in its header; write it with numpy.save")]
    NoField(&'static str),
    /// Items that are not numbers, or not text where text was asked for.
    #[error("holds items of type `{0}`; convert them with .astype(\"float64\")")]
    Type(String),
    /// A shape that is not a tuple of at most 32 whole numbers.
    #[error("has a shape that cannot be read; write it with numpy.save")]
    Shape,
    /// Fewer bytes than the header promises.
    #[error("is cut short: {shape} items of {size} bytes are promised, {there} bytes are there; copy or save it again")]
    CutShort {
        /// The promised shape.
        shape: String,
        /// Bytes of one item.
        size: usize,
        /// Bytes after the header.
        there: u64,
    },
    /// More bytes than the header promises, in a member of an archive.
    #[error("has more bytes than its header promises; save it again")]
    TooLong,
    /// Text that is not Unicode.
    #[error("holds text that is not Unicode; save it again")]
    NotUnicode,
    /// The zip library refuses the archive.
    #[error("not an .npz archive ({0})")]
    NotNpz(String),
    /// The archive has no such array.
    #[error("is not in the archive, which holds {0}")]
    NoMember(String),
    /// The directory of the archive states a size that no packed data of that length can have.
    #[error("claims {size} bytes from {packed}; refused")]
    Bomb {
        /// The stated size.
        size: u64,
        /// Bytes in the archive.
        packed: u64,
    },
    /// The member does not unpack.
    #[error("does not unpack ({0}); copy or save the archive again")]
    Damaged(String),
}

impl Error {
    pub(crate) fn new(file: &str, defect: Defect) -> Self {
        Error { file: file.to_owned(), defect }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.defect {
            Defect::NotNpz(_) => write!(f, "{} is {}", self.file, self.defect),
            _ => write!(f, "{} {}", self.file, self.defect),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.defect {
            Defect::Io(e) => Some(e),
            _ => None,
        }
    }
}

//! Multiple Features: handwritten digits, described by six sets of features called views (UCI, R. Duin 1998).
//!
//! | view | features | what |
//! |---|---|---|
//! | fou | 76 | Fourier coefficients of the character shapes |
//! | fac | 216 | profile correlations |
//! | kar | 64 | Karhunen-Loeve coefficients |
//! | pix | 240 | pixel averages in 2 x 3 windows |
//! | zer | 47 | Zernike moments |
//! | mor | 6 | morphological features |
//!
//! There are 2000 digits, 200 of each class 0 to 9, in the order of their classes; the order is the same in every file. The paper uses
//! the first 20 of each class: [`MultipleFeatures::first_per_class`]. These 200 come with the program, rounded to about five digits.

mod parse;

pub use parse::parse_view;

use ndarray::{Array2, Axis};

use crate::archive::Files;
use crate::fetch::{self, Kind, Listing, Options, Provenance};
use crate::{Error, Result};

/// Name and number of features of each view, in the paper's order.
pub const VIEWS: [(&str, usize); 6] = [("fou", 76), ("fac", 216), ("kar", 64), ("pix", 240), ("zer", 47), ("mor", 6)];

/// The embedded sample: a zip with the six files, 200 digits each.
const SAMPLE: &[u8] = include_bytes!("../../../data/mfeat-200.zip");
const NAME: &str = "Multiple Features";

/// The six views of the same digits.
#[derive(Debug, Clone, PartialEq)]
pub struct MultipleFeatures {
    /// (samples, features) of each view, in the order of [`VIEWS`].
    pub views: Vec<Array2<f64>>,
    /// The digit of each sample, sorted.
    pub labels: Vec<u8>,
}

impl MultipleFeatures {
    /// The first `n` samples of each class, in file order.
    ///
    /// ```
    /// let digits = datasets::mfeat::embedded().unwrap();
    /// let few = digits.first_per_class(2).unwrap();
    /// assert_eq!(few.labels[..5], [0, 0, 1, 1, 2]);
    /// assert_eq!(few.views[0].row(2), digits.views[0].row(20));
    /// ```
    pub fn first_per_class(&self, n: usize) -> Result<Self> {
        let per_class = self.labels.len() / 10;
        if n == 0 || n > per_class {
            return Err(Error::param(
                "per_class",
                format!("{n}; from 1 to {per_class} samples of each class are there"),
            ));
        }
        let keep: Vec<usize> = (0..10).flat_map(|c| c * per_class..c * per_class + n).collect();
        Ok(MultipleFeatures {
            views: self.views.iter().map(|v| v.select(Axis(0), &keep)).collect(),
            labels: keep.iter().map(|i| self.labels[*i]).collect(),
        })
    }

    /// Reads the six files from a folder or archive; returns the data and the checksum of what was read.
    pub fn read(files: &mut Files) -> Result<(Self, String)> {
        let mut views = Vec::new();
        let mut hasher = blake3::Hasher::new();
        for (view, columns) in VIEWS {
            let Some(name) = find(files, view).map(str::to_string) else {
                return Err(Error::dataset(NAME, format!("{} has no file `mfeat-{view}`", files.root())));
            };
            let bytes = files.read(&name)?;
            hasher.update(&bytes);
            views.push(parse_view(&format!("{}/{name}", files.root()), &bytes, columns)?);
        }
        let rows = views[0].nrows();
        if let Some(i) = views.iter().position(|v| v.nrows() != rows) {
            let what = format!("`{}` has {} rows, `fou` has {rows}", VIEWS[i].0, views[i].nrows());
            return Err(Error::dataset(NAME, what));
        }
        let labels = (0..rows).map(|i| (i / (rows / 10)) as u8).collect();
        Ok((MultipleFeatures { views, labels }, hasher.finalize().to_hex().to_string()))
    }
}

fn find<'a>(files: &'a Files, view: &str) -> Option<&'a str> {
    let base = format!("mfeat-{view}");
    files.find(|n| {
        let n = n.to_ascii_lowercase();
        n == base || n == format!("{base}.csv") || n == format!("{base}.txt")
    })
}

/// The sample that comes with the program: 200 digits.
pub fn embedded() -> Result<MultipleFeatures> {
    let mut files = Files::from_zip_bytes("embedded sample", SAMPLE.to_vec())?;
    Ok(MultipleFeatures::read(&mut files)?.0)
}

/// The checksum of the real data that [`load`] would use, or `None` if it would use the embedded sample. Reads files only if they changed.
pub fn content(options: &Options) -> Result<Option<String>> {
    let relevant = |name: &str| {
        let name = name.to_lowercase();
        name.contains("mfeat-") || name.ends_with(".zip")
    };
    let mut listing = Listing::default();
    if let Some(dir) = &options.data_dir {
        listing.add(dir, &relevant)?;
    }
    if let Some(dir) = &options.cache_dir {
        listing.add(&dir.join(&options.sources.get("mfeat")?.file), &|_| true)?;
    }
    listing.content(options, "mfeat", || Ok(local(options, &mut Vec::new())?.map(|l| l.content)))
}

/// The data from this machine: `--data-dir`, the download cache, the embedded sample.
///
/// The embedded sample has 200 digits, the full data set 2000. The user's folder has precedence: if it has the files but they are
/// damaged, that is an error and not a reason to go on to the next source.
pub fn load(options: &Options) -> Result<(MultipleFeatures, Provenance)> {
    let mut tried = Vec::new();
    let remote = options.sources.get("mfeat")?;
    let licence = format!("{}; {}", remote.licence, remote.attribution);
    if let Some(found) = local(options, &mut tried)? {
        let provenance = Provenance {
            dataset: NAME.into(),
            kind: Kind::Real,
            source: fetch::by_content(&found.content),
            checksum: found.content,
            place: found.place,
            trust: found.trust,
            licence,
            tried,
        };
        return Ok((found.data, provenance));
    }
    tried.push((remote.address().to_string(), options.why_not_fetched()));
    options.refuse_stand_in(NAME, &tried)?;
    let provenance = Provenance {
        dataset: NAME.into(),
        kind: Kind::Embedded,
        source: "the embedded sample (200 digits, rounded to about five digits)".into(),
        checksum: fetch::checksum(SAMPLE),
        place: "this program".into(),
        trust: "part of the program".into(),
        licence,
        tried,
    };
    Ok((embedded()?, provenance))
}

/// Brings the data into the download cache, unless they are on this machine already. Returns whether something was downloaded.
pub fn download(options: &Options) -> Result<bool> {
    if matches!(content(options), Ok(Some(_))) {
        return Ok(false);
    }
    let remote = options.sources.get("mfeat")?;
    fetch::get(options, remote, &|path| Files::open(path).and_then(|mut f| MultipleFeatures::read(&mut f)).map(drop))?;
    Ok(true)
}

/// Data that are on this machine.
struct Local {
    data: MultipleFeatures,
    /// BLAKE3 of the six files.
    content: String,
    place: String,
    trust: String,
}

/// The data from the user's folder or the download cache. Damaged files are errors: silently taking the sample would replace real results.
fn local(options: &Options, tried: &mut Vec<(String, String)>) -> Result<Option<Local>> {
    if let Some(dir) = &options.data_dir {
        let place = dir.display().to_string();
        let mut files = Files::open(dir)?;
        if VIEWS.iter().any(|(v, _)| find(&files, v).is_some()) {
            let (data, content) = MultipleFeatures::read(&mut files)?;
            return Ok(Some(Local { data, content, place, trust: "given by the user".into() }));
        }
        tried.push((place, "has no files `mfeat-*`".to_string()));
    }
    let Some(found) = fetch::cached(options, options.sources.get("mfeat")?)? else { return Ok(None) };
    let (data, content) = MultipleFeatures::read(&mut Files::open(&found.path)?)?;
    Ok(Some(Local { data, content, place: found.path.display().to_string(), trust: found.trust }))
}

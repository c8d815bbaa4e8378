//! What `repro adapt` reads: the domains, their labels, the channels they share.

use super::super::arrays::ArrayInput;
use super::super::times;
use super::Args;
use anyhow::{Context, Result, bail, ensure};
use estimator::Labels;
use ndarray::Array3;
use spd::{CommonChannels, Reduction};

/// Matrices of one domain.
pub struct Domain {
    /// The file as the user wrote it.
    pub name: String,
    /// (k, n, n).
    pub matrices: Array3<f64>,
    /// Class of each matrix.
    pub labels: Option<Labels>,
}

/// Everything that the procedure needs.
pub struct Domains {
    pub sources: Vec<Domain>,
    pub target: Domain,
    pub common: CommonChannels,
    /// The projection that was applied to all matrices.
    pub reduction: Option<Reduction>,
}

impl Domains {
    /// Reads and checks the files.
    pub fn read(args: &Args) -> Result<Domains> {
        let read = |file: &str, what: &str, labels: Option<&String>| -> Result<Domain> {
            let mut source = ArrayInput::open(file)?;
            let matrices = if args.reduce { source.whole(what)? } else { source.definite(what)? };
            let parse = |f: &String| -> Result<Labels> {
                Ok(Labels::new(&ArrayInput::open(f)?.labels(matrices.dim().0, file)?)?)
            };
            let labels = labels.map(parse).transpose()?;
            ensure!(
                matrices.dim().0 > 1,
                "{file} holds one matrix; a domain needs two at least, for a mean and a spread"
            );
            Ok(Domain { name: file.to_owned(), matrices, labels })
        };
        let files = args.source.iter().enumerate();
        let mut sources = files.map(|(k, f)| read(f, "the source", args.labels.get(k))).collect::<Result<Vec<_>>>()?;
        let mut target = read(&args.target, "the target", args.target_labels.as_ref())?;
        if let (Some(file), Some(labels)) = (&args.target_labels, &target.labels) {
            ensure!(
                labels.classes().len() > 1,
                "{file}: all labels are {}; an accuracy needs two classes: leave out --target-labels",
                labels[0]
            );
        }
        // clap asks for one source at least.
        let (p, q) = (sources[0].matrices.dim().1, target.matrices.dim().1);
        for other in &sources[1..] {
            let got = other.matrices.dim().1;
            ensure!(
                got == p,
                "{} holds {} matrices and {} holds {}; all sources must agree",
                sources[0].name,
                times(&[p; 2]),
                other.name,
                times(&[got; 2])
            );
        }
        let mut reduction = None;
        if args.reduce {
            ensure!(p == q, "--reduce needs source and target with the same channels");
            let sets: Vec<_> = sources.iter().chain([&target]).map(|d| d.matrices.view()).collect();
            let found = Reduction::fit(&sets)?;
            for domain in sources.iter_mut().chain([&mut target]) {
                domain.matrices = found.apply(domain.matrices.view())?;
            }
            reduction = Some(found);
        }
        let common = match &args.common {
            Some(text) => {
                ensure!(!args.reduce, "--reduce mixes the channels, so --common cannot name them");
                CommonChannels::new(pairs(text)?, p, q).with_context(|| format!("--common {text}"))?
            }
            None if p == q => CommonChannels::all(target.matrices.dim().1),
            None => bail!(
                "{} holds {} matrices and {} holds {}; name the channels that both have by --common SOURCE:TARGET,..., counted from 0: \
                 distances between the domains are measured on them",
                args.source[0],
                times(&[p; 2]),
                args.target,
                times(&[q; 2])
            ),
        };
        Ok(Domains { sources, target, common, reduction })
    }
}

/// `0:3,1:4` as pairs; a number alone stands for both.
fn pairs(text: &str) -> Result<Vec<(usize, usize)>> {
    let pair = |part: &str| -> Option<(usize, usize)> {
        match part.split_once(':') {
            Some((a, b)) => Some((a.trim().parse().ok()?, b.trim().parse().ok()?)),
            None => part.trim().parse().ok().map(|a| (a, a)),
        }
    };
    let parsed: Option<Vec<_>> = text.split(',').map(pair).collect();
    parsed.with_context(|| format!("--common {text}: pairs look like 0:0,3:1, counted from 0"))
}

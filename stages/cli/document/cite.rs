//! `repro cite`: how to cite the paper and the software.

/// Print BibTeX entries for the paper and for this software
///
/// CITATION.cff in the repository says the same to GitHub and Zenodo.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  repro cite >> references.bib")]
pub struct Args {}

/// The two entries.
pub fn bibtex() -> String {
    format!(
        "@inproceedings{{kadri2020partial,
  title     = {{Partial Trace Regression and Low-Rank {{K}}raus Decomposition}},
  author    = {{Kadri, Hachem and Ayache, St{{\\'e}}phane and Huusari, Riikka and Rakotomamonjy, Alain and Ralaivola, Liva}},
  booktitle = {{Proceedings of the 37th International Conference on Machine Learning}},
  series    = {{Proceedings of Machine Learning Research}},
  volume    = {{119}},
  pages     = {{5031--5041}},
  year      = {{2020}}
}}

@software{{repro,
  title   = {{repro: partial trace regression, reproduced}},
  author  = {{{{The repro maintainers}}}},
  version = {{{}}},
  license = {{MIT OR Apache-2.0}}
}}
",
        env!("CARGO_PKG_VERSION")
    )
}

/// Run the command.
pub fn run(_: &Args) -> anyhow::Result<u8> {
    crate::cli::output(&bibtex());
    Ok(0)
}

#[cfg(test)]
mod tests {
    /// One place may not forget what the other says.
    #[test]
    fn citation_cff_says_the_same() {
        let cff = include_str!("../../../CITATION.cff");
        assert!(cff.contains(concat!("version: ", env!("CARGO_PKG_VERSION"), "\n")), "the version of CITATION.cff");
        let entries = super::bibtex();
        for name in ["Kadri", "Ayache", "Huusari", "Rakotomamonjy", "Ralaivola"] {
            assert!(cff.contains(&format!("family-names: {name}")) && entries.contains(name), "{name}");
        }
        assert!(cff.contains("start: 5031") && cff.contains("end: 5041") && entries.contains("5031--5041"));
    }
}

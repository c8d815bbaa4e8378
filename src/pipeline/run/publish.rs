//! Copies of artefacts where people look for them: the `publish` folder of a stage.
//!
//! Done at the end of every run for every fresh unit, so a copy that was deleted or edited comes back. A copy that
//! looks as it was left is not read. When two units publish under one name, the first in plan order wins and a note says
//! so. A copy that cannot be made is reported and prevents nothing else: the result itself is in the store.

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::run::event::Event;
use crate::store::index::Entry;
use crate::store::lockfile::set_mode;
use crate::store::objects::{Stat, hash};
use crate::store::record::{Artefact, Record};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Engine {
    /// Publishes the artefacts of these units; returns the files written, and those that could not be, with the reason.
    pub(crate) fn publish<'a>(
        &self,
        done: impl Iterator<Item = (usize, &'a Arc<Record>)>,
        events: &mut dyn FnMut(Event),
    ) -> (Vec<PathBuf>, Vec<(PathBuf, String)>) {
        let mut owners: HashMap<PathBuf, usize> = HashMap::new();
        let (mut written, mut failed, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        for (unit, record) in done {
            let Some(publish) = &self.plan().stage_of(unit).publish else { continue };
            for (name, artefact) in &record.artefacts {
                let Some(path) = publish.place(name, artefact.size) else { continue };
                if let Some(&first) = owners.get(&path) {
                    let (a, b) = (&self.plan().units[first].id, &self.plan().units[unit].id);
                    let path = path.display();
                    events(Event::Note(format!("`{path}` is published by `{a}` and by `{b}`; the copy is `{a}`'s")));
                    continue;
                }
                owners.insert(path.clone(), unit);
                let there = self.plan().folder.join(&path);
                let key = path.to_string_lossy().into_owned();
                let look = std::fs::symlink_metadata(&there).ok().map(|m| Stat::of(&m));
                let known = self.store().journal.with(|i| i.published.get(&key).copied());
                if look.is_some() && known == look.map(|stat| (artefact.digest, stat)) {
                    continue;
                }
                match self.bring_up_to_date(artefact, &there) {
                    Ok((stat, new)) => {
                        entries.push(Entry::Published { path: key, digest: artefact.digest, stat });
                        if new {
                            events(Event::Published { unit, path: path.clone() });
                            written.push(path);
                        }
                    }
                    Err(error) => failed.push((path, error.to_string())),
                }
            }
        }
        if !entries.is_empty() {
            // Only a cache: with a store that cannot be written the copies are compared by content next time.
            let _ = self.store().journal.update(|_| (entries, ()));
        }
        (written, failed)
    }

    /// Makes sure that the file `there` holds the artefact: how it looks now, and whether it was written.
    fn bring_up_to_date(&self, artefact: &Artefact, there: &Path) -> Result<(Stat, bool)> {
        // Only a plain file is opened: a pipe would wait for a writer, and a folder cannot be replaced by a file.
        let plain = match std::fs::metadata(there) {
            Ok(meta) if meta.is_file() => true,
            Ok(_) => return Err(Error::NotAFile(there.display().to_string())),
            Err(_) => false,
        };
        let same = plain && File::open(there).and_then(|f| hash(&f, artefact.size)).ok() == Some(artefact.digest);
        if !same {
            copy(&self.store().objects.path(&artefact.digest), there)?;
        }
        let meta = std::fs::symlink_metadata(there).map_err(|e| Error::io("write", there, e))?;
        Ok((Stat::of(&meta), !same))
    }
}

/// Copies a file whole or not at all.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let wrong = |e| Error::io("write", to, e);
    let folder = to.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(wrong)?;
    let mut source = File::open(from).map_err(|e| Error::io("read", from, e))?;
    let mut file = tempfile::Builder::new().prefix(".copy-").tempfile_in(folder).map_err(wrong)?;
    std::io::copy(&mut source, &mut file).map_err(wrong)?;
    set_mode(file.as_file()).map_err(wrong)?;
    file.persist(to).map_err(|e| wrong(e.error))?;
    Ok(())
}

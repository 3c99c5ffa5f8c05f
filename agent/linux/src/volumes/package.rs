//! Reading a package folder, which may lie anywhere and come from anyone.

use std::collections::BTreeMap;
use std::path::Path;

use hearth_capabilities::Fault;
use rustix::fs::FileType;

use super::fault::ReadFault;
use super::folder::{Folder, Found};

/// The most bytes in all.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The most files.
const MAX_FILES: usize = 1000;

/// How deep folders may be nested.
const MAX_DEPTH: usize = 16;

/// Reads every file of the folder at an absolute path.
///
/// Links are refused on the way as well: with them, whoever may write a folder above would choose what is read.
pub(super) fn read(path: &str) -> Result<BTreeMap<String, Vec<u8>>, Fault> {
    let Some(relative) = path.strip_prefix('/') else {
        return Err(Fault::Refused(format!("the package {path:?} must be an absolute path")));
    };
    let mut folder = Folder::open_root(Path::new("/")).blind("open", Path::new("/"))?;
    for part in relative.split('/').filter(|part| !part.is_empty()) {
        if part == "." || part == ".." || part.contains('\0') {
            return Err(Fault::Refused(format!("the package {path:?} must be a path without . and ..")));
        }
        folder = match folder.find(part)? {
            Found::Folder(next) => next,
            Found::Nothing => return Err(Fault::Missing(format!("there is no package at {path}"))),
            Found::Other("a link") => {
                let link = folder.path_of(part);
                return Err(Fault::Refused(format!("{} is a link; name the real path", link.display())));
            }
            Found::Other(what) => {
                return Err(Fault::Refused(format!(
                    "{} is {what}, not a folder",
                    folder.path_of(part).display()
                )));
            }
        };
    }
    read_folder(&folder)
}

/// Reads every file of an open folder.
pub(super) fn read_folder(folder: &Folder) -> Result<BTreeMap<String, Vec<u8>>, Fault> {
    let mut reading = Reading { path: Vec::new(), files: BTreeMap::new(), left_bytes: MAX_BYTES };
    reading.read_folder(folder)?;
    Ok(reading.files)
}

struct Reading {
    path: Vec<String>,
    files: BTreeMap<String, Vec<u8>>,
    left_bytes: u64,
}

impl Reading {
    fn read_folder(&mut self, folder: &Folder) -> Result<(), Fault> {
        for entry in folder.entries()? {
            let name = entry.name.into_string().map_err(|error| {
                let name = error.into_cstring().to_string_lossy().into_owned();
                Fault::Refused(format!("{} is not named in UTF-8", folder.path_of(&name).display()))
            })?;
            let shown = folder.path_of(&name);
            self.path.push(name.clone());
            match entry.kind {
                FileType::Directory if self.path.len() > MAX_DEPTH => {
                    return Err(Fault::Refused(format!("{} is nested too deep", shown.display())));
                }
                FileType::Directory => match folder.find(&name)? {
                    Found::Folder(child) => self.read_folder(&child)?,
                    Found::Nothing => {}
                    Found::Other(what) => {
                        return Err(Fault::Refused(format!("{} is {what}", shown.display())));
                    }
                },
                FileType::RegularFile => self.read_file(folder, &name)?,
                FileType::Symlink => {
                    return Err(Fault::Refused(format!(
                        "{} is a link; a package holds only files",
                        shown.display()
                    )));
                }
                _ => {
                    let why = "is a special file; a package holds only files";
                    return Err(Fault::Refused(format!("{} {why}", shown.display())));
                }
            }
            self.path.pop();
        }
        Ok(())
    }

    fn read_file(&mut self, folder: &Folder, name: &str) -> Result<(), Fault> {
        let Some(bytes) = folder.read_file(name, self.left_bytes)? else { return Ok(()) };
        let Some(left) = self.left_bytes.checked_sub(bytes.len() as u64) else {
            return Err(Fault::Refused("the package is larger than 16 MiB".into()));
        };
        self.left_bytes = left;
        self.files.insert(self.path.join("/"), bytes);
        if self.files.len() > MAX_FILES {
            return Err(Fault::Refused(format!("the package has more than {MAX_FILES} files")));
        }
        Ok(())
    }
}

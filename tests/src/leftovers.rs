//! What a job must not leave behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// The files that bear our name in the folders for shared and temporary files, at some moment.
#[derive(Debug)]
pub struct Leftovers(BTreeSet<PathBuf>);

impl Leftovers {
    /// Those that are there now.
    pub fn now() -> Self {
        let mut files = BTreeSet::new();
        for folder in ["/dev/shm", "/tmp"] {
            let entries =
                fs::read_dir(folder).unwrap_or_else(|e| panic!("cannot list {folder}: {e}"));
            for entry in entries {
                let path = entry
                    .unwrap_or_else(|e| panic!("cannot list {folder}: {e}"))
                    .path();
                if path.to_string_lossy().contains("nvshmem") {
                    files.insert(path);
                }
            }
        }
        Self(files)
    }

    /// Panics if there are more of them by now.
    #[track_caller]
    pub fn assert_none_new(&self) {
        let now = Self::now();
        let fresh: Vec<_> = now.0.difference(&self.0).collect();
        assert!(fresh.is_empty(), "left behind: {fresh:?}");
    }
}

//! A descriptor that the library keeps from one call to the next.
//!
//! A program may close it: `closefrom` and `close_range` close descriptors of libraries, too. Its number may then refer to a file of the
//! program. So before each use the library compares the file's device and inode with those at its opening. No system call compares and
//! uses a number in one step: a program that closes and opens during the call itself is not noticed.

use crate::{Error, Result};
use rustix::fs::fstat;
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The identity of a file: device and inode.
pub type FileId = (u64, u64);

/// An open file of the library.
#[derive(Debug)]
pub struct Descriptor {
    file: ManuallyDrop<File>,
    is: FileId,
    name: &'static str,
}

/// The file of a descriptor; none if it is closed.
pub(crate) fn leads_to(fd: impl AsFd) -> Option<FileId> {
    let seen = fstat(fd).ok()?;
    Some((seen.st_dev, seen.st_ino))
}

impl Descriptor {
    /// Keeps a descriptor; error messages call its file `name`.
    pub fn new(fd: OwnedFd, name: &'static str) -> Result<Descriptor> {
        let seen = fstat(&fd).map_err(|error| Error::system("fstat", error))?;
        Ok(Descriptor {
            file: ManuallyDrop::new(File::from(fd)),
            is: (seen.st_dev, seen.st_ino),
            name,
        })
    }

    /// The file; none if the program has closed the descriptor. Allocates nothing.
    pub fn find(&self) -> Option<&File> {
        (leads_to(&*self.file) == Some(self.is)).then_some(&self.file)
    }

    /// The file; an error if the program has closed the descriptor.
    pub fn get(&self) -> Result<&File> {
        self.find().ok_or_else(|| {
            let now = match leads_to(&*self.file) {
                Some(_) => ", and it leads to another file now",
                None => "",
            };
            let number = self.file.as_raw_fd();
            Error::system(
                "using a descriptor of nvshmemrs",
                format!(
                    "this program has closed descriptor {number}, which nvshmemrs has opened for {}{now}; a program that joins a job \
                     must close only descriptors of its own (closefrom and close_range close those of libraries, too)",
                    self.name
                ),
            )
        })
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if self.find().is_some() {
            // SAFETY: it is dropped once, here, and nobody uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::os::unix::fs::FileExt;

    fn memory() -> OwnedFd {
        memfd_create("descriptor", MemfdFlags::CLOEXEC).unwrap()
    }

    /// The number leads to `to` from now on, as a program does that closes a descriptor which is not its own, and opens a file.
    fn redirect(descriptor: &Descriptor, to: &OwnedFd) {
        // SAFETY: dup3 takes any numbers; both are open.
        let made =
            unsafe { libc::dup3(to.as_raw_fd(), descriptor.file.as_raw_fd(), libc::O_CLOEXEC) };
        assert_eq!(made, descriptor.file.as_raw_fd());
    }

    #[test]
    fn a_file_of_the_programs_is_neither_used_nor_closed() {
        let own = memory();
        let copy = File::from(own.try_clone().unwrap());
        let descriptor = Descriptor::new(own, "a test").unwrap();
        let number = descriptor.file.as_raw_fd();
        descriptor.get().unwrap().write_all_at(b"mine", 0).unwrap();

        let other = memory();
        redirect(&descriptor, &other);
        let why = descriptor.get().unwrap_err().to_string();
        let start =
            format!("has closed descriptor {number}, which nvshmemrs has opened for a test, and");
        assert!(why.contains(&start), "{why}");
        assert!(descriptor.find().is_none());
        drop(descriptor);

        let path = format!("/proc/self/fd/{number}");
        let there = File::open(path).expect("the program's descriptor is open");
        assert_eq!(leads_to(there), leads_to(&other));
        assert_eq!(copy.metadata().unwrap().len(), 4);
        // SAFETY: the number is that of `redirect`, which nobody owns.
        drop(unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(number) });
    }

    #[test]
    fn a_descriptor_is_closed_when_it_is_dropped() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(Descriptor::new(writer.into(), "a test").unwrap());
        assert_eq!(std::io::read_to_string(reader).unwrap(), "");
    }
}

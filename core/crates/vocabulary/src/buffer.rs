//! Memory of operations: ranges of symmetric memory, and memory of the caller.
//!
//! # Rules of this module
//!
//! 1. A [`SymRange`] lies within the `stride` of the runtime that made it; its fields are private and only checked code makes
//!    one. It may be used with another runtime, so operations compare it with their own `stride`. Access through it is
//!    memory-safe for as long as the mapping lives, even if the allocation is gone: the mapping covers the whole heap. A range of
//!    a [`PrivateAddress`] begins beyond the `stride`, and goes from a collective to the transport that runs it only.
//! 2. A [`LocalSource`] or [`LocalDest`] holds a pointer that is valid for its length and for its lifetime: safe
//!    constructors take it from a borrowed slice or from the heap, unsafe ones take the caller's word.

use bytemuck::Pod;
use std::marker::PhantomData;

/// A checked range of symmetric memory: bytes at an offset that is the same on every PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymRange {
    offset: u64,
    bytes: u64,
}

impl SymRange {
    /// For code that has checked that the range lies within the heap.
    #[inline]
    #[doc(hidden)]
    pub fn new(offset: u64, bytes: u64) -> SymRange {
        SymRange { offset, bytes }
    }

    /// Bytes from the start of a PE's part of the heap.
    #[inline]
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// How many bytes it covers.
    #[inline]
    pub fn bytes(self) -> u64 {
        self.bytes
    }
}

/// The address of a collective's buffer, which may be private memory of this PE's GPU.
#[derive(Clone, Copy, Debug)]
pub struct PrivateAddress(u64);

impl PrivateAddress {
    /// A buffer at `address`.
    ///
    /// # Safety
    /// If the address is private memory of a GPU, the buffer belongs to the collective until the collective is complete: nobody frees it, nor
    /// accesses it but by work that its stream orders.
    #[inline(always)]
    pub unsafe fn from_raw(address: u64) -> PrivateAddress {
        PrivateAddress(address)
    }

    /// The address as a number.
    #[inline(always)]
    pub fn get(self) -> u64 {
        self.0
    }
}

/// Memory of the program that is about to be registered.
#[derive(Clone, Copy, Debug)]
pub struct Registration {
    buffer: u64,
    bytes: u64,
    preferred: u64,
}

impl Registration {
    /// The address of the memory, its bytes, and its preferred symmetric address; 0 for any.
    #[doc(hidden)]
    pub fn parts(&self) -> (u64, u64, u64) {
        (self.buffer, self.bytes, self.preferred)
    }

    /// The `bytes` bytes at `buffer`; `preferred` is their symmetric address, 0 for any.
    ///
    /// # Safety
    /// From the registration on until the buffer is unregistered, or the runtime has ended, the memory belongs to the symmetric heap: no
    /// reference to it may be used, because other PEs write it, and it must not be freed or unmapped, nor mapped anew,
    /// also while the two calls run. Other threads may go on with atomic accesses to it by its own address.
    pub unsafe fn from_raw(buffer: *mut u8, bytes: usize, preferred: u64) -> Registration {
        Registration {
            buffer: buffer as u64,
            bytes: bytes as u64,
            preferred,
        }
    }
}

/// The length of local memory, and whether it is borrowed for the call only. In one word, so that a source or a dest is passed in two
/// registers: no borrow has more than `isize::MAX` bytes, so the complement of its length is unambiguous.
#[derive(Clone, Copy)]
struct Length(usize);

impl Length {
    /// Of a borrow, which ends with the call.
    #[inline]
    fn borrowed(bytes: usize) -> Length {
        Length(!bytes)
    }

    /// Of memory that stays valid until the operation has run. More than `isize::MAX` bytes are treated as that many, which no heap has
    /// either: the check of the symmetric side is an error.
    #[inline]
    fn lasting(bytes: usize) -> Length {
        Length(bytes.min(isize::MAX as usize))
    }

    #[inline]
    fn is_borrowed(self) -> bool {
        self.0 > isize::MAX as usize
    }

    #[inline]
    fn bytes(self) -> usize {
        if self.is_borrowed() { !self.0 } else { self.0 }
    }

    /// So many of the bytes.
    fn part(self, bytes: usize) -> Length {
        match self.is_borrowed() {
            true => Length::borrowed(bytes),
            false => Length::lasting(bytes),
        }
    }
}

impl std::fmt::Debug for Length {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes())
    }
}

/// The methods of both kinds of local memory.
macro_rules! local_memory {
    ($name:ident, $pointer:ty) => {
        impl<'a> $name<'a> {
            /// The `bytes` bytes from byte `start` on.
            #[doc(hidden)]
            pub fn part(&self, start: usize, bytes: usize) -> $name<'a> {
                assert!(
                    start <= self.bytes() && bytes <= self.bytes() - start,
                    "a part outside the local memory"
                );
                $name {
                    address: self.address.wrapping_add(start),
                    length: self.length.part(bytes),
                    borrow: PhantomData,
                }
            }

            #[inline]
            #[doc(hidden)]
            pub fn address(&self) -> $pointer {
                self.address
            }

            /// Whether it is a borrow, which ends with the call.
            #[doc(hidden)]
            pub fn is_borrowed(&self) -> bool {
                self.length.is_borrowed()
            }

            /// The same, which the program does not use until quiet.
            ///
            /// # Safety
            /// The memory must stay valid, and must not be used, until the operation that gets it is complete.
            #[inline]
            #[doc(hidden)]
            pub unsafe fn lasting(self) -> Self {
                Self {
                    length: Length::lasting(self.length.bytes()),
                    ..self
                }
            }

            /// How many bytes.
            #[inline]
            pub fn bytes(&self) -> usize {
                self.length.bytes()
            }
        }
    };
}
local_memory!(LocalSource, *const u8);
local_memory!(LocalDest, *mut u8);

/// Bytes of this process that an operation reads: a borrowed slice, or memory that a C caller guarantees.
#[derive(Clone, Copy, Debug)]
pub struct LocalSource<'a> {
    address: *const u8,
    length: Length,
    borrow: PhantomData<&'a [u8]>,
}

impl LocalSource<'_> {
    /// Memory that the caller vouches for.
    ///
    /// # Safety
    /// `address` must be valid for reads of `bytes` bytes during the lifetime that the caller gives the value; for an operation on a
    /// stream of the GPU until it has run, and each time it runs if the stream is captured into a graph. Other PEs may write it only if it
    /// lies in the symmetric heap.
    #[inline]
    pub unsafe fn from_raw(address: *const u8, bytes: usize) -> Self {
        LocalSource {
            address,
            length: Length::lasting(bytes),
            borrow: PhantomData,
        }
    }
}

impl<'a, T: Pod> From<&'a [T]> for LocalSource<'a> {
    #[inline]
    fn from(slice: &'a [T]) -> Self {
        LocalSource {
            address: slice.as_ptr().cast(),
            length: Length::borrowed(size_of_val(slice)),
            borrow: PhantomData,
        }
    }
}

impl<'a, T: Pod, const N: usize> From<&'a [T; N]> for LocalSource<'a> {
    #[inline]
    fn from(array: &'a [T; N]) -> Self {
        LocalSource::from(array.as_slice())
    }
}

impl<'a, T: Pod> From<&'a Vec<T>> for LocalSource<'a> {
    #[inline]
    fn from(vec: &'a Vec<T>) -> Self {
        LocalSource::from(vec.as_slice())
    }
}

/// Bytes of this process that an operation writes.
#[derive(Debug)]
pub struct LocalDest<'a> {
    address: *mut u8,
    length: Length,
    borrow: PhantomData<&'a mut [u8]>,
}

impl<'a> LocalDest<'a> {
    /// Memory that the caller vouches for.
    ///
    /// # Safety
    /// `address` must be valid for writes of `bytes` bytes during the lifetime that the caller gives the value; for an operation on a
    /// stream of the GPU until it has run, and each time it runs if the stream is captured into a graph. Nothing else in this process may
    /// use it meanwhile unless it lies in the symmetric heap.
    #[inline]
    pub unsafe fn from_raw(address: *mut u8, bytes: usize) -> Self {
        LocalDest {
            address,
            length: Length::lasting(bytes),
            borrow: PhantomData,
        }
    }
}

impl<'a, T: Pod> From<&'a mut [T]> for LocalDest<'a> {
    #[inline]
    fn from(slice: &'a mut [T]) -> Self {
        LocalDest {
            address: slice.as_mut_ptr().cast(),
            length: Length::borrowed(size_of_val(slice)),
            borrow: PhantomData,
        }
    }
}

impl<'a, T: Pod, const N: usize> From<&'a mut [T; N]> for LocalDest<'a> {
    #[inline]
    fn from(array: &'a mut [T; N]) -> Self {
        LocalDest::from(array.as_mut_slice())
    }
}

impl<'a, T: Pod> From<&'a mut Vec<T>> for LocalDest<'a> {
    #[inline]
    fn from(vec: &'a mut Vec<T>) -> Self {
        LocalDest::from(vec.as_mut_slice())
    }
}

/// The source of a non-blocking put: it is read before the call returns, or until the PE's next quiet if the memory lasts.
#[derive(Clone, Copy, Debug)]
pub struct NbiSource<'a> {
    source: LocalSource<'a>,
    lasts: bool,
}

impl<'a> NbiSource<'a> {
    /// The source, and whether it lasts until quiet.
    #[doc(hidden)]
    #[inline]
    pub fn into_parts(self) -> (LocalSource<'a>, bool) {
        (self.source, self.lasts)
    }

    /// A source that the program does not change until quiet.
    ///
    /// # Safety
    /// The source's memory stays valid for reads until the next quiet, barrier or finalize of the PE has returned.
    #[inline]
    pub unsafe fn until_quiet(source: LocalSource<'a>) -> NbiSource<'a> {
        NbiSource {
            source,
            lasts: true,
        }
    }
}

impl<'a, T: Into<LocalSource<'a>>> From<T> for NbiSource<'a> {
    #[inline]
    fn from(source: T) -> Self {
        NbiSource {
            source: source.into(),
            lasts: false,
        }
    }
}

/// The destination of a non-blocking get: it is written before the call returns, or until the PE's next quiet if the memory lasts.
#[derive(Debug)]
pub struct NbiDest<'a> {
    dest: LocalDest<'a>,
    lasts: bool,
}

impl<'a> NbiDest<'a> {
    /// The destination, and whether it lasts until quiet.
    #[doc(hidden)]
    #[inline]
    pub fn into_parts(self) -> (LocalDest<'a>, bool) {
        (self.dest, self.lasts)
    }

    /// A destination that the program does not use until quiet.
    ///
    /// # Safety
    /// The memory stays valid for writes until the next quiet, barrier or finalize of the PE has returned, and no reference to it is
    /// used until then.
    #[inline]
    pub unsafe fn until_quiet(dest: LocalDest<'a>) -> NbiDest<'a> {
        NbiDest { dest, lasts: true }
    }
}

impl<'a, T: Into<LocalDest<'a>>> From<T> for NbiDest<'a> {
    #[inline]
    fn from(dest: T) -> Self {
        NbiDest {
            dest: dest.into(),
            lasts: false,
        }
    }
}

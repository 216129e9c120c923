//! Types, and their names in every language and in the standards.

use serde::Serialize;

/// A number type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Scalar {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Usize,
    Isize,
    F32,
    F64,
    Char,
}

impl Scalar {
    /// Names in Rust, in C, in Python's ctypes, in Julia, the kind in Fortran (which has no unsigned ones), and the size.
    #[rustfmt::skip]
    pub(super) const TABLE: [(Scalar, [&'static str; 5], usize); 13] = [
        //              Rust      C            Python        Julia         Fortran        bytes
        (Scalar::I8,    ["i8",     "int8_t",    "c_int8",    "Int8",       "c_int8_t"],    1),
        (Scalar::I16,   ["i16",    "int16_t",   "c_int16",   "Int16",      "c_int16_t"],   2),
        (Scalar::I32,   ["i32",    "int32_t",   "c_int32",   "Int32",      "c_int32_t"],   4),
        (Scalar::I64,   ["i64",    "int64_t",   "c_int64",   "Int64",      "c_int64_t"],   8),
        (Scalar::U8,    ["u8",     "uint8_t",   "c_uint8",   "UInt8",      "c_int8_t"],    1),
        (Scalar::U16,   ["u16",    "uint16_t",  "c_uint16",  "UInt16",     "c_int16_t"],   2),
        (Scalar::U32,   ["u32",    "uint32_t",  "c_uint32",  "UInt32",     "c_int32_t"],   4),
        (Scalar::U64,   ["u64",    "uint64_t",  "c_uint64",  "UInt64",     "c_int64_t"],   8),
        (Scalar::Usize, ["usize",  "size_t",    "c_size_t",  "Csize_t",    "c_size_t"],    8),
        (Scalar::Isize, ["isize",  "ptrdiff_t", "c_ssize_t", "Cptrdiff_t", "c_ptrdiff_t"], 8),
        (Scalar::F32,   ["f32",    "float",     "c_float",   "Float32",    "c_float"],     4),
        (Scalar::F64,   ["f64",    "double",    "c_double",  "Float64",    "c_double"],    8),
        (Scalar::Char,  ["c_char", "char",      "c_char",    "Cchar",      "c_char"],      1),
    ];

    fn name(self, language: usize) -> &'static str {
        Self::TABLE[self as usize].1[language]
    }

    /// The type that Rust calls `name`.
    pub fn from_rust(name: &str) -> Option<Self> {
        Self::TABLE
            .iter()
            .find(|row| row.1[0] == name)
            .map(|row| row.0)
    }

    /// Name in Rust.
    pub fn rust(self) -> &'static str {
        self.name(0)
    }

    /// Name in C.
    pub fn c(self) -> &'static str {
        self.name(1)
    }

    /// Name in Python's ctypes.
    pub fn python(self) -> &'static str {
        self.name(2)
    }

    /// Name in Julia.
    pub fn julia(self) -> &'static str {
        self.name(3)
    }

    /// Kind in Fortran.
    pub fn fortran(self) -> &'static str {
        self.name(4)
    }

    /// Size and alignment in bytes, on the 64-bit machines that nvshmemrs supports.
    pub fn size(self) -> usize {
        Self::TABLE[self as usize].2
    }

    /// Whether it is an unsigned integer.
    pub fn unsigned(self) -> bool {
        matches!(
            self,
            Self::U8 | Self::U16 | Self::U32 | Self::U64 | Self::Usize
        )
    }

    /// Whether it is a floating-point number.
    pub fn floating(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

/// A member of `nvshmemrs_dtype`, without `NVSHMEMRS_DTYPE_`, and the number type that it is, if it can be compared.
#[rustfmt::skip]
pub const DTYPES: [(&str, Option<Scalar>); 14] = [
    ("INT8", Some(Scalar::I8)), ("INT16", Some(Scalar::I16)), ("INT32", Some(Scalar::I32)), ("INT64", Some(Scalar::I64)),
    ("UINT8", Some(Scalar::U8)), ("UINT16", Some(Scalar::U16)), ("UINT32", Some(Scalar::U32)), ("UINT64", Some(Scalar::U64)),
    ("HALF", None), ("BFLOAT16", None), ("FLOAT", Some(Scalar::F32)), ("DOUBLE", Some(Scalar::F64)),
    ("COMPLEXF", None), ("COMPLEXD", None),
];

/// A kind of Fortran that has an element type.
pub struct FortranKind {
    /// What names of types and procedures end with.
    pub name: &'static str,
    /// How it is declared.
    pub ty: &'static str,
    /// Size in bytes.
    pub bytes: usize,
    /// Its member of `nvshmemrs_dtype`. Unsigned numbers travel in the signed kind of their size, and say so by a dtype of their own.
    pub dtype: &'static str,
}

impl FortranKind {
    /// The number type that it is, if it can be compared.
    pub fn scalar(&self) -> Option<Scalar> {
        DTYPES
            .iter()
            .find(|dtype| dtype.0 == self.dtype)
            .and_then(|dtype| dtype.1)
    }

    /// The kind that a number type of C travels in.
    pub fn of(scalar: Scalar) -> Option<&'static Self> {
        FORTRAN_KINDS.iter().find(|kind| {
            kind.scalar().is_some_and(|own| {
                own.floating() == scalar.floating() && own.size() == scalar.size()
            })
        })
    }
}

const fn kind(
    name: &'static str,
    ty: &'static str,
    bytes: usize,
    dtype: &'static str,
) -> FortranKind {
    FortranKind {
        name,
        ty,
        bytes,
        dtype,
    }
}

/// Every kind that Fortran's typed layer serves.
#[rustfmt::skip]
pub const FORTRAN_KINDS: [FortranKind; 8] = [
    kind("int8",           "integer(c_int8_t)",         1,  "INT8"),
    kind("int16",          "integer(c_int16_t)",        2,  "INT16"),
    kind("int32",          "integer(c_int32_t)",        4,  "INT32"),
    kind("int64",          "integer(c_int64_t)",        8,  "INT64"),
    kind("real32",         "real(c_float)",             4,  "FLOAT"),
    kind("real64",         "real(c_double)",            8,  "DOUBLE"),
    kind("complex_real32", "complex(c_float_complex)",  8,  "COMPLEXF"),
    kind("complex_real64", "complex(c_double_complex)", 16, "COMPLEXD"),
];

/// Lists of types: each of the standards' typed functions is there for those of one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Remote memory access, and collectives that move data.
    Rma = 1,
    /// Waits and tests.
    Wait = 2,
    /// Reductions with and, or, xor.
    Bits = 4,
    /// Reductions with min, max.
    Ordered = 8,
    /// Reductions with sum, prod.
    Sum = 16,
    /// Atomic and, or, xor.
    AtomicBits = 32,
    /// Other atomic arithmetic.
    Atomic = 64,
    /// Atomic fetch, set, swap.
    AtomicMove = 128,
}

/// A type as the standards' function names spell it.
pub struct Tag {
    /// The name: `longlong` in `shmem_longlong_put`.
    pub name: &'static str,
    /// The type in C.
    pub c: &'static str,
    /// Size in bytes.
    pub size: usize,
    /// Its member of `nvshmemrs_dtype`. Nothing reduces or compares a type that has none.
    pub dtype: Option<&'static str>,
    /// The lists that it is on in each of [`Library`].
    lists: [u8; 2],
}

/// Whose names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// OpenSHMEM 1.5 and 1.6.
    Openshmem,
    /// NVSHMEM 3.
    Nvshmem,
}

impl Tag {
    /// Whether it is on a list of a library.
    pub fn on(&self, list: List, library: Library) -> bool {
        self.lists[library as usize] & list as u8 != 0
    }

    /// Whether it is a floating-point number, real or complex.
    pub fn floating(&self) -> bool {
        !self.dtype.is_some_and(|dtype| dtype.contains("INT"))
    }
}

const MOVED: u8 = List::Rma as u8;
const WAITED: u8 = List::Wait as u8;
const BITS: u8 = List::Bits as u8;
const SUM: u8 = List::Sum as u8;
const REDUCED: u8 = List::Ordered as u8 | SUM;
const SWAPPED: u8 = List::AtomicMove as u8;
const ATOMIC: u8 = List::Atomic as u8 | SWAPPED;
const SIGNED: u8 = MOVED | WAITED | REDUCED | ATOMIC;
const EVERYTHING: u8 = SIGNED | BITS | List::AtomicBits as u8;

const fn tag(
    name: &'static str,
    c: &'static str,
    size: usize,
    dtype: &'static str,
    lists: u8,
) -> Tag {
    let dtype = Some(dtype);
    let lists = [lists, lists];
    Tag {
        name,
        c,
        size,
        dtype,
        lists,
    }
}

/// Every type of the standards' typed functions. A plain `char` is signed or not, as the machine says.
#[rustfmt::skip]
pub const TAGS: [Tag; 28] = [
    tag("float",     "float",                4, "FLOAT",  MOVED | REDUCED | SWAPPED),
    tag("double",    "double",               8, "DOUBLE", MOVED | REDUCED | SWAPPED),
    Tag { lists: [MOVED | REDUCED, 0], dtype: None, ..tag("longdouble", "long double", 16, "", 0) },
    Tag { lists: [0, MOVED | REDUCED], ..tag("half", "half", 2, "HALF", 0) },
    Tag { lists: [0, MOVED | REDUCED], ..tag("bfloat16", "__nv_bfloat16", 2, "BFLOAT16", 0) },
    Tag { lists: [SUM, 0], ..tag("complexf", "float _Complex", 8, "COMPLEXF", 0) },
    Tag { lists: [SUM, 0], ..tag("complexd", "double _Complex", 16, "COMPLEXD", 0) },
    tag("char",      "char",                 1, "INT8",   MOVED | REDUCED),
    tag("schar",     "signed char",          1, "INT8",   MOVED | REDUCED),
    tag("short",     "short",                2, "INT16",  MOVED | REDUCED | WAITED),
    tag("int",       "int",                  4, "INT32",  SIGNED),
    tag("long",      "long",                 8, "INT64",  SIGNED),
    tag("longlong",  "long long",            8, "INT64",  SIGNED),
    tag("uchar",     "unsigned char",        1, "UINT8",  MOVED | REDUCED | BITS),
    tag("ushort",    "unsigned short",       2, "UINT16", MOVED | REDUCED | BITS | WAITED),
    tag("uint",      "unsigned int",         4, "UINT32", EVERYTHING),
    tag("ulong",     "unsigned long",        8, "UINT64", EVERYTHING),
    tag("ulonglong", "unsigned long long",   8, "UINT64", EVERYTHING),
    tag("int8",      "int8_t",               1, "INT8",   MOVED | REDUCED | BITS),
    tag("int16",     "int16_t",              2, "INT16",  MOVED | REDUCED | BITS),
    tag("int32",     "int32_t",              4, "INT32",  EVERYTHING),
    tag("int64",     "int64_t",              8, "INT64",  EVERYTHING),
    tag("uint8",     "uint8_t",              1, "UINT8",  MOVED | REDUCED | BITS),
    tag("uint16",    "uint16_t",             2, "UINT16", MOVED | REDUCED | BITS),
    tag("uint32",    "uint32_t",             4, "UINT32", EVERYTHING),
    tag("uint64",    "uint64_t",             8, "UINT64", EVERYTHING),
    tag("size",      "size_t",               8, "UINT64", SIGNED | BITS),
    Tag { lists: [SIGNED, SIGNED & !REDUCED], ..tag("ptrdiff", "ptrdiff_t", 8, "INT64", 0) },
];

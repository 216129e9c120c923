//! Types, and their names in every language and in the standards.

use serde::{Deserialize, Serialize};

/// A number type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Names in Rust, in C, in Python's ctypes and in Julia, the kind in Fortran (which has no unsigned kinds), and the size.
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

    /// The type with this name in Rust.
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

/// An element type: a member of `nvshmemrs_dtype`.
#[derive(Clone, Copy)]
pub struct Dtype {
    /// Its name without `NVSHMEMRS_DTYPE_`.
    pub name: &'static str,
    /// Size in bytes.
    pub bytes: usize,
    /// The number type, if its values can be compared.
    pub scalar: Option<Scalar>,
    /// Its name in NumPy or ml_dtypes.
    pub python: &'static str,
    /// Its type in Julia, if the language has it.
    pub julia: Option<&'static str>,
    /// Its form in languages without such a type.
    pub narrow: Option<Narrow>,
}

/// A floating-point number of 8 or 16 bits, passed as its bits in languages without such a type.
#[derive(Clone, Copy)]
pub struct Narrow {
    /// Its type in CUDA's headers.
    pub cuda: &'static str,
    /// Its type in C++ and in the names of functions.
    pub name: &'static str,
    /// Its struct in the headers for kernels.
    pub class: &'static str,
    /// The documentation of the struct in C++.
    pub docs: &'static str,
}

impl Dtype {
    const fn number(
        name: &'static str,
        scalar: Scalar,
        python: &'static str,
        julia: &'static str,
    ) -> Self {
        let bytes = Scalar::TABLE[scalar as usize].2;
        Dtype {
            name,
            bytes,
            scalar: Some(scalar),
            python,
            julia: Some(julia),
            narrow: None,
        }
    }

    const fn complex(
        name: &'static str,
        bytes: usize,
        python: &'static str,
        julia: &'static str,
    ) -> Self {
        Dtype {
            name,
            bytes,
            scalar: None,
            python,
            julia: Some(julia),
            narrow: None,
        }
    }

    const fn narrow(
        name: &'static str,
        bytes: usize,
        python: &'static str,
        narrow: Narrow,
    ) -> Self {
        Dtype {
            name,
            bytes,
            scalar: None,
            python,
            julia: None,
            narrow: Some(narrow),
        }
    }

    /// The type with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        DTYPES.iter().find(|dtype| dtype.name == name)
    }
}

const fn narrow(
    cuda: &'static str,
    name: &'static str,
    class: &'static str,
    docs: &'static str,
) -> Narrow {
    Narrow {
        cuda,
        name,
        class,
        docs,
    }
}

/// Every element type, in the order of their numbers.
#[rustfmt::skip]
pub const DTYPES: [Dtype; 16] = [
    Dtype::number("INT8", Scalar::I8, "int8", "Int8"),
    Dtype::number("INT16", Scalar::I16, "int16", "Int16"),
    Dtype::number("INT32", Scalar::I32, "int32", "Int32"),
    Dtype::number("INT64", Scalar::I64, "int64", "Int64"),
    Dtype::number("UINT8", Scalar::U8, "uint8", "UInt8"),
    Dtype::number("UINT16", Scalar::U16, "uint16", "UInt16"),
    Dtype::number("UINT32", Scalar::U32, "uint32", "UInt32"),
    Dtype::number("UINT64", Scalar::U64, "uint64", "UInt64"),
    Dtype {
        julia: Some("Float16"),
        ..Dtype::narrow("HALF", 2, "float16", narrow(
            "__half", "half", "Half", "The bits of an IEEE 754 number of half precision"))
    },
    Dtype::narrow("BFLOAT16", 2, "bfloat16", narrow(
        "__nv_bfloat16", "bfloat16", "Bfloat16", "The upper half of a `float`")),
    Dtype::number("FLOAT", Scalar::F32, "float32", "Float32"),
    Dtype::number("DOUBLE", Scalar::F64, "float64", "Float64"),
    Dtype::complex("COMPLEXF", 8, "complex64", "ComplexF32"),
    Dtype::complex("COMPLEXD", 16, "complex128", "ComplexF64"),
    Dtype::narrow("FLOAT8_E4M3FN", 1, "float8_e4m3fn", narrow(
        "__nv_fp8_e4m3", "float8_e4m3fn", "Float8E4m3fn", "OCP's E4M3: 8 bits, finite numbers up to 448 and NaN")),
    Dtype::narrow("FLOAT8_E5M2", 1, "float8_e5m2", narrow(
        "__nv_fp8_e5m2", "float8_e5m2", "Float8E5m2", "OCP's E5M2: 8 bits, finite numbers up to 57344, infinities and NaN")),
];

/// A kind of Fortran for an element type.
pub struct FortranKind {
    /// The suffix of names of types and procedures.
    pub name: &'static str,
    /// Its declaration.
    pub ty: &'static str,
    /// Size in bytes.
    pub bytes: usize,
    /// Its member of `nvshmemrs_dtype`. Unsigned numbers use the signed kind of their size, with a dtype of their own.
    pub dtype: &'static str,
}

impl FortranKind {
    /// The number type, if its values can be compared.
    pub fn scalar(&self) -> Option<Scalar> {
        Dtype::named(self.dtype).and_then(|dtype| dtype.scalar)
    }

    /// The kind in which a C number type is passed.
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

/// Lists of types: each typed function of the standards exists for the types of one list.
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
    /// Its member of `nvshmemrs_dtype`. Types without a member cannot be reduced or compared.
    pub dtype: Option<&'static str>,
    /// Its lists, for each [`Library`].
    lists: [u8; 2],
}

/// The standard that defines the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// OpenSHMEM 1.5 and 1.6.
    Openshmem,
    /// NVSHMEM 3.
    Nvshmem,
}

impl Tag {
    /// Whether the type is on a list of a library.
    pub fn on(&self, list: List, library: Library) -> bool {
        self.lists[library as usize] & list as u8 != 0
    }

    /// Its properties, if it is a narrow floating-point number.
    pub fn narrow(&self) -> Option<Narrow> {
        self.dtype
            .and_then(Dtype::named)
            .and_then(|dtype| dtype.narrow)
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

/// Every type of the standards' typed functions, and float8, for which NVSHMEM has no names. Whether a plain `char` is signed
/// depends on the machine.
#[rustfmt::skip]
pub const TAGS: [Tag; 30] = [
    tag("float",     "float",                4, "FLOAT",  MOVED | REDUCED | SWAPPED),
    tag("double",    "double",               8, "DOUBLE", MOVED | REDUCED | SWAPPED),
    Tag { lists: [MOVED | REDUCED, 0], dtype: None, ..tag("longdouble", "long double", 16, "", 0) },
    Tag { lists: [0, MOVED | REDUCED], ..tag("half", "half", 2, "HALF", 0) },
    Tag { lists: [0, MOVED | REDUCED], ..tag("bfloat16", "__nv_bfloat16", 2, "BFLOAT16", 0) },
    Tag { lists: [0, MOVED | REDUCED], ..tag("float8_e4m3fn", "__nv_fp8_e4m3", 1, "FLOAT8_E4M3FN", 0) },
    Tag { lists: [0, MOVED | REDUCED], ..tag("float8_e5m2", "__nv_fp8_e5m2", 1, "FLOAT8_E5M2", 0) },
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

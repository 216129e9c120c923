//! `bindings/fortran/src/nvshmemrs*.f90`, except the hand-written modules: generic names over the kinds and ranks of Fortran.
//!
//! The templates have one procedure per operation, which is repeated here for each kind and rank. The atomic operations, waits
//! and reductions, and their types, come from the table of families.

use super::fortran::LINE;
use crate::model::Api;
use crate::table::types::{DTYPES, FORTRAN_KINDS, FortranKind};
use crate::table::waits::{Form, Of};
use crate::table::{self, Body, Passing, Row};
use anyhow::{Context, Result};
use minijinja::{Value, context};

/// The modules, each with name and text. A module comes after the modules that it uses.
pub fn emit(api: &Api) -> Result<Vec<(&'static str, String)>> {
    let families = table::families();
    let rows = |file: &str| {
        let family = families.iter().find(|family| family.file == file);
        family
            .map(|family| &family.rows)
            .with_context(|| format!("the table has no family `{file}`"))
    };
    let kinds: Vec<Value> = FORTRAN_KINDS.iter().map(kind).collect();
    let ranks: Vec<Value> = (0..=3).map(rank).collect();
    let common = context! { kinds, ranks };
    let collectives = collectives(rows("collectives")?)?;
    let constants: Vec<&str> = api
        .enums
        .iter()
        .flat_map(|item| &item.members)
        .map(|member| member.name.as_str())
        .filter(|name| {
            !name.starts_with("NVSHMEMRS_LANGUAGE") && !name.starts_with("NVSHMEMRS_TEAM_")
        })
        .collect();
    // The operations, each with the bits of its value, if it takes one.
    let copies = ["put", "get", "put_nbi", "get_nbi"].map(|name| (name.to_string(), 0));
    let values = [8, 16, 32, 64].map(|bits| (format!("p{bits}"), bits));
    #[rustfmt::skip]
    let modules = [
        ("nvshmemrs_streams", super::rendered!("fortran/streams.f90", ..common.clone())),
        ("nvshmemrs_lanes", super::rendered!("fortran/lanes.f90", lanes => [copies, values].concat())),
        ("nvshmemrs_arrays", super::rendered!("fortran/arrays.f90", ..common.clone())),
        ("nvshmemrs_rma", super::rendered!("fortran/rma.f90", ..common.clone())),
        ("nvshmemrs_strided", super::rendered!("fortran/strided.f90", ..common.clone())),
        ("nvshmemrs_atomics", super::rendered!("fortran/atomics.f90", operations => atomics(rows("atomics")?)?)),
        ("nvshmemrs_waits", super::rendered!("fortran/waits.f90", waits => waits(rows("point_to_point")?), ..common.clone())),
        ("nvshmemrs_collectives", super::rendered!("fortran/collectives.f90", collectives => &collectives, carried => carried(), ..common.clone())),
        ("nvshmemrs", super::rendered!("fortran/nvshmemrs.f90", constants, collectives => &collectives, ..common.clone())),
    ];
    modules
        .into_iter()
        .map(|(name, text)| {
            let text = text.with_context(|| format!("cannot generate the module {name}"))?;
            let text: String = text.lines().map(fold).collect();
            if let Some(line) = text.lines().find(|line| line.chars().count() > LINE) {
                anyhow::bail!(
                    "in {name} a line is longer than Fortran's {LINE} characters: {line}"
                );
            }
            Ok((name, text))
        })
        .collect()
}

/// Continues a long line of code after a comma.
fn fold(line: &str) -> String {
    const WIDTH: usize = 120;
    let mut folded = String::new();
    let mut rest = line.to_string();
    let indent = line.len() - line.trim_start().len() + 4;
    while rest.len() > WIDTH && !rest.trim_start().starts_with('!') {
        let mut quoted = false;
        let mut at = None;
        for (index, character) in rest
            .char_indices()
            .take_while(|(index, _)| *index < WIDTH - 2)
        {
            quoted ^= character == '\'';
            if character == ',' && !quoted && rest[index..].starts_with(", ") {
                at = Some(index + 1);
            }
        }
        let Some(at) = at else { break };
        folded += &format!("{} &\n", &rest[..at]);
        rest = format!("{:indent$}{}", "", rest[at..].trim_start());
    }
    folded + &rest + "\n"
}

/// The element types without a kind of their own, which are passed in integers of their size: unsigned and narrow numbers.
fn carried() -> Vec<Value> {
    let sizes = [1, 2, 4, 8].into_iter();
    let of_size = |bytes| {
        let types = DTYPES.iter().filter(move |dtype| {
            let own = FORTRAN_KINDS.iter().any(|kind| kind.dtype == dtype.name);
            dtype.bytes == bytes && !own
        });
        types.map(|dtype| format!("NVSHMEMRS_DTYPE_{}", dtype.name))
    };
    sizes
        .map(|bytes| context! { bytes, dtypes => of_size(bytes).collect::<Vec<_>>() })
        .collect()
}

fn kind(kind: &FortranKind) -> Value {
    let of = kind.scalar();
    context! {
        name => kind.name,
        ty => kind.ty,
        bytes => kind.bytes,
        dtype => format!("NVSHMEMRS_DTYPE_{}", kind.dtype),
        compared => of.is_some(),
        floating => of.is_some_and(|of| of.floating()),
        bits => 8 * kind.bytes,
    }
}

fn rank(rank: usize) -> Value {
    let list = |text: &str| vec![text; rank].join(", ");
    let dims = if rank == 0 {
        String::new()
    } else {
        format!("({})", list(":"))
    };
    // Indices of the second element along each dimension.
    let next: Vec<String> = (0..rank)
        .map(|d| {
            let indices: Vec<_> = (0..rank)
                .map(|at| if at == d { "2" } else { "1" })
                .collect();
            indices.join(", ")
        })
        .collect();
    let extents = ["rows", "columns", "layers"];
    let extents = if rank == 1 {
        &["extent"][..]
    } else {
        &extents[..rank]
    };
    context! { rank => rank, dims, first => list("1"), next, extents => extents.join(", ") }
}

/// The generic names of the atomic operations, with their specific forms.
fn atomics(rows: &[Row]) -> Result<Vec<Value>> {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        let name = generic(row)?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let operation = |name: &String| {
        let forms = rows
            .iter()
            .filter(|row| generic(row).is_ok_and(|own| own == *name));
        let forms = forms.map(atomic).collect::<Result<Vec<_>>>()?;
        // The table's texts name one C type, but this name serves several.
        let first = rows
            .iter()
            .find(|row| generic(row).is_ok_and(|own| own == *name));
        let docs = first.map(|row| {
            let docs = row.docs().join("\n").replace("32-bit integer", "number");
            let docs = docs.replace("64-bit integer", "number");
            docs.replace(" It serves signed and unsigned integers.", "")
                .replace(
                    " It wraps around, so it serves signed and unsigned integers.",
                    " Integers wrap around.",
                )
                .replace("must be aligned to 4", "must be aligned to its size")
                .replace("32`, but", "`, but")
                .replace(
                    "at the symmetric address `dest`",
                    "`dest`, which is symmetric,",
                )
                .replace(
                    "at the symmetric address `source`",
                    "`source`, which is symmetric,",
                )
                .replace("local memory at `fetch`", "`fetch`")
        });
        let docs: Vec<String> = docs.unwrap_or_default().lines().map(String::from).collect();
        Ok(context! { name, docs => super::wrap(&docs, 112), forms })
    };
    names.iter().map(operation).collect()
}

/// The generic name of all forms of an operation.
fn generic(row: &Row) -> Result<String> {
    let typed = row
        .typed
        .first()
        .context("an operation has no typed name")?;
    Ok(typed.name.replace("TYPE_", ""))
}

fn atomic(row: &Row) -> Result<Value> {
    let of = row.of.context("an atomic operation has no type")?;
    let kind = FortranKind::of(of).context("Fortran has no such kind")?;
    let mut declarations = Vec::new();
    let mut passed = Vec::new();
    for (index, arg) in row.args.iter().enumerate() {
        let last = index + 1 == row.args.len();
        let name = arg.name;
        let (attributes, value) = match (arg.passing, name) {
            (_, "dest") => ("intent(inout), target", format!("c_loc({name})")),
            (_, "source") => ("intent(in), target", format!("c_loc({name})")),
            (Passing::Output, _) if last => ("intent(inout)", name.into()),
            (Passing::Output, _) => (
                "intent(inout), target, asynchronous",
                format!("c_loc({name})"),
            ),
            _ => ("intent(in)", name.to_string()),
        };
        let ty = if name == "pe" {
            "integer(c_int32_t)"
        } else {
            kind.ty
        };
        declarations.push(format!("{ty}, {attributes} :: {name}"));
        passed.push(value);
    }
    let names: Vec<_> = row.args.iter().map(|arg| arg.name).collect();
    Ok(context! {
        kind => kind.name,
        c => row.name,
        names => names.join(", "),
        declarations,
        passed => passed.join(", "),
    })
}

fn waits(rows: &[Row]) -> Vec<Value> {
    let wait = |row: &Row| {
        let Body::Wait(Form { waits, of, vector }) = row.body else {
            return None;
        };
        let of_name = match of {
            Of::One => "one",
            Of::All => "all",
            Of::Any => "any",
            Of::Some => "some",
        };
        let docs: Vec<String> = row
            .docs()
            .iter()
            .map(|line| {
                line.replace("the `count` elements at the symmetric address `ivars` of this PE", "the elements of `ivars`")
                    .replace("this PE's copy of the element at the symmetric address `ivar`", "this PE's copy of `ivar`, which is symmetric,")
                    .replace("the one at `value`", "`value`")
                    .replace("the one of index i at `values`, of which there are `count`", "`values(i)`")
                    .replace(", SIZE_MAX if none does", ", 0 if none does")
                    .replace("gives SIZE_MAX", "gives 0")
                    .replace("gives 1 or 0", "gives true or false")
                    .replace("it gives 1.", "it gives true.")
                    .replace(": an integer, float or double", ", by default the kind's own; one of the unsigned ones compares as such")
                    .replace(" `status` may be NULL; a number other than 0 in it excludes the element.", " `ivars` must be contiguous. An element whose `excluded` is true does not count.")
                    .replace("`status`", "`excluded`")
                    .replace("`indices` has room for `count` numbers", "`indices` has at least the size of `ivars`")
            })
            .collect();
        Some(context! {
            name => row.name, of => of_name, waits, vector, docs => super::wrap(&docs, 112),
        })
    };
    rows.iter().filter_map(wait).collect()
}

fn collectives(rows: &[Row]) -> Result<Vec<Value>> {
    let collective = |row: &Row| -> Option<Result<Value>> {
        let item = row.arrays?;
        let reduces = matches!(item.form, "reduce" | "reducescatter");
        let standard = row.docs().join(" ");
        // Finds a reference such as "OpenSHMEM 1.5 section 9.9.7 (`shmem_broadcastmem`).".
        let at = ["OpenSHMEM 1", "NVSHMEM `", "OpenSHMEM does"]
            .iter()
            .find_map(|mark| standard.find(mark));
        let at = match at.context("a collective is of no standard") {
            Ok(at) => at,
            Err(error) => return Some(Err(error)),
        };
        let standard = standard[at..]
            .split("Errors")
            .next()
            .unwrap_or_default()
            .trim();
        let kinds = if reduces {
            " `dtype` is by default the kind's own; one of the same size, such as NVSHMEMRS_DTYPE_UINT32, combines as that."
        } else {
            ""
        };
        let rooted = matches!(item.form, "gather" | "scatter");
        let docs = [
            format!("{}{kinds}", item.does),
            String::new(),
            format!(
                "Collective over `team`, by default WORLD, with the same arguments. `dest` and `source` are symmetric and contiguous. \
                 With `stream` it is queued; else it returns when `dest` is written and `source` may be reused. {standard}"
            ),
            "Errors, on every member, and nothing is written: INVALID_VALUE, MISMATCH, NOT_SYMMETRIC, OUT_OF_BOUNDS, \
             PEER_ARGUMENT, BAD_HANDLE; also PE_DIED, TIMEOUT, INTERRUPTED."
                .into(),
        ];
        let extra = match item.form {
            "root" | "gather" | "scatter" => "root, ",
            "strided" => "dest_stride, source_stride, count, ",
            _ if reduces => "op, ",
            _ => "",
        };
        let counts = item.form == "alltoall" || item.rule.contains("n * ");
        Some(Ok(context! {
            extra, counts, reduces, rooted, name => row.name, form => item.form, rule => item.rule, words => item.words,
            docs => super::wrap(&docs, 112),
        }))
    };
    rows.iter().filter_map(collective).collect()
}

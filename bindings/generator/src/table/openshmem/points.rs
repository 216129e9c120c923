//! Point-to-point synchronisation: waits and tests.

use super::*;

/// The suffixes of the functions, with the sections of the wait and of the test in plain and vector form.
const FORMS: [(&str, [u32; 4]); 4] = [
    ("", [1, 8, 0, 0]),
    ("_all", [2, 9, 5, 12]),
    ("_any", [3, 10, 6, 13]),
    ("_some", [4, 11, 7, 14]),
];

/// Every wait and test.
#[rustfmt::skip]
pub(in crate::table) fn names() -> Vec<Name> {
    let mut names = Vec::new();
    for vector in [false, true] {
        for (form, sections) in FORMS {
            if vector && form.is_empty() {
                continue;
            }
            for waits in [true, false] {
                names.push(family(form, sections, waits, vector));
            }
        }
    }
    let about = "Deprecated: `wait_until` with SHMEM_CMP_NE. Section 9.10.1.";
    names.push(name("TYPE_wait", Over::Old(OldList::Wait), "void", "volatile T *ivar, T cmp_value",
        "DO(nvshmemrs_wait_until(rt, (const void *)ivar, NVSHMEMRS_CMP_NE, &cmp_value, D));", about));
    names.push(name("signal_wait_until", Over::Once, "uint64_t", "uint64_t *sig_addr, int cmp, uint64_t cmp_value",
        "uint64_t value = 0; DO(nvshmemrs_signal_wait(rt, sig_addr, cmp, cmp_value, &value)); return value;",
        "Waits until a signal of the calling PE compares, and gives the value that did. Section 9.10.15.").hot());
    names
}

#[rustfmt::skip]
fn family(form: &str, sections: [u32; 4], waits: bool, vector: bool) -> Name {
    let one = form.is_empty();
    let section = sections[usize::from(!waits) + 2 * usize::from(vector)];
    let base = if waits { "wait_until" } else { "test" };
    let suffix = if vector { "_vector" } else { "" };
    let args = [
        (true, if one { "volatile T *ivar" } else { "volatile T *ivars" }), (!one, "size_t nelems"),
        (form == "_some", "size_t *indices"), (!one, "const int *status"), (true, "int cmp"),
        (true, if vector { "const T *cmp_values" } else { "T cmp_value" }),
    ];
    let given = [
        (true, if one { "(const void *)ivar" } else { "(const void *)ivars" }), (!one, "nelems"),
        (form == "_some", "indices"), (!one, "status"), (true, "cmp"),
        (true, if vector { "cmp_values" } else { "&cmp_value" }), (true, "D"),
    ];
    let join = |parts: &[(bool, &str)]| {
        let parts = parts.iter().filter(|part| part.0).map(|part| part.1);
        parts.collect::<Vec<_>>().join(", ")
    };
    let call = format!("nvshmemrs_{base}{form}{suffix}(rt, {}", join(&given));
    let (result, body) = match (form, waits) {
        ("" | "_all", true) => ("void", format!("DO({call}));")),
        ("" | "_all", false) => ("int", format!("int32_t result = 0; DO({call}, &result)); return result;")),
        ("_any", _) => ("size_t", format!("size_t index = SIZE_MAX; DO({call}, &index)); return index;")),
        _ => ("size_t", format!("size_t found = 0; DO({call}, &found)); return found;")),
    };
    let about = format!("{} of this PE's copy of symmetric memory. Section 9.10.{section}.",
        if waits { "Waits for elements" } else { "Tests elements" });
    name(&format!("TYPE_{base}{form}{suffix}"), Over::Types(List::Wait), result, &join(&args), &body, &about)
        .generic(Typed::Pointee)
}

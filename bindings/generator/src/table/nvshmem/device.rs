//! Families that exist in kernels only.

use super::*;

/// Waits and tests.
pub(super) fn waits() -> Vec<Name> {
    let rows = openshmem::points::names();
    let typed = rows
        .into_iter()
        .filter(|row| matches!(row.over, Over::Types(_)));
    let rows = taken(typed.collect()).into_iter().map(|row| Name {
        body: String::new(),
        args: row
            .args
            .replace("volatile T", "T")
            .replace("const T *cmp_values", "T *cmp_values"),
        ..row.at(Place::Device)
    });
    rows.collect()
}

/// Operations on a queue pair of the program's choice.
#[rustfmt::skip]
pub(super) fn queue_pairs() -> Vec<Name> {
    const QP: &str = ", nvshmemx_qp_handle_t qp_index";
    let kinds = ["TYPE_p", "TYPE_g", "TYPE_put", "TYPE_get", "TYPE_put_nbi", "TYPE_get_nbi", "TYPE_put_signal", "TYPE_put_signal_nbi"];
    let rows = memory::names().into_iter().chain(memory::signals());
    let rows = rows.filter(|row| row.place != Place::Host && kinds.contains(&&*row.name));
    let mut names: Vec<Name> = rows.map(|row| Name {
        prefix: "nvshmemx_",
        name: format!("qp_{}", row.name),
        args: format!("{}{QP}", row.args),
        about: format!("`nvshmem_{}` on a queue pair.", row.name),
        body: String::new(),
        ..row.at(Place::Device)
    }).collect();
    names.push(device("qp_signal_op", Over::Once, "void", &format!("uint64_t *sig_addr, uint64_t signal, int sig_op, int pe{QP}"),
        "`nvshmemx_signal_op` on a queue pair.").extension());
    for operation in ["quiet", "fence"] {
        names.push(device(&format!("qp_{operation}"), Over::Once, "void", "int pe, nvshmemx_qp_handle_t *qp_index, int num_qps",
            &format!("`nvshmem_{operation}` for queue pairs.")).extension().groups());
    }
    names
}

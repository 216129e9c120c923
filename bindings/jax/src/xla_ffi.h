/* XLA's foreign function interface, as far as handlers here use it. XLA declares it in `xla/ffi/api/c_api.h`, which jaxlib brings
 * (`jax.ffi.include_dir()`); a test compares both, and `nvshmemrs.core.interop.jax` compares the versions. */
#ifndef NVSHMEMRS_XLA_FFI_H
#define NVSHMEMRS_XLA_FFI_H

#include <stddef.h>
#include <stdint.h>

/* XLA takes handlers of older minor versions for at least a year. */
enum { XLA_FFI_MAJOR = 0, XLA_FFI_MINOR = 3 };

struct xla_extension {
    size_t struct_size;
    int type;
    struct xla_extension *next;
};
enum { XLA_EXTENSION_METADATA = 1 };
/* A trait of a handler. */
enum { XLA_COMMAND_BUFFER_COMPATIBLE = 1 };

/* XLA asks a handler for these once, when it is registered. */
struct xla_metadata {
    size_t struct_size;
    struct {
        size_t struct_size;
        struct xla_extension *extensions;
        int major, minor;
    } version;
    uint32_t traits;
};
struct xla_metadata_extension {
    struct xla_extension base;
    struct xla_metadata *metadata;
};

struct xla_buffer {
    size_t struct_size;
    struct xla_extension *extensions;
    int dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
};
enum { XLA_BUFFER = 1, XLA_SCALAR = 3, XLA_S64 = 5 };

struct xla_span {
    const char *at;
    size_t length;
};
struct xla_scalar {
    int dtype;
    void *value;
};

/* Operands, or results. */
struct xla_buffers {
    size_t struct_size;
    struct xla_extension *extensions;
    int64_t count;
    int *types;
    struct xla_buffer **buffers;
};
/* Sorted by name. */
struct xla_attributes {
    size_t struct_size;
    struct xla_extension *extensions;
    int64_t count;
    int *types;
    struct xla_span **names;
    void **values;
};

struct xla_call {
    size_t struct_size;
    struct xla_extension *extensions;
    const struct xla_api *api;
    void *context;
    int stage;
    struct xla_buffers operands, results;
    struct xla_attributes attributes;
};
enum { XLA_EXECUTE = 3 };

struct xla_error_arguments {
    size_t struct_size;
    struct xla_extension *extensions;
    const char *message;
    int code;
};
enum { XLA_INVALID_ARGUMENT = 3, XLA_FAILED_PRECONDITION = 9, XLA_INTERNAL = 13 };
struct xla_stream_arguments {
    size_t struct_size;
    struct xla_extension *extensions;
    void *context;
    void *stream;
};

struct xla_error;
/* The functions of XLA, up to the last that is used. */
struct xla_api {
    size_t struct_size;
    struct xla_extension *extensions;
    struct {
        size_t struct_size;
        struct xla_extension *extensions;
        int major, minor;
    } version;
    const void *internal;
    struct xla_error *(*error)(struct xla_error_arguments *);
    void *unused[3];
    struct xla_error *(*stream)(struct xla_stream_arguments *);
};

#endif

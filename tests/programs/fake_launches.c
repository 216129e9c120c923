/* Kernels that other compilers made, for the libcuda of fake_cuda.c, which is compiled with -DcuLaunchKernel=fake_cuLaunchKernel.
 *
 * A library is a cubin, in which the driver finds kernels and memory by their names. A launch waits for its stream, and calls the test's
 * function, fake_launched. Functions that are asked for by cuGetProcAddress and are not here return NOT_SUPPORTED. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_IMAGE = 200, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_SUPPORTED = 801 };
enum { CUDA_MACHINE = 190, KERNELS = 4096 };

/* The driver's struct of cuLaunchKernelEx. */
typedef struct {
    unsigned gx, gy, gz, bx, by, bz, shared;
    void *stream, *attributes;
    unsigned count;
} config_t;

typedef struct {
    size_t bytes;
    /* The variable of this name that the library's kernels use. */
    _Alignas(64) uint64_t nvshmemrs_device_state[8];
    char image[];
} library_t;

typedef struct {
    library_t *library;
    char name[512];
} function_t;

/* Kernels by their numbers, which are not given back. */
static function_t functions[KERNELS];
static int functions_end;

/* Runs a kernel, given its name, blocks and threads, the addresses of its arguments, and its library's state. Not 0: the launch failed. */
typedef int (*launched_t)(const char *name, const unsigned *shape, void **args, const void *state);
launched_t fake_launched;

extern int cuStreamSynchronize(void *stream);
extern int fake_cuLaunchKernel(const void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                               unsigned shared, void *stream, void **args, void **extra);
extern int fake_cuLaunchKernelEx(const config_t *as, const void *kernel, void **args, void **extra);

static size_t bytes_of(const char *image) {
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + head->e_shoff);
    size_t end = head->e_shoff + head->e_shnum * sizeof *sections;
    for (int i = 0; i < head->e_shnum; i++) {
        size_t last = sections[i].sh_offset + (sections[i].sh_type == SHT_NOBITS ? 0 : sections[i].sh_size);
        if (last > end) end = last;
    }
    return end;
}

static int names(const library_t *library, const char *name) { return memmem(library->image, library->bytes, name, strlen(name) + 1) != NULL; }

int cuLibraryLoadData(library_t **library, const void *code, void *options, void *values, unsigned count, void *more, void *their, unsigned n) {
    (void)options, (void)values, (void)more, (void)their;
    const Elf64_Ehdr *head = code;
    if (count || n) return INVALID_VALUE;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_machine != CUDA_MACHINE) return INVALID_IMAGE;
    size_t bytes = bytes_of(code);
    library_t *made = aligned_alloc(64, (sizeof *made + bytes + 63) / 64 * 64);
    memset(made, 0, sizeof *made);
    made->bytes = bytes;
    memcpy(made->image, code, bytes);
    *library = made;
    return SUCCESS;
}

int cuLibraryUnload(library_t *library) {
    for (int i = 0; i < functions_end; i++)
        if (functions[i].library == library) functions[i].library = NULL;
    free(library);
    return SUCCESS;
}

int cuLibraryGetKernel(function_t **kernel, library_t *library, const char *name) {
    if (!names(library, name)) return NOT_FOUND;
    if (functions_end == KERNELS || strlen(name) >= sizeof functions->name) return INVALID_VALUE;
    *kernel = &functions[functions_end++];
    (*kernel)->library = library;
    strcpy((*kernel)->name, name);
    return SUCCESS;
}

int cuLibraryGetGlobal(void **at, size_t *bytes, library_t *library, const char *name) {
    if (strcmp(name, "nvshmemrs_device_state") || !names(library, name)) return NOT_FOUND;
    *at = library->nvshmemrs_device_state;
    *bytes = sizeof library->nvshmemrs_device_state;
    return SUCCESS;
}

int cuKernelGetFunction(function_t **function, function_t *kernel) {
    *function = kernel;
    return SUCCESS;
}

/* No shared memory, registers as few as you like. */
int cuFuncGetAttribute(int *value, int attribute, const void *function) {
    (void)attribute, (void)function;
    *value = 0;
    return SUCCESS;
}

int cuFuncSetAttribute(const void *function, int attribute, int value) {
    (void)function, (void)attribute, (void)value;
    return SUCCESS;
}

/* Whether a kernel is of a library that is here; the others are the library's own. */
static int is_mine(const void *kernel) {
    const function_t *function = kernel;
    return function >= functions && function < functions + KERNELS;
}

int cuLaunchKernel(const void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **args, void **extra) {
    const function_t *function = kernel;
    if (!is_mine(kernel)) return fake_cuLaunchKernel(kernel, gx, gy, gz, bx, by, bz, shared, stream, args, extra);
    if (!function->library) return INVALID_HANDLE;
    if (extra || !fake_launched) return INVALID_VALUE;
    int status = cuStreamSynchronize(stream);
    if (status != SUCCESS) return status;
    const unsigned shape[] = {gx, gy, gz, bx, by, bz, shared};
    return fake_launched(function->name, shape, args, function->library->nvshmemrs_device_state);
}

int cuLaunchKernelEx(const config_t *as, const void *kernel, void **args, void **extra) {
    if (!is_mine(kernel)) return fake_cuLaunchKernelEx(as, kernel, args, extra);
    if (as->count) return INVALID_VALUE;
    return cuLaunchKernel(kernel, as->gx, as->gy, as->gz, as->bx, as->by, as->bz, as->shared, as->stream, args, extra);
}

/* To a library's memory, which only its kernels use. */
int cuMemcpyHtoD_v2(void *dest, const void *source, size_t bytes) {
    memcpy(dest, source, bytes);
    return SUCCESS;
}

static int unsupported(void) { return NOT_SUPPORTED; }

/* The newest version of a function that is here. */
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found) {
    (void)version, (void)flags;
    Dl_info here;
    if (!dladdr((void *)(uintptr_t)cuGetProcAddress_v2, &here)) return NOT_FOUND;
    void *self = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    char newest[256];
    snprintf(newest, sizeof newest, "%s_v2", name);
    void *at = dlsym(self, newest);
    *function = at ? at : dlsym(self, name);
    if (!*function) *function = (void *)(uintptr_t)unsupported;
    if (found) *found = 0;
    dlclose(self);
    return SUCCESS;
}

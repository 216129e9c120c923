/* An NVRTC for tests on machines without one: it compiles to an image that fake_cuda.c accepts. With BROKEN, an NVRTC of another
 * version that compiles nothing. */
#include <string.h>

static const char image[] = "fake image";

const char *nvrtcGetErrorString(int error) { return error ? "an error" : "no error"; }

int nvrtcVersion(int *major, int *minor) {
    *major = 12;
#ifdef BROKEN
    *minor = 7;
#else
    *minor = 8;
#endif
    return 0;
}

int nvrtcGetNumSupportedArchs(int *count) {
    *count = 1;
    return 0;
}

int nvrtcGetSupportedArchs(int *archs) {
    archs[0] = 90;
    return 0;
}

int nvrtcCreateProgram(void **program, const char *source, const char *name, int count, const char *const *headers,
                       const char *const *names) {
    (void)source, (void)name, (void)count, (void)headers, (void)names;
    *program = (void *)image;
    return 0;
}

int nvrtcCompileProgram(void *program, int count, const char *const *options) {
    (void)program, (void)count, (void)options;
#ifdef BROKEN
    return 6;
#else
    return 0;
#endif
}

int nvrtcDestroyProgram(void **program) {
    *program = 0;
    return 0;
}

int nvrtcGetProgramLogSize(void *program, size_t *bytes) {
    (void)program;
    *bytes = 1;
    return 0;
}

int nvrtcGetProgramLog(void *program, char *log) {
    (void)program;
    *log = 0;
    return 0;
}

int nvrtcGetCUBINSize(void *program, size_t *bytes) {
    (void)program;
    *bytes = sizeof image;
    return 0;
}

int nvrtcGetCUBIN(void *program, char *cubin) {
    (void)program;
    memcpy(cubin, image, sizeof image);
    return 0;
}

int nvrtcGetPTXSize(void *program, size_t *bytes) { return nvrtcGetCUBINSize(program, bytes); }

int nvrtcGetPTX(void *program, char *ptx) { return nvrtcGetCUBIN(program, ptx); }

// Compiles device code with NVRTC, as a program without a toolkit does.
//
//   nvrtc LIBRARY SOURCE RESULT ARCHITECTURE [OPTION ...]      RESULT: the PTX
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *find(void *library, const char *name) {
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
        fprintf(stderr, "nvrtc: %s\n", dlerror());
        exit(1);
    }
    return symbol;
}

static char *contents(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    char *text = calloc(1, 16 << 20);
    if (fread(text, 1, (16 << 20) - 1, file) == 0) exit(1);
    fclose(file);
    return text;
}

typedef int (*create_t)(void **, const char *, const char *, int, const char *const *, const char *const *);
typedef int (*compile_t)(void *, int, const char *const *);
typedef int (*size_function)(void *, size_t *);
typedef int (*get_function)(void *, char *);

// The output of a pair of functions: one gives the size, the other the bytes.
static char *output(void *library, void *program, const char *size_name, const char *name, size_t *size) {
    if (((size_function)find(library, size_name))(program, size) != 0) exit(1);
    char *text = calloc(1, *size + 1);
    if (((get_function)find(library, name))(program, text) != 0) exit(1);
    return text;
}

int main(int count, char **args) {
    if (count < 5) return 2;
    void *library = dlopen(args[1], RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "nvrtc: %s\n", dlerror());
        return 1;
    }
    void *program;
    size_t size;
    create_t create = (create_t)find(library, "nvrtcCreateProgram");
    if (create(&program, contents(args[2]), args[2], 0, NULL, NULL) != 0) return 1;
    char architecture[64];
    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s", args[4]);
    const char *options[64] = {architecture, "-std=c++17"};
    int options_count = 2;
    for (int i = 5; i < count && options_count < 64; i++) options[options_count++] = args[i];
    int status = ((compile_t)find(library, "nvrtcCompileProgram"))(program, options_count, options);
    fputs(output(library, program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog", &size), stdout);
    if (status != 0) return 1;
    char *ptx = output(library, program, "nvrtcGetPTXSize", "nvrtcGetPTX", &size);
    FILE *file = fopen(args[3], "wb");
    if (file == NULL || fwrite(ptx, 1, size - 1, file) != size - 1 || fclose(file) != 0) return 1;
    return 0;
}

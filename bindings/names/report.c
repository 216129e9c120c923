/* Handles the failure of a call by a standard's name. */

#include "internal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool OWN(finalized);

bool OWN(returns)(void)
{
    const char *setting = getenv("NVSHMEMRS_ON_ERROR");
    return setting != NULL && strcmp(setting, "return") == 0;
}

/* Writes `text` with this standard's names of functions and constants. */
static void write_renamed(FILE *to, const char *text)
{
    static const char *const names[][2] = {
        {"libnvshmemrs", "libnvshmemrs"},
        /* The standards lack these functions. */
        {"nvshmemrs_static_data_register", "nvshmemrs_static_data_register"}, {"nvshmemrs_stream_", "nvshmemrs_stream_"},
        {"nvshmemrs_", STANDARD_TEXT}, {"NVSHMEMRS_CMP_", STANDARD_CAPITALS "CMP_"},
        {"NVSHMEMRS_SIGNAL_", STANDARD_CAPITALS "SIGNAL_"}, {"`signal_op`", "`sig_op`"}};
    while (*text != '\0') {
        size_t name = 0;
        while (name < sizeof names / sizeof *names && strncmp(text, names[name][0], strlen(names[name][0])) != 0)
            name++;
        if (name == sizeof names / sizeof *names) {
            fputc(*text++, to);
        } else {
            fputs(names[name][1], to);
            text += strlen(names[name][0]);
        }
    }
}

/* The whole text about an error of the function `name`: its call, its line, the reason. NULL if there is no memory; else to be freed. */
static char *describe(const char *name, const void *place, const char *text, size_t *length)
{
    char *line = NULL;
    FILE *to = open_memstream(&line, length);
    if (to == NULL)
        return NULL;
    fprintf(to, "%s at %s: ", name, nvshmemrs_place_string(place));
    write_renamed(to, text);
    fclose(to);
    return line;
}

/* Reports a failure, once in a process, and ends the job. */
static void end(const char *name, const void *place, const char *text)
{
    static pthread_mutex_t reporting = PTHREAD_MUTEX_INITIALIZER;
    static _Thread_local bool ending;
    /* A function of `atexit` that fails, too. */
    if (ending)
        _exit(1);
    ending = true;
    bool joining;
    nvshmemrs_runtime_t rt = OWN(known)(&joining);
    int32_t pe = -1;
    if (rt != 0)
        nvshmemrs_my_pe(rt, &pe);
    /* Never released: other threads must not continue after the failure. */
    pthread_mutex_lock(&reporting);
    size_t length = 0;
    const char *line = describe(name, place, text, &length);
    if (line == NULL)
        line = text;
    if (pe >= 0)
        fprintf(stderr, "nvshmemrs: PE %d: %s\n", (int)pe, line);
    else
        fprintf(stderr, "nvshmemrs: %s\n", line);
    if (rt != 0)
        (void)nvshmemrs_global_exit(rt, 1);
    /* There is no job; or a thread is joining one, and the functions of `atexit` would wait for it. */
    if (joining)
        _exit(1);
    exit(1);
}

void OWN(failed)(const char *name, int32_t status, const void *place)
{
    if (place == NULL)
        place = __builtin_return_address(0);
    bool joining;
    if (status == NVSHMEMRS_ERROR_NOT_INITIALIZED && OWN(known)(&joining) == 0) {
        OWN(misused)(name, place, OWN(finalized) ? "it was called after `" STANDARD_TEXT "finalize`"
                                                 : "it was called before `" STANDARD_TEXT "init`");
        return;
    }
    if (OWN(returns)())
        return;
    const char *text = nvshmemrs_last_error();
    char *kept = strdup(text);
    end(name, place, kept != NULL ? kept : text);
}

void OWN(misused)(const char *name, const void *place, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!OWN(returns)())
        end(name, place, text);
    size_t length = 0;
    char *line = describe(name, place, text, &length);
    if (line != NULL)
        (void)nvshmemrs_error_set(line, length);
    free(line);
}

bool OWN(versions_match)(const char *name, const void *place)
{
    const uint32_t own = NVSHMEMRS_ABI_VERSION, core = nvshmemrs_abi_version();
    /* A program that does not include the header has none. */
    const uint32_t header = &OWN(header) != NULL ? OWN(header) : own;
    if (header == own && core == own)
        return true;
    OWN(misused)(name, place,
        "the program was compiled with a " STANDARD_FILE ".h of ABI version %u, and runs with a libnvshmemrs_" STANDARD_FILE
        ".so of ABI version %u and a libnvshmemrs.so of ABI version %u: compile it with the header of the libraries that it loads",
        (unsigned)header, (unsigned)own, (unsigned)core);
    /* The job goes on without a PE here, and later calls fail for another reason. */
    fprintf(stderr, "nvshmemrs: %s\n", nvshmemrs_last_error());
    return false;
}

/* Stands in for the MPI of a program that was linked with MPICH: the functions that the plugin calls before it starts MPI. */

#include <stdlib.h>
#include <string.h>

int MPI_Get_library_version(char *version, int *length);
int MPI_Init(int *argc, char ***argv);

int MPI_Get_library_version(char *version, int *length)
{
    strcpy(version, "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n");
    *length = (int)strlen(version);
    return 0;
}

/* Here only the place of it is looked at. */
int MPI_Init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    abort();
}

/* The calls of generic.c as C++ has them. */
#include "generic.c"

/* panic.c: aborts the program. */
#include "base/panic.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void panic(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("shoal: internal error: ", stderr);
    vfprintf(stderr, fmt, args);
    fputs("\nThis is a bug in shoal. Please report it with the command you ran.\n", stderr);
    va_end(args);
    abort();
}

/*
 * banned.h: calls that have no place in this program. The build force-includes this file before
 * every source, so that using one of them does not compile.
 *
 * What to use instead: struct str and struct buf for text, str_to_* for numbers, io/file.h for
 * files, argv-based children for programs, one clock handed down by the loop for time.
 */
#pragma once

/* The system headers declare these names: read them before the names are poisoned. */
#include <alloca.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

/* glibc or macOS has these as macros, and poison wants names. */
#undef alloca
#undef asprintf
#undef sprintf
#undef stpcpy
#undef stpncpy
#undef strcat
#undef strcpy
#undef strdupa
#undef strncat
#undef strncpy
#undef strndupa
#undef vasprintf
#undef vsprintf

/* Unbounded or silently truncating text. */
#pragma GCC poison strcpy strncpy strcat strncat stpcpy stpncpy wcscpy wcscat
#pragma GCC poison sprintf vsprintf gets
#pragma GCC poison scanf fscanf sscanf vscanf vsscanf vfscanf
#pragma GCC poison strtok strdup strndup strdupa strndupa asprintf vasprintf
/* Number parsing that cannot report failure. */
#pragma GCC poison atoi atol atoll atof
/* Shells, and files with guessable names. */
#pragma GCC poison system popen mktemp tmpnam tempnam
/* Hidden state, unbounded stack. */
#pragma GCC poison srand srandom localtime gmtime ctime asctime alloca
/* OpenSSL has parameters called `rand` and libuv a kind of request called `random`, so the names
 * stay usable and only the calls are banned. */
#define BANNED(name) sorry_##name##_is_a_banned_function
#define rand() BANNED(rand)
#define random() BANNED(random)

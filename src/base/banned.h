/*
 * banned.h: poisons banned functions. The build force-includes this file before every source, so
 * that using one of them does not compile.
 *
 * Use instead: struct str and struct buf for text, str_to_* for numbers, io/file.h for files,
 * argv-based children for programs, the loop's clock for time.
 */
#pragma once

/* The system headers declare these names, so they are included before the names are poisoned. */
#include <alloca.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

/* Macros in glibc or macOS; poison needs plain names. */
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

/* Unbounded or silently truncating text functions. */
#pragma GCC poison strcpy strncpy strcat strncat stpcpy stpncpy wcscpy wcscat
#pragma GCC poison sprintf vsprintf gets
#pragma GCC poison scanf fscanf sscanf vscanf vsscanf vfscanf
#pragma GCC poison strtok strdup strndup strdupa strndupa asprintf vasprintf
/* Number parsing without error reporting. */
#pragma GCC poison atoi atol atoll atof
/* Shells, and predictable file names. */
#pragma GCC poison system popen mktemp tmpnam tempnam
/* Hidden state, unbounded stack use. */
#pragma GCC poison srand srandom localtime gmtime ctime asctime alloca
/* OpenSSL has parameters named `rand` and libuv a request type named `random`, so only calls are
 * banned, not the names. */
#define BANNED(name) sorry_##name##_is_a_banned_function
#define rand() BANNED(rand)
#define random() BANNED(random)

/* unit.h: cmocka, the headers that it needs before it, and comparisons of text views that show
 * both sides when they fail. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"

#define assert_str(actual, expected) unit_check_str(actual, expected, __FILE__, __LINE__)

/* For messages whose wording may change, but not their place and meaning: every * in `pattern`
 * matches any text within a line. */
#define assert_like(actual, pattern) unit_check_like(actual, pattern, __FILE__, __LINE__)

static inline void unit_fail(struct str actual, const char *expected, const char *file, int line)
{
    print_error("got:      \"%.*s\"\nexpected: \"%s\"\n", STR_ARG(actual), expected);
    _fail(file, line);
}

static inline void unit_check_str(struct str actual, const char *expected, const char *file,
                                  int line)
{
    if (!str_is(actual, expected)) {
        unit_fail(actual, expected, file, line);
    }
}

static inline bool unit_is_like(struct str text, const char *pattern)
{
    const char *after_star = NULL;
    size_t from = 0; /* where the text after the last star is tried */
    size_t at = 0;
    while (at < text.len || *pattern == '*') {
        if (*pattern == '*') {
            after_star = ++pattern;
            from = at;
        } else if (*pattern == text.ptr[at]) {
            pattern++;
            at++;
        } else if (after_star && text.ptr[from] != '\n') {
            pattern = after_star;
            at = ++from;
        } else {
            return false;
        }
    }
    return *pattern == '\0';
}

static inline void unit_check_like(struct str actual, const char *pattern, const char *file,
                                   int line)
{
    if (!unit_is_like(actual, pattern)) {
        unit_fail(actual, pattern, file, line);
    }
}

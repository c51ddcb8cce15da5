/*
 * require.h: states an invariant; compiled into every build.
 *
 *     require(list->count <= list->capacity, "the list fits its array");
 *
 * For relations that only a bug can break: states, indexes, order, counts that must agree. Never
 * for external input, which is an error to report. Costs one branch. A failure prints the file, the
 * line, the expression and the text, and aborts.
 */
#pragma once

#include "base/attr.h"

#define require(condition, text)                  \
    (__builtin_expect(!!(condition), 1) ? (void)0 \
                                        : require_failed(__FILE__, __LINE__, #condition, (text)))

NO_RETURN void require_failed(const char *file, int line, const char *condition, const char *text);

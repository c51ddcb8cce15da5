/*
 * ini.h: reads AWS's configuration files like Python's configparser does for botocore.
 *
 * Rejects the same input: a line outside a section, a duplicate name, a line that is not an option,
 * bytes that are not UTF-8. Option names are lower case. Every section inherits [DEFAULT]. An
 * option whose value starts on the next line is nested: its lines are options themselves.
 *
 * Errors give line numbers and never quote a line: values are secrets.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum { INI_BYTES_MAX = 4 * 1024 * 1024 };

struct ini_pair {
    struct str name;
    struct str value;
};

struct ini_option {
    struct str name;
    struct str value;        /* for a nested option, the raw lines */
    struct ini_pair *nested; /* NULL unless nested; the last of equal names applies */
    size_t nested_count;
};

struct ini_section {
    struct str name;
    size_t first; /* its options in ini.options */
    size_t count;
};

struct ini {
    struct ini_section *sections; /* in file order, without [DEFAULT] */
    size_t section_count;
    struct ini_option *options;
    size_t option_count;
    struct ini_option *defaults;
    size_t default_count;
};

/* `*ret_ini` is allocated in `arena`. */
bool ini_parse(struct str text, struct arena *arena, struct ini *ret_ini, struct err *err) MUST_USE;

/* NULL if there is none. */
const struct ini_section *ini_section(const struct ini *ini, struct str name);

/* From the section or [DEFAULT]; NULL if neither has it, or if `section` is NULL. */
const struct ini_option *ini_option(const struct ini *ini, const struct ini_section *section,
                                    const char *name);

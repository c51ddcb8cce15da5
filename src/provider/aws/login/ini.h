/*
 * ini.h: AWS's configuration files, as Python's configparser reads them for botocore.
 *
 * What that reader refuses is refused here: a line outside a section, a name twice, a line that is
 * no option, bytes that are not UTF-8. Names of options are lower case. What [DEFAULT] holds,
 * every section has. An option whose value starts on the next line is nested: its lines are
 * options of their own.
 *
 * Messages name lines and never quote them: the values are secrets.
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
    struct str value;        /* of a nested option, the lines as they stand */
    struct ini_pair *nested; /* NULL unless nested; of equal names the last counts */
    size_t nested_count;
};

struct ini_section {
    struct str name;
    size_t first; /* its options in ini.options */
    size_t count;
};

struct ini {
    struct ini_section *sections; /* in the order of the file, without [DEFAULT] */
    size_t section_count;
    struct ini_option *options;
    size_t option_count;
    struct ini_option *defaults;
    size_t default_count;
};

/* Everything in `*ret_ini` lives in `arena`. */
bool ini_parse(struct str text, struct arena *arena, struct ini *ret_ini, struct err *err) MUST_USE;

/* NULL when there is none. */
const struct ini_section *ini_section(const struct ini *ini, struct str name);

/* Of the section or of [DEFAULT]; NULL when neither has it, or `section` is NULL. */
const struct ini_option *ini_option(const struct ini *ini, const struct ini_section *section,
                                    const char *name);

/*
 * args.h: parses a command line by a verb's table.
 *
 * GNU conventions: options and operands in any order, --name=value and --name value, -ovalue and -o
 * value, combined single letters, -- ends the options.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "cli/verb.h"

/*
 * Fills `fields` (the verb's own struct, zeroed by the caller) and `common` from the arguments
 * after the verb. Strings point into `words`, lists into `arena`. With --help, missing operands are
 * not an error.
 */
bool args_parse(const struct verb *verb, int count, char *const *words, struct arena *arena,
                void *fields, struct common_fields *common, struct err *err) MUST_USE;

/* The opposite: adds the options in `fields` as words, except those in `skipped` (ends with NULL).
 * Zero numbers and false flags are the defaults and are left out. */
struct args_words {
    const char **items;
    size_t count;
};
void args_list(const struct verb *verb, const void *fields, const char *const *skipped,
               struct arena *arena, struct args_words *ret_words);

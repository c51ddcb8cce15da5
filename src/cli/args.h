/*
 * args.h: a command line, read along a verb's table.
 *
 * GNU manners: options and operands in any order, --name=value and --name value, -ovalue and -o
 * value, single letters together, -- ends the options.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "cli/verb.h"

/*
 * Fills `fields` (the verb's own struct, zeroed by the caller) and `common` from the words behind
 * the verb. Texts point into `words`, lists of them
 * into `arena`. Missing operands are no error when --help is given.
 */
bool args_parse(const struct verb *verb, int count, char *const *words, struct arena *arena,
                void *fields, struct common_fields *common, struct err *err) MUST_USE;

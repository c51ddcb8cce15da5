/* confirm.h: is that what you want? As Ray's launcher asks it. */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "cli/verb.h"

/*
 * "QUESTION Confirm [y/N]: " on standard error, unless `is_yes`. True for y, yes, true and 1. No
 * answer, or nobody there who could give one, is a no: ERR_CANCELLED. To be asked before a loop
 * catches Ctrl-C.
 */
bool confirm(const struct cli *cli, const char *question, bool is_yes, struct err *err) MUST_USE;

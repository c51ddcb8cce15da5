/* confirm.h: asks for confirmation, like Ray's launcher. */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "cli/verb.h"

/*
 * Prints "QUESTION Confirm [y/N]: " to standard error, unless `is_yes`. True for y, yes, true and
 * 1. Without an answer, or without a terminal, fails with ERR_CANCELLED. Call it before a loop
 * handles Ctrl-C.
 */
bool confirm(const struct cli *cli, const char *question, bool is_yes, struct err *err) MUST_USE;

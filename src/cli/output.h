/* output.h: manners of a command's output: colours, error lines, writing a buffer. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "cli/verb.h"
#include "config/document/diag.h"

enum { OUTPUT_BYTES_MAX = 256 * 1024 * 1024 };

/* Should this stream be coloured? `when` is auto (or NULL), always or never. */
bool output_wants_colour(FILE *stream, const char *when);

struct diag_style output_style(bool colour);

/* "shoal: error: ..." on standard error; returns the exit status for it. */
int output_error(const struct cli *cli, const struct err *err);

/* Writes it and reports failure (a full disk, a closed pipe) as an exit status: 0 or 1. */
int output_write(const struct cli *cli, FILE *stream, const struct buf *text);

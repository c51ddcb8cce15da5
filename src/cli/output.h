/* output.h: output conventions: colours, error lines, writing a buffer. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "cli/verb.h"
#include "config/document/diag.h"

enum { OUTPUT_BYTES_MAX = 256 * 1024 * 1024 };

/* True if this stream should be coloured. `when` is auto (or NULL), always or never. */
bool output_wants_colour(FILE *stream, const char *when);

struct diag_style output_style(bool colour);

/* Writes text for people: on a terminal its long lines are folded between words. */
void output_print(FILE *stream, struct str text);

/* Prints "shoal: error: ..." to standard error; returns the exit status. */
int output_error(const struct cli *cli, const struct err *err);

/* Writes the text. Returns 1 on failure (disk full, pipe closed), otherwise 0. */
int output_write(const struct cli *cli, FILE *stream, const struct buf *text);
/* The same, folded as output_print() does. */
int output_write_text(const struct cli *cli, FILE *stream, const struct buf *text);

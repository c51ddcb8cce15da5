/* help.h: the tables as text for a terminal. */
#pragma once

#include "base/buf.h"
#include "cli/verb.h"
#include "config/schema/schema.h"

/* `shoal help`: what it is, every verb, where to go on. */
void help_program(struct buf *out);

/* `shoal help VERB`, at most 80 columns. */
void help_verb(struct buf *out, const struct verb *verb);

/* "shoal validate [OPTIONS] FILE" */
void help_usage(struct buf *out, const struct verb *verb);

/* One key of the cluster file, by its dotted path; false when there is none. */
bool help_key(struct buf *out, struct str path);

/* The verb or key that a mistyped topic was meant to be; empty when none is near. */
struct str help_nearest(struct arena *arena, struct str topic);

/* Every key, one per line: path, tab, types. For programs. */
void help_keys(struct buf *out);

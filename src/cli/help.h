/* help.h: terminal help from the tables. */
#pragma once

#include "base/buf.h"
#include "cli/verb.h"
#include "config/schema/schema.h"

/* `shoal help`: what it is, every verb in its group, where to go on. */
void help_program(struct buf *out);

/* `shoal help VERB`, at most 80 columns. */
void help_verb(struct buf *out, const struct verb *verb);

/* "shoal validate [OPTIONS] FILE" */
void help_usage(struct buf *out, const struct verb *verb);

/* One key of the cluster file, by its dotted path; false if there is none. */
bool help_key(struct buf *out, struct str path);

/* The verb or key closest to a mistyped topic; empty if none is close. */
struct str help_nearest(struct arena *arena, struct str topic);

/*
 * `shoal help -k WORD`: commands, options and keys whose name or text has a word that starts with
 * `word`, whatever its case. `is_whole`: the whole word only. Returns how many; adds nothing for 0.
 */
size_t help_search(struct buf *out, struct str word, bool is_whole);

/* The command that another program has under this name ("stop", "ssh"); NULL: none. */
const char *help_synonym(struct str word);

/* Every key, one per line: path, tab, types. Machine-readable. */
void help_keys(struct buf *out);

/* ---- for help_search.c ---- */

enum { HELP_VERB_COLUMN = 21 };

/* "  left   help", the help at that column. */
void help_add_row(struct buf *out, const char *left, const char *help, size_t column);

typedef void help_key_fn(void *context, struct str path, const struct schema_key *key);
void help_each_key(help_key_fn *take, void *context);

/*
 * diag.h: the problems of a cluster file, each with its position.
 *
 * Findings are collected, so that a user sees all of them in one run. A finding has a headline
 * ("unknown key "max_worker""), an optional hint shown after the caret ("did you mean
 * "max_workers"?"), and a stable code for programs that read the JSON form.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "config/document/place.h"

#include <stdbool.h>
#include <stddef.h>

enum diag_level { DIAG_ERROR, DIAG_WARNING };

struct diag {
    enum diag_level level;
    const char *code; /* "unknown-key": stable and documented */
    struct place place;
    struct str text;
    struct str hint;   /* may be empty */
    struct str word;   /* the missing or intended key; may be empty */
    const void *scope; /* the map that `word` is a key of; NULL: the file itself */
    bool is_missing;
};

struct diag_list {
    struct arena *arena;
    struct diag *items;
    size_t count;
    size_t capacity;
    size_t error_count;
    size_t warning_count;
};

/* At most this many findings are stored for each level; more usually have a common cause. */
enum { DIAG_MAX = 200 };

void diag_list_init(struct diag_list *list, struct arena *arena);

/* Returns the finding so that a hint can be added; never NULL. */
struct diag *diag_add(struct diag_list *list, enum diag_level level, const char *code,
                      struct place place, const char *fmt, ...) PRINTF_LIKE(5, 6);
void diag_hint(struct diag_list *list, struct diag *diag, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Records that the key `word` of the map `scope` (NULL: the file itself) is missing. */
void diag_mark_missing(struct diag *diag, const void *scope, struct str word);

/* True if this was reported for that place already; `code` NULL: any finding. */
bool diag_has(const struct diag_list *list, const char *code, struct place place);

#define diag_error(list, code, place, ...) diag_add(list, DIAG_ERROR, code, place, __VA_ARGS__)
#define diag_warn(list, code, place, ...) diag_add(list, DIAG_WARNING, code, place, __VA_ARGS__)

/* True if there are so many findings that a hint is not worth computing. */
bool diag_is_crowded(const struct diag_list *list, enum diag_level level);

/* True if a finding suggests `word` for a mistyped key. */
bool diag_suggests(const struct diag_list *list, const void *scope, struct str word);

/*
 * A mistyped key is unknown, and the intended key is missing: merges the two findings into one
 * error at the mistyped key.
 */
void diag_merge_typos(struct diag_list *list);

/* By file, line and column; stable. */
void diag_sort(struct diag_list *list);

/* Terminal escape sequences, or empty strings. */
struct diag_style {
    const char *error, *warning, *dim, *reset;
};

/* FILE:LINE:COL: error: text, the source line with a caret, the hint. */
void diag_print(struct buf *out, const struct diag *diag, const struct diag_style *style);

/* "2 errors, 1 warning" */
void diag_print_summary(struct buf *out, const struct diag_list *list);

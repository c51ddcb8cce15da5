/*
 * yaml_check.h: rejects input that libyaml accepts but PyYAML does not.
 *
 * Ray reads cluster files with PyYAML's own scanner, which is stricter than libyaml about bytes and
 * tabs. These checks close the gap, with better messages.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "config/document/diag.h"

#include <yaml.h>

/* Spans of characters (not bytes) in which tabs are allowed: quoted and block scalars. */
struct yaml_span {
    size_t from, to;
    bool is_block; /* starts after its header line */
};

struct yaml_quoted {
    struct yaml_span *spans;
    size_t count;
    size_t capacity;
};

/* Records the span of a scalar event if tabs are allowed in it. */
void yaml_quoted_note(struct yaml_quoted *quoted, struct arena *arena, const yaml_event_t *event);

/* Checks size, UTF-8 and control characters. */
bool yaml_check_source(const struct source *source, struct diag_list *diags) MUST_USE;

/* Reports "a tab cannot be used here". Returns false. */
bool yaml_report_tab(struct diag_list *diags, struct place place);

/* Rejects tabs outside of quoted spans and comments, and a comment in a block's header without a
 * blank before it. */
bool yaml_check_scan(const struct source *source, const struct yaml_quoted *quoted,
                     struct diag_list *diags) MUST_USE;

/* The text without a leading byte order mark. */
struct str yaml_skip_mark(struct str text);

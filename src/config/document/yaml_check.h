/*
 * yaml_check.h: what PyYAML refuses and libyaml lets through.
 *
 * Ray reads cluster files with PyYAML's own scanner, which is stricter than libyaml about bytes
 * and tabs. These checks make up the difference, and their messages are better for it.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "config/document/diag.h"

#include <yaml.h>

/* Spans of characters (not bytes) in which a tab is text: quoted and block scalars. */
struct yaml_span {
    size_t from, to;
    bool is_block; /* begins behind its header line */
};

struct yaml_quoted {
    struct yaml_span *spans;
    size_t count;
    size_t capacity;
};

/* Remembers the span of a scalar event, if tabs are allowed in it. */
void yaml_quoted_note(struct yaml_quoted *quoted, struct arena *arena, const yaml_event_t *event);

/* Size, UTF-8, and no control characters. */
bool yaml_check_source(const struct source *source, struct diag_list *diags) MUST_USE;

/* "a tab cannot be used here", wherever it was found. Returns false. */
bool yaml_report_tab(struct diag_list *diags, struct place place);

/* No tab outside the quoted spans and comments; a blank before the comment of a block's header. */
bool yaml_check_scan(const struct source *source, const struct yaml_quoted *quoted,
                     struct diag_list *diags) MUST_USE;

/* The text without a leading byte order mark. */
struct str yaml_skip_mark(struct str text);

/*
 * preflight_text.h: formats findings for users: one line per passed check, then each problem at its
 * position in the cluster file, followed by its rows.
 */
#pragma once

#include "base/buf.h"
#include "config/document/diag.h"
#include "config/document/value.h"
#include "provider/provider.h"

#include <stddef.h>

struct preflight_counts {
    size_t errors, warnings, fine;
    size_t unchecked; /* findings about what could not be found out */
};

struct preflight_counts preflight_text_count(const struct finding *findings, size_t count);

/* "identity  arn:aws:...", one per line, in two columns. */
void preflight_text_fine(struct buf *out, const struct finding *findings, size_t count);

/* Warnings, then errors. `tree` is the configuration to which the paths of the findings refer. */
void preflight_text_problems(struct buf *out, const struct finding *findings, size_t count,
                             const struct value *tree, const struct diag_style *style);

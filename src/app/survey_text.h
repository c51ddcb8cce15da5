/*
 * survey_text.h: what a provider found out, for people: a line for each thing that is fine, then
 * each problem at its place in the cluster file, with the rows below it.
 */
#pragma once

#include "base/buf.h"
#include "config/document/diag.h"
#include "config/document/value.h"
#include "provider/provider.h"

#include <stddef.h>

struct survey_counts {
    size_t errors, warnings, fine;
};

struct survey_counts survey_text_count(const struct finding *findings, size_t count);

/* "identity  arn:aws:...", a line each, the texts in one column. */
void survey_text_fine(struct buf *out, const struct finding *findings, size_t count);

/* Warnings, then errors. `tree` is the configuration that the paths of the findings lead into. */
void survey_text_problems(struct buf *out, const struct finding *findings, size_t count,
                          const struct value *tree, const struct diag_style *style);

/* manual.h: manual pages (scdoc) and Markdown pages from the tables. */
#pragma once

#include "base/buf.h"
#include "cli/verb.h"

void manual_program(struct buf *out);                       /* shoal(1) */
void manual_verb(struct buf *out, const struct verb *verb); /* shoal-VERB(1) */
void manual_cluster_file(struct buf *out);                  /* shoal-cluster(5) */
void manual_cluster_file_markdown(struct buf *out);         /* docs page with the same content */
void manual_workload_file(struct buf *out);                 /* shoal-workload(5) */
void manual_workload_file_markdown(struct buf *out);        /* docs page with the same content */

/* The same tables as JSON Schemas (manual_schema.c, linked into manual_printer only). */
void manual_cluster_file_schema(struct buf *out);
void manual_workload_file_schema(struct buf *out);

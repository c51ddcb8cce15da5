/* print.h: prints the clusters of an account as a table and as JSON. */
#pragma once

#include "app/account_cost.h"
#include "base/buf.h"
#include "base/err.h"
#include "provider/account.h"

struct ls_view {
    const struct account *account;
    struct price_table prices;
    int64_t now; /* seconds since 1970 */
};

/*
 * One line per cluster. Notes that do not fit into `width` columns get their own line; width 0:
 * unlimited, as in a pipe.
 */
void ls_print_table(struct buf *out, struct arena *arena, const struct ls_view *view, size_t width,
                    bool colour);

/* One sentence: number of clusters and regions, total cost, and the source of the prices. */
void ls_print_summary(struct buf *out, struct arena *arena, const struct ls_view *view);

/* Failed listings, one line for each reason. */
void ls_print_gaps(struct buf *out, struct arena *arena, const struct account *account);

/* Clouds that were not searched, a line each. */
void ls_print_skipped(struct buf *out, const struct account *account);

bool ls_print_json(struct buf *out, struct arena *arena, const struct ls_view *view,
                   struct err *err) MUST_USE;

/* ---- shared with JSON ---- */

/* The command that removes what still costs money or is left over; empty if there is none. */
struct str ls_remedy(struct arena *arena, const struct account_cluster *cluster, int64_t now);

/* The total over all clusters. */
struct account_cost ls_total(const struct ls_view *view);

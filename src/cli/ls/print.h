/* print.h: the clusters of an account as a table for people and as an object for programs. */
#pragma once

#include "app/account_cost.h"
#include "base/buf.h"
#include "base/err.h"
#include "provider/account.h"

struct ls_view {
    const struct account *account;
    struct account_prices prices;
    int64_t now; /* seconds since 1970 */
};

/*
 * A line for each cluster. Notes that do not fit into `width` columns go on a line of their own;
 * 0: there is no width, as in a pipe.
 */
void ls_print_table(struct buf *out, struct arena *arena, const struct ls_view *view, size_t width,
                    bool colour);

/* One sentence: how many clusters where, what they cost together, and who said the prices. */
void ls_print_summary(struct buf *out, struct arena *arena, const struct ls_view *view);

/* What could not be seen, a line for each reason. */
void ls_print_gaps(struct buf *out, struct arena *arena, const struct account *account);

bool ls_print_json(struct buf *out, struct arena *arena, const struct ls_view *view,
                   struct err *err) MUST_USE;

/* ---- words that both share ---- */

/* The command that ends what is still paid for or left; empty: there is none to be named. */
struct str ls_remedy(struct arena *arena, const struct account_cluster *cluster);

/* The sum of all clusters. */
struct account_cost ls_total(const struct ls_view *view);

/*
 * gcp_account.h: finds every cluster of a project of Google Cloud, in all zones at once.
 *
 * Read-only. A zone that cannot be reached, or a kind of resource that cannot be listed, is a gap;
 * the rest is still returned.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "provider/account.h"
#include "provider/gcp/credentials/gcp_credentials.h"

struct gcp_account;

/* Everything must stay valid until it is freed. */
struct gcp_account_setup {
    struct gcp_setup base;
    struct str project;        /* empty: that of the credentials */
    uint64_t seed;             /* for pauses */
    const struct str *regions; /* only clusters there are returned */
    size_t region_count;       /* 0: all of them */
    struct arena *arena;       /* memory of the result */
};

/* If the instances could not be listed, `account` is NULL and `err` says why. */
typedef void gcp_account_fn(void *context, const struct account *account, const struct err *err);

/* `done` is called at most once, from the loop. Free it later, not from there. */
struct gcp_account *gcp_account_start(const struct gcp_account_setup *setup, gcp_account_fn *done,
                                      void *context);
void gcp_account_free(struct gcp_account *account); /* ends all calls */

/* Empty: not known yet, or the credentials name none. */
struct str gcp_account_project(const struct gcp_account *account);

/* Progress, for display. */
struct gcp_account_progress {
    size_t asked_count, answered_count;
};
struct gcp_account_progress gcp_account_progress(const struct gcp_account *account);

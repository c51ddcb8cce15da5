/*
 * account.h: finds every cluster of an AWS account, in all regions at once.
 *
 * Read-only. A failed listing of one region or one kind of resource is reported as a gap; the rest
 * is still returned.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "io/loop.h"
#include "provider/account.h"
#include "provider/aws/client/aws_client.h"

struct aws_account;

/* Pointers must stay valid until `done`. */
struct aws_account_setup {
    struct aws_client *client;
    struct loop *loop;
    const struct str *regions; /* regions to search */
    size_t region_count;       /* 0: all regions enabled for the account */
    struct arena *arena;       /* memory of the result */
};

/* If nothing could be listed, `account` is NULL and `err` says why. */
typedef void aws_account_fn(void *context, const struct account *account, const struct err *err);

/* `done` is called exactly once, from the loop. */
struct aws_account *aws_account_start(const struct aws_account_setup *setup, aws_account_fn *done,
                                      void *context);

/* Progress, for display. */
struct aws_account_progress {
    size_t asked_count, answered_count; /* number of listings; may still grow */
    struct str region;                  /* region of a pending listing; may be empty */
};
struct aws_account_progress aws_account_progress(const struct aws_account *account);

/* No more callbacks are called. */
void aws_account_cancel(struct aws_account *account);

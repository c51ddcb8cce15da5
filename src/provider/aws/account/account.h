/*
 * account.h: every cluster of an AWS account, in all of its regions at once.
 *
 * Reads only. What one region, or one kind of thing, refuses to tell is a gap in the answer; the
 * rest is told all the same.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "io/loop.h"
#include "provider/account.h"
#include "provider/aws/client/aws_client.h"

struct aws_account;

/* What is pointed to must outlive the gathering. */
struct aws_account_setup {
    struct aws_client *client;
    struct loop *loop;
    const struct str *regions; /* to look at */
    size_t region_count;       /* 0: all that are enabled for the account */
    struct arena *arena;       /* of the answer */
};

/* `account` is NULL, and `err` says why, when nothing could be looked at. */
typedef void aws_account_fn(void *context, const struct account *account, const struct err *err);

/* `done` is called exactly once, from the loop. */
struct aws_account *aws_account_start(const struct aws_account_setup *setup, aws_account_fn *done,
                                      void *context);

/* How far it is, for who waits. */
struct aws_account_progress {
    size_t asked_count, answered_count; /* listings; more may follow */
    struct str region;                  /* of one that is waited for; may be empty */
};
struct aws_account_progress aws_account_progress(const struct aws_account *account);

/* No callback is called any more. */
void aws_account_cancel(struct aws_account *account);

/*
 * account_roles.h: the roles and instance profiles that Shoal created in an account, with their
 * owners. IAM lists resources by path, and returns tags for one resource at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "io/loop.h"
#include "provider/account.h"
#include "provider/aws/client/aws_client.h"

struct account_roles;

/* Pointers must stay valid until `done`. */
struct account_roles_setup {
    struct aws_client *client;
    struct loop *loop;
    struct str region; /* any region of the partition */
    int64_t deadline_ms;
    struct arena *arena; /* memory of the result */
};

struct account_roles_answer {
    bool is_ok; /* complete; otherwise empty */
    struct str code;
    struct err err;
    const struct account_thing *things;
    size_t count;
};

typedef void account_roles_fn(void *context, const struct account_roles_answer *answer);

/* `done` is called exactly once, from the loop. */
struct account_roles *account_roles_start(const struct account_roles_setup *setup,
                                          account_roles_fn *done, void *context);
void account_roles_cancel(struct account_roles *roles);

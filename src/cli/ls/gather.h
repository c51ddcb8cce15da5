/* gather.h: all resources of an account that belong to clusters, for `ls` and `gc`. */
#pragma once

#include "app/account_cost.h"
#include "app/cloud_session.h"
#include "app/price_lookup.h"
#include "base/attr.h"
#include "cli/verb.h"
#include "provider/aws/account/account.h"

/* Options; each verb has them as a member `gather` of its own struct. */
struct gathering_fields {
    const char *regions;
    const char *profile;
    const char *output;
};

/* Three rows. */
#define GATHERING_OPTIONS(type)                                                                   \
    {"region",                                                                                    \
     0,                                                                                           \
     OPTION_TEXT,                                                                                 \
     offsetof(type, gather.regions),                                                              \
     "REGION,...",                                                                                \
     NULL,                                                                                        \
     "Only these regions, separated by commas. The default is every region enabled for "          \
     "the account."},                                                                             \
        {"profile",                                                                               \
         0,                                                                                       \
         OPTION_TEXT,                                                                             \
         offsetof(type, gather.profile),                                                          \
         "NAME",                                                                                  \
         NULL,                                                                                    \
         "AWS profile to use, from ~/.aws/config or ~/.aws/credentials; overrides AWS_PROFILE."}, \
    {                                                                                             \
        "output", 'o', OPTION_CHOICE, offsetof(type, gather.output), "FORMAT", text_or_json,      \
            "Output format: text (the default) or json."                                          \
    }

/* Initialize with {.cli, .arena, .wants_prices}; always close it. */
struct gathering {
    const struct cli *cli;
    struct cloud_session session;
    struct loop_timer *progress; /* NULL: not a terminal */
    struct aws_client *client;
    struct arena *arena;
    struct aws_account *account_call; /* in progress */
    struct price_lookup *price_call;
    const struct account *account; /* the result; NULL: see `err` */
    struct price_query *queries;
    struct price_known *prices;
    size_t query_count;
    struct err err;
    struct err trouble; /* first error with prices */
    struct err unkept;
    bool wants_prices;
};

/* Returns 0, or the exit status after an error message. Without --region: all enabled regions. */
int gathering_run(struct gathering *gathering, const struct gathering_fields *given) MUST_USE;
void gathering_close(struct gathering *gathering);

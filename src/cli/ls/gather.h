/*
 * gather.h: all resources that belong to clusters, in an AWS account and in projects of Google
 * Cloud, for `ls` and `gc`.
 *
 * Options name what to search: --profile and a region of AWS the account, --project and a region of
 * Google its projects. Without them both clouds are searched, as far as there are credentials: then
 * one without credentials is not an error.
 */
#pragma once

#include "app/account_cost.h"
#include "app/cloud_session.h"
#include "app/google_projects.h"
#include "app/price_lookup.h"
#include "base/attr.h"
#include "cli/verb.h"
#include "provider/aws/account/account.h"
#include "provider/gcp/account/gcp_account.h"

/* Options; each verb has them as a member `gather` of its own struct. */
struct gathering_fields {
    const char *regions;
    const char *profile;
    const char *projects;
    const char *output;
};

/* Four rows. */
#define GATHERING_OPTIONS(type)                                                                  \
    {"region",                                                                                   \
     0,                                                                                          \
     OPTION_TEXT,                                                                                \
     offsetof(type, gather.regions),                                                             \
     "REGION,...",                                                                               \
     NULL,                                                                                       \
     "Only these regions, separated by commas. The default is every region enabled for "         \
     "the account, and every region of a project. Regions of one cloud only (us-west-2 is on "   \
     "AWS, us-west1 on Google Cloud) exclude the other cloud, unless --profile or --project "    \
     "names it."},                                                                               \
        {"profile",                                                                              \
         0,                                                                                      \
         OPTION_TEXT,                                                                            \
         offsetof(type, gather.profile),                                                         \
         "NAME",                                                                                 \
         NULL,                                                                                   \
         "AWS profile to use, from ~/.aws/config or ~/.aws/credentials; overrides AWS_PROFILE. " \
         "Google Cloud is then not searched, unless --project is given."},                       \
        {"project",                                                                              \
         0,                                                                                      \
         OPTION_TEXT,                                                                            \
         offsetof(type, gather.projects),                                                        \
         "ID,...",                                                                               \
         NULL,                                                                                   \
         "Only these Google Cloud projects, separated by commas. AWS is then not searched, "     \
         "unless --profile is given. The default is the project of the Google credentials (as "  \
         "in gcloud, or GOOGLE_CLOUD_PROJECT), and the projects of clusters started from this "  \
         "machine."},                                                                            \
    {                                                                                            \
        "output", 'o', OPTION_CHOICE, offsetof(type, gather.output), "FORMAT", text_or_json,     \
            "Output format: text (the default) or json."                                         \
    }

enum { GATHERING_REGIONS_MAX = 100, GATHERING_PARTS_MAX = GOOGLE_PROJECTS_MAX + 2 };

/* A project, or the AWS account, and how its listing ended. */
struct gathering_part {
    struct gathering *gathering;
    bool is_google;
    struct gcp_account *google; /* NULL: not asked */
    bool is_named;              /* the user asked for it: a failure is an error */
    bool is_listed;
    struct account account;
    struct err err; /* unless it is listed */
};

/* Initialize with {.cli, .arena, .wants_prices}; always close it. */
struct gathering {
    const struct cli *cli;
    struct cloud_session session;
    struct loop_timer *progress; /* NULL: not a terminal */
    struct aws_client *client;
    struct arena *arena;
    struct str regions[GATHERING_REGIONS_MAX]; /* of AWS */
    struct str google_regions[GATHERING_REGIONS_MAX];
    size_t region_count, google_region_count;
    struct str named[GOOGLE_PROJECTS_MAX]; /* with --project */
    size_t named_count;
    struct google_projects google; /* without */
    struct gathering_part parts[GATHERING_PARTS_MAX];
    size_t part_count, pending;
    struct aws_account *account_call; /* in progress */
    struct price_lookup *price_call;
    const struct account *account; /* the result; NULL: see the parts */
    struct price_query *queries;
    struct price_known *prices;
    size_t query_count;
    struct err trouble; /* first error with prices */
    struct err unkept;
    bool wants_prices;
};

/* Returns 0, or the exit status after an error message. */
int gathering_run(struct gathering *gathering, const struct gathering_fields *given) MUST_USE;
void gathering_close(struct gathering *gathering);

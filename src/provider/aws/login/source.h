/*
 * source.h: where AWS credentials may come from, as a plan that somebody else carries out.
 *
 * The plan has every source in botocore's order. A source that does not apply says why; one that is
 * configured but cannot work says what is wrong, and ends the search there: falling through to
 * other keys than those that were asked for would act as somebody else.
 *
 * So the first source that does not say SOURCE_ABSENT decides. What it holds is secret; `reason`
 * never is.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "provider/aws/login/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum aws_source_kind {
    SOURCE_ENVIRONMENT,
    SOURCE_ASSUME_ROLE,
    SOURCE_WEB_IDENTITY,
    SOURCE_SSO,
    SOURCE_SHARED_FILE,
    SOURCE_LOGIN,
    SOURCE_PROCESS,
    SOURCE_CONFIG_FILE,
    SOURCE_CONTAINER,
    SOURCE_IMDS,
    SOURCE_KIND_COUNT
};

enum aws_source_state {
    SOURCE_ABSENT, /* not configured; the next one is asked */
    SOURCE_READY,  /* to be tried */
    SOURCE_BROKEN, /* configured, and cannot work */
};

struct aws_source {
    enum aws_source_kind kind;
    enum aws_source_state state;
    struct str reason;  /* unless ready */
    struct str profile; /* where its settings stand; empty for the environment and machines */
    union {
        struct {
            struct str access_key;
            struct str secret_key;
            struct str session_token; /* empty: none */
            int64_t expires_at;       /* seconds since 1970; INT64_MAX: never */
        } keys;                       /* environment, shared file, configuration file */
        struct {
            struct str arn;
            struct str session_name;       /* empty: make one up */
            struct str external_id;        /* empty: none */
            struct str mfa_serial;         /* empty: no code is asked for */
            int64_t duration_s;            /* 0: the role's own */
            const struct aws_source *base; /* whose keys ask for the role; ready */
        } role;
        struct {
            struct str token_path; /* not expanded */
            struct str arn;
            struct str session_name; /* empty: make one up */
        } web;
        struct {
            struct str start_url;
            struct str region;
            struct str account_id;
            struct str role_name;
            struct str session;    /* empty: the older form without [sso-session] */
            struct str cache_name; /* of the file in ~/.aws/sso/cache */
        } sso;
        struct {
            struct str *argv; /* each with a zero byte behind it */
            size_t argc;      /* at least 1 */
        } process;
        struct {
            struct str url;
            struct str token;      /* for the Authorization header; empty: none */
            struct str token_path; /* wins over the token; empty: none */
        } container;
        struct {
            struct str endpoint; /* ends with '/' */
        } imds;
    };
};

struct aws_source_plan {
    struct aws_source sources[SOURCE_KIND_COUNT]; /* in the order in which they are asked */
};

/* "environment", "assume-role", ...: for messages. */
const char *aws_source_name(enum aws_source_kind kind);

/* Everything in the plan lives in `arena` or in what the profiles were loaded from. */
void aws_source_plan(const struct aws_profiles *profiles, struct arena *arena,
                     struct aws_source_plan *ret_plan);

/*
 * Every source in its order and what it said, a line each: "  environment: AWS_ACCESS_KEY_ID is not
 * set". `said` has what came of trying the ready ones, an empty text where nothing was tried; NULL
 * when none was. Safe to print.
 */
struct str aws_source_report(const struct aws_source_plan *plan, const struct str *said,
                             struct arena *arena);

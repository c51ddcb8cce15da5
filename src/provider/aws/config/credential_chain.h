/*
 * credential_chain.h: plans where AWS credentials come from; credentials_fetch.c executes the plan.
 *
 * The plan has every source in botocore's order. A source that does not apply says why. One that is
 * configured but cannot work says what is wrong and ends the search: falling through to other keys
 * would act as a different identity.
 *
 * So the first source that is not SOURCE_ABSENT is used. Its contents are secret; `reason` never
 * is.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "provider/aws/config/profile.h"

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
    SOURCE_ABSENT, /* not configured; try the next one */
    SOURCE_READY,  /* can be used */
    SOURCE_BROKEN, /* configured, but cannot work */
};

struct aws_source {
    enum aws_source_kind kind;
    enum aws_source_state state;
    struct str reason;  /* unless ready */
    struct str profile; /* has its settings; empty for the environment and metadata services */
    union {
        struct {
            struct str access_key;
            struct str secret_key;
            struct str session_token; /* may be empty */
            int64_t expires_at;       /* seconds since 1970; INT64_MAX: never */
        } keys;                       /* from environment, shared file or configuration file */
        struct {
            struct str arn;
            struct str session_name;       /* empty: generate one */
            struct str external_id;        /* may be empty */
            struct str mfa_serial;         /* empty: no MFA code needed */
            int64_t duration_s;            /* 0: the role's default */
            const struct aws_source *base; /* provides the keys to assume the role; ready */
        } role;
        struct {
            struct str token_path; /* not expanded */
            struct str arn;
            struct str session_name; /* empty: generate one */
        } web;
        struct {
            struct str start_url;
            struct str region;
            struct str account_id;
            struct str role_name;
            struct str session;    /* empty: the older form without [sso-session] */
            struct str cache_name; /* name of the file in ~/.aws/sso/cache */
        } sso;
        struct {
            struct str *argv; /* each NUL-terminated */
            size_t argc;      /* at least 1 */
        } process;
        struct {
            struct str url;
            struct str token;      /* token for the Authorization header; may be empty */
            struct str token_path; /* overrides the token; may be empty */
        } container;
        struct {
            struct str endpoint; /* ends with '/' */
        } imds;
    };
};

struct aws_source_plan {
    struct aws_source sources[SOURCE_KIND_COUNT]; /* in order of precedence */
};

/* "environment", "assume-role", ...: for messages. */
const char *aws_source_name(enum aws_source_kind kind);

/* The plan is allocated in `arena` and points into the profiles. */
void aws_source_plan(const struct aws_profiles *profiles, struct arena *arena,
                     struct aws_source_plan *ret_plan);

/*
 * Every source in order with its result, one per line: "  environment: AWS_ACCESS_KEY_ID is not
 * set". `said` has the results of ready sources that were tried, empty otherwise; NULL if none was
 * tried. Contains no secrets.
 */
struct str aws_source_report(const struct aws_source_plan *plan, const struct str *said,
                             struct arena *arena);

/*
 * credential_json.h: reads credentials in JSON from programs, metadata services and AWS's token
 * files.
 *
 * Strict and bounded: a duplicate name, a value of the wrong type, a control character (values are
 * sent in headers), or more than CREDENTIAL_BYTES_MAX bytes fail with ERR_PROTOCOL. A refusal by
 * the other side is ERR_AUTH. Errors never quote the input, except the other side's error code. The
 * caller, which has the clock, must check expiry.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

enum { CREDENTIAL_BYTES_MAX = 256 * 1024 };

struct aws_credentials {
    struct str access_key;
    struct str secret_key;
    struct str session_token; /* may be empty */
    struct str account_id;    /* empty: unknown */
    int64_t expires_at;       /* seconds since 1970; INT64_MAX: never */
};

/* The output of a credential_process. */
bool credential_from_process(struct str json, struct arena *arena,
                             struct aws_credentials *ret_credentials, struct err *err) MUST_USE;

/* The reply of a container's credential endpoint. */
bool credential_from_container(struct str json, struct arena *arena,
                               struct aws_credentials *ret_credentials, struct err *err) MUST_USE;

/* The reply of a machine's metadata service for its role. */
bool credential_from_imds(struct str json, struct arena *arena,
                          struct aws_credentials *ret_credentials, struct err *err) MUST_USE;

/* The reply of single sign-on's GetRoleCredentials. */
bool credential_from_sso(struct str json, struct arena *arena,
                         struct aws_credentials *ret_credentials, struct err *err) MUST_USE;

struct sso_token {
    struct str access_token;
    int64_t expires_at;
    /* For a new token without user interaction; empty in the older format. */
    struct str refresh_token;
    struct str client_id;
    struct str client_secret;
    int64_t registration_expires_at; /* expiry of the client registration; INT64_MAX: unknown */
};

/* A file of ~/.aws/sso/cache. */
bool sso_token_read(struct str json, struct arena *arena, struct sso_token *ret_token,
                    struct err *err) MUST_USE;

/*
 * Updates the contents of that file with single sign-on's reply to a token refresh, for later
 * readers including botocore. `now` is in seconds since 1970.
 */
bool sso_token_renew(struct str json, struct str answer, int64_t now, struct buf *out,
                     struct err *err) MUST_USE;

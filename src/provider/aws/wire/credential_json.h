/*
 * credential_json.h: credentials as programs, machines and AWS's token files hand them out, in
 * JSON.
 *
 * Strict and bounded: a name twice, a value of another kind, a control character (it would end up
 * in a header), or more than CREDENTIAL_BYTES_MAX bytes are refused with ERR_PROTOCOL. What the
 * other side refuses is ERR_AUTH. No message quotes what was read, but for the other side's own
 * error code. Whether something has expired is for the caller to see, who has the clock.
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
    struct str session_token; /* empty: none */
    struct str account_id;    /* empty: not told */
    int64_t expires_at;       /* seconds since 1970; INT64_MAX: never */
};

/* What a credential_process printed. */
bool credential_from_process(struct str json, struct arena *arena,
                             struct aws_credentials *ret_credentials, struct err *err) MUST_USE;

/* The answer of a container's credential endpoint. */
bool credential_from_container(struct str json, struct arena *arena,
                               struct aws_credentials *ret_credentials, struct err *err) MUST_USE;

/* The answer of a machine's metadata service for its role. */
bool credential_from_imds(struct str json, struct arena *arena,
                          struct aws_credentials *ret_credentials, struct err *err) MUST_USE;

/* The answer of single sign-on's GetRoleCredentials. */
bool credential_from_sso(struct str json, struct arena *arena,
                         struct aws_credentials *ret_credentials, struct err *err) MUST_USE;

struct sso_token {
    struct str access_token;
    int64_t expires_at;
    /* To get a new one without the user; empty in the older form. */
    struct str refresh_token;
    struct str client_id;
    struct str client_secret;
    int64_t registration_expires_at; /* of the client; INT64_MAX: not told */
};

/* A file of ~/.aws/sso/cache. */
bool sso_token_read(struct str json, struct arena *arena, struct sso_token *ret_token,
                    struct err *err) MUST_USE;

/*
 * The same file with what single sign-on answered to a request for a new token, for the next who
 * reads it, botocore among them. `now` is in seconds since 1970.
 */
bool sso_token_renew(struct str json, struct str answer, int64_t now, struct buf *out,
                     struct err *err) MUST_USE;

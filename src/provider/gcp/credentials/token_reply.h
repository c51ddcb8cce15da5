/*
 * token_reply.h: reads the replies of Google's token services, of the metadata server, and of the
 * programs and services that issue the tokens of external identities.
 *
 * Strict and bounded: a missing field, a value of the wrong type, or a character that cannot be in
 * a header fail with ERR_PROTOCOL. Errors never quote the input, except the other side's error
 * code. Pure.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { TOKEN_REPLY_MAX = 256 * 1024 };

enum token_form {
    TOKEN_OAUTH,    /* access_token; expires_in may be missing: the token never expires */
    TOKEN_STS,      /* access_token, expires_in */
    TOKEN_METADATA, /* the same, but expires_in must be a number */
    TOKEN_IAM,      /* accessToken, expireTime */
};

struct token_reply {
    struct str token;
    struct str refresh_token; /* replaces the one that was sent; empty: keep that one */
    int64_t expires_at;       /* seconds since 1970; INT64_MAX: never */
};

/* `now` is in seconds since 1970. */
bool token_reply_read(struct str json, enum token_form form, int64_t now, struct arena *arena,
                      struct token_reply *ret_reply, struct err *err) MUST_USE;

struct token_refusal {
    struct str code;   /* "invalid_grant"; empty: none, or one that cannot be shown */
    bool is_temporary; /* may work in a moment */
    bool needs_login;  /* the user must log in again */
};

/* An error of a token service; never fails. */
struct token_refusal token_refusal_read(struct str body, struct arena *arena);

/* A field of a JSON object that must be a string. */
bool token_field_read(struct str json, struct str name, struct arena *arena, struct str *ret_text,
                      struct err *err) MUST_USE;

/* The output of the program of an external identity. `ret_is_usable` is false if the token has
 * expired, or without an expiration time if the output is one that was kept (`is_kept`). */
bool token_program_read(struct str json, int64_t now, bool is_kept, struct arena *arena,
                        struct str *ret_token, bool *ret_is_usable, struct err *err) MUST_USE;

/* A token can be sent in a header. */
bool token_is_sendable(struct str token);

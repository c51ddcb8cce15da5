/*
 * sigv4.h: AWS signature version 4 as a function of request, keys and time.
 *
 * Path and query are passed as sent, already encoded, and are not changed here. The service "s3"
 * has its own rules (its path is signed unchanged, its payload hash is always sent), selected by
 * the service's name.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct sigv4_header {
    struct str name; /* any letter case */
    struct str value;
};

enum sigv4_payload {
    SIGV4_BODY,     /* hash `body` */
    SIGV4_HASH,     /* `body_hash` is the SHA-256 of the body in hexadecimal */
    SIGV4_UNSIGNED, /* the body is not signed; only over TLS */
};

struct sigv4_request {
    struct str method;
    struct str host;  /* the value of the Host header */
    struct str path;  /* encoded as sent, from the first '/' */
    struct str query; /* encoded as sent, without '?' */
    /* More headers to sign. Headers that proxies change, Host, and those generated here are
     * skipped. Headers of equal name are joined. */
    const struct sigv4_header *headers;
    size_t header_count;
    struct str body;
    struct str body_hash;
    enum sigv4_payload payload;
};

struct sigv4_signer {
    struct str access_key;
    struct str secret_key;
    struct str session_token; /* empty for long-lived keys */
    struct str region;
    struct str service; /* signing name: "ec2", "s3", ... */
    int64_t time;       /* seconds since 1970; the server tolerates 5 minutes of difference */
};

enum { SIGV4_HEADERS_MAX = 4 };

struct sigv4_result {
    struct sigv4_header headers[SIGV4_HEADERS_MAX]; /* headers to add to the request */
    size_t header_count;
    struct str signature;
    struct str canonical; /* canonical request; contains the session token, so do not log it */
};

/* The result is allocated in `arena`. */
void sigv4_sign(const struct sigv4_request *request, const struct sigv4_signer *signer,
                struct arena *arena, struct sigv4_result *ret_result);

/*
 * Returns the query, without '?', that authorizes the bare URL for `expires_s` seconds. The URL is
 * a secret.
 */
struct str sigv4_presign(const struct sigv4_request *request, const struct sigv4_signer *signer,
                         int64_t expires_s, struct arena *arena);

/*
 * sigv4.h: AWS signature version 4 as a function of the request, the keys and the time.
 *
 * Path and query are taken as they are sent, already encoded: what is signed is what goes over the
 * wire, and nothing here changes it. The service "s3" has rules of its own (its path is signed as
 * it stands, its payload hash is always sent); they follow from the service's name.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct sigv4_header {
    struct str name; /* in any case */
    struct str value;
};

enum sigv4_payload {
    SIGV4_BODY,     /* hash `body` */
    SIGV4_HASH,     /* `body` is elsewhere; its SHA-256 in hexadecimal is `body_hash` */
    SIGV4_UNSIGNED, /* the body is not part of the signature; only over TLS */
};

struct sigv4_request {
    struct str method;
    struct str host;  /* the value of the Host header */
    struct str path;  /* encoded, as sent, from its first '/' */
    struct str query; /* encoded, as sent, without '?' */
    /* More headers to sign. Those that proxies change are left out, and so are Host and those that
     * this module makes itself, whatever their values. Equal names count as one header. */
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
    struct str service; /* the signing name: "ec2", "s3", ... */
    int64_t time;       /* seconds since 1970; the server allows 5 minutes of difference */
};

enum { SIGV4_HEADERS_MAX = 4 };

struct sigv4_result {
    struct sigv4_header headers[SIGV4_HEADERS_MAX]; /* to be added to the request */
    size_t header_count;
    struct str signature;
    struct str canonical; /* what was signed; holds the session token, so not for logs */
};

/* The result lives in `arena`. */
void sigv4_sign(const struct sigv4_request *request, const struct sigv4_signer *signer,
                struct arena *arena, struct sigv4_result *ret_result);

/*
 * The query, without '?', that makes the bare URL do the request for `expires_s` seconds. Who has
 * the URL has the right: it is a secret.
 */
struct str sigv4_presign(const struct sigv4_request *request, const struct sigv4_signer *signer,
                         int64_t expires_s, struct arena *arena);

/* SHA-256 as 64 lower-case hexadecimal digits. */
struct str sigv4_hash(struct str bytes, struct arena *arena);

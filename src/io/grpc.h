/*
 * grpc.h: unary gRPC calls over the HTTP client.
 *
 * One message there, one message back, a status beside it. HTTP/2 without TLS from the first byte,
 * as Ray's servers speak it, or over TLS when certificates are given; never by a proxy; nothing is
 * compressed. What the message means is for whoever made it.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "io/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers are gRPC's. */
enum grpc_status {
    GRPC_OK = 0,
    GRPC_CANCELLED = 1,
    GRPC_UNKNOWN = 2,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_ABORTED = 10,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
    GRPC_UNAUTHENTICATED = 16,
};

struct grpc_reply {
    enum grpc_status status; /* GRPC_UNAVAILABLE when no whole reply came */
    bool may_have_acted;     /* the server may have seen the call */
    struct str body;         /* the message, when OK */
    struct str message;      /* of the server, decoded; may be empty */
    struct str details;      /* its longer words, decoded; may be empty */
    struct err err;          /* unless OK: "NodeInfoGcsService/CheckAlive: ..." */
};

typedef void grpc_done_fn(void *context, const struct grpc_reply *reply);

/* Everything is copied. */
struct grpc_request {
    const char *server; /* "http://10.0.0.4:6379", or https with the three files */
    const char *method; /* "/ray.rpc.NodeInfoGcsService/CheckAlive" */
    const struct http_header *metadata;
    size_t metadata_count;
    struct str body;
    int64_t deadline_ms; /* the server is told; 10 s */
    size_t body_max;     /* of the reply; 64 MB */
    const char *ca_file, *cert_file, *key_file;
    grpc_done_fn *done; /* called exactly once, from the loop */
    void *context;
};

/* The call is gone once `done` returns; http_cancel() before that. */
struct http_call *grpc_start(struct http *http, const struct grpc_request *request);

/* What a reply of HTTP says as one of gRPC; `method` is for the error. Texts live in `arena`. */
struct grpc_reply grpc_read_reply(const struct http_reply *reply, const char *method,
                                  struct arena *arena);

/*
 * grpc.h: unary gRPC calls over the HTTP client.
 *
 * One request message, one reply message and a status. Uses HTTP/2 without TLS (prior knowledge),
 * as Ray's servers do, or TLS if certificates are given; never a proxy, no compression. Messages
 * are opaque bytes here.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "io/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values as in gRPC. */
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
    enum grpc_status status; /* GRPC_UNAVAILABLE if no complete reply came */
    bool may_have_acted;     /* the server may have received the call */
    bool has_no_server;      /* nothing accepts connections at the address */
    struct str body;         /* reply message, if OK */
    struct str message;      /* from the server, decoded; may be empty */
    struct str details;      /* longer message, decoded; may be empty */
    struct err err;          /* set unless OK: "NodeInfoGcsService/CheckAlive: ..." */
};

typedef void grpc_done_fn(void *context, const struct grpc_reply *reply);

/* Everything is copied. */
struct grpc_request {
    const char *server; /* "http://10.0.0.4:6379", or https with the three certificate files */
    const char *method; /* "/ray.rpc.NodeInfoGcsService/CheckAlive" */
    const struct http_header *metadata;
    size_t metadata_count;
    struct str body;
    int64_t deadline_ms; /* also sent to the server; default 10 s */
    size_t body_max;     /* limit of the reply; default 64 MB */
    const char *ca_file, *cert_file, *key_file;
    grpc_done_fn *done; /* called exactly once, from the loop */
    void *context;
};

/* The call is freed when `done` returns. Use http_cancel() to cancel it before that. */
struct http_call *grpc_start(struct http *http, const struct grpc_request *request);

/* Cancels a call without calling `done`: its context may be freed immediately. */
void grpc_forget(struct http_call *call);

/* Converts an HTTP reply to a gRPC reply; `method` is used in the error. Strings are allocated in
 * `arena`. */
struct grpc_reply grpc_read_reply(const struct http_reply *reply, const char *method,
                                  struct arena *arena);

/*
 * store_gs.h: requests to Google Cloud Storage, by its XML API, which is that of S3.
 *
 * Blocking. Credentials are found as for Compute Engine; on a VM, that is its service account.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "io/child.h"
#include "io/http.h"
#include "io/loop.h"

struct gs_client;

/* Makes no calls. The arguments must outlive it. */
struct gs_client *gs_client_new(struct loop *loop, struct http *http, struct child_pool *children);
void gs_client_free(struct gs_client *client);

enum { GS_ETAG_BYTES = 128 };

struct gs_request {
    const char *action, *method; /* "PutObject", for messages; "PUT" */
    struct str path;             /* "/BUCKET/KEY", encoded, with its query */
    struct str body;
    bool is_new; /* an existing object is not replaced: ERR_EXISTS */
    int64_t deadline_ms;
    size_t body_max;
    void (*begin)(void *context); /* NULL, or before each try */
    http_bytes_fn *bytes;         /* NULL, or takes the body of a success */
    void *context;
};

/* Repeats a request that fails for a moment. `reply` gets the body, unless `bytes` does. Fails with
 * ERR_TIMEOUT if the request may have had an effect. */
bool gs_run(struct gs_client *client, const struct gs_request *request, struct buf *reply,
            char ret_etag[GS_ETAG_BYTES], struct err *err) MUST_USE;

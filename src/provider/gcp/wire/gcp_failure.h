/*
 * gcp_failure.h: Google's errors and operations. Pure.
 *
 * A call is refused with a status and a body, or accepted with an operation, which may fail later:
 * then the error is in the operation, which is fetched with status 200.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event.h"

#include <jansson.h>
#include <stdbool.h>

struct gcp_failure {
    enum outcome outcome; /* never OUTCOME_DONE */
    int status;           /* of HTTP; 0: none */
    char reason[64];      /* "alreadyExists", "ZONE_RESOURCE_POOL_EXHAUSTED"; may be empty */
    char message[360];    /* without control characters */
};

/* A reply with a status other than 200. The body may be anything. */
void gcp_failure_read(int status, struct str body, struct gcp_failure *ret_failure);

/* The kind of error that an outcome means for users. */
enum err_kind gcp_failure_kind(const struct gcp_failure *failure);

struct gcp_operation_state {
    struct str name; /* of the operation: letters, digits and '-' */
    bool is_done, has_failed;
    struct gcp_failure failure; /* if it has failed */
};

/* False: this is not an operation. The name points into `body`. */
bool gcp_operation_state_read(const json_t *body, struct gcp_operation_state *ret_state) MUST_USE;

/* jwt.h: JSON web tokens signed by a service account's key (RS256), as Google wants them. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { JWT_LIFE_S = 3600 };

/* Loads an RSA key in PEM format, to report a broken one before any request. */
bool jwt_check_key(struct str pem, struct err *err) MUST_USE;

struct jwt_request {
    struct str pem;
    struct str key_id; /* only if `has_key_id` */
    bool has_key_id;
    struct str email; /* the service account */
    struct str scope;
    int64_t now; /* seconds since 1970 */
};

/* To be exchanged for a token at Google's token endpoint. Secret until it expires. */
bool jwt_assertion(const struct jwt_request *request, struct arena *arena, struct str *ret_jwt,
                   struct err *err) MUST_USE;

/* Used as a token itself. */
bool jwt_self_signed(const struct jwt_request *request, struct arena *arena, struct str *ret_jwt,
                     struct err *err) MUST_USE;

/* payload_digest.h: the SHA-256 of the program sent to nodes, cached. */
#pragma once

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { PAYLOAD_DIGEST_SIZE = 65 }; /* 64 hexadecimal digits and a NUL */

bool payload_digest(const char *path, char ret_digest[PAYLOAD_DIGEST_SIZE], int64_t *ret_size,
                    struct err *err) MUST_USE;

/*
 * store_place.h: where checkpoints are stored durably: a directory, or a prefix of a bucket
 * in S3 or Google Cloud Storage.
 *
 * Blocking, for processes of their own. Keys are relative paths. A file or object appears under its
 * key when it is complete and, in a directory, on the disk.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "io/sha256.h"

#include <stdbool.h>
#include <stdint.h>

struct store_place;

/* Names directly below a key. */
typedef void store_name_fn(void *context, struct str name);

struct store_place_ops {
    /* Stores `size` bytes of an open file; returns their digest. */
    bool (*put)(struct store_place *place, const char *key, int file, int64_t size,
                uint8_t ret_digest[SHA256_BYTES], struct err *err);
    /* ERR_TIMEOUT: it is not known whether it was stored. With `is_new`, an existing one stays, and
     * the error is ERR_EXISTS. */
    bool (*put_text)(struct store_place *place, const char *key, struct str text, bool is_new,
                     struct err *err);
    /* Writes it to an open file, from its beginning. ERR_NOT_FOUND; ERR_PROTOCOL: other size. */
    bool (*get)(struct store_place *place, const char *key, int file, int64_t size,
                uint8_t ret_digest[SHA256_BYTES], struct err *err);
    bool (*get_text)(struct store_place *place, const char *key, struct buf *out, struct err *err);
    /* `folder` is empty or ends with a slash. */
    bool (*list)(struct store_place *place, const char *folder, store_name_fn *take, void *context,
                 struct err *err);
    /* Everything below the folder, and first what makes it complete. */
    bool (*remove)(struct store_place *place, const char *folder, struct err *err);
    void (*close)(struct store_place *place);
};

struct store_place {
    const struct store_place_ops *ops;
};

enum { STORE_KEY_MAX = 5000, STORE_MANIFEST_MAX = 64 << 20 };
#define STORE_MANIFEST "manifest-"

/* The cluster's region, for buckets; the trainer passes it on to its slots. */
#define TRAIN_REGION_VARIABLE "SHOAL_TRAIN_REGION"

/* "s3://BUCKET/PREFIX", "gs://BUCKET/PREFIX" or an absolute path of a directory; `job` is
 * appended. */
bool store_place_open(const char *where, const char *job, struct store_place **ret_place,
                      struct err *err) MUST_USE;
void store_place_close(struct store_place *place);

/* Checks the form only. */
bool store_where_check(const char *where, struct err *err) MUST_USE;

/* store_s3.c: a bucket */
bool store_s3_open(const char *where, const char *job, struct store_place **ret_place,
                   struct err *err) MUST_USE;

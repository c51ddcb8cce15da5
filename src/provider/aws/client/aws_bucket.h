/*
 * aws_bucket.h: how often we ask, below what AWS allows. Pure: time is handed in.
 *
 * EC2 has a bucket of tokens for each account and region, filled at a steady rate; a request
 * takes one, and without one it is refused. Keeping our own bucket, smaller and slower, costs less
 * than being refused. A refusal all the same (others share the account) empties it and halves its
 * rate; each success gives some of the rate back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct aws_bucket {
    int64_t size;       /* most tokens, in millionths: a rate times milliseconds is exact */
    int64_t rate_full;  /* tokens per second, in thousandths, when nobody complains */
    int64_t rate;       /* now */
    int64_t level;      /* millionths of tokens */
    int64_t updated_ms; /* when the level was right */
};

/* Full. */
void aws_bucket_init(struct aws_bucket *bucket, int64_t tokens, int64_t rate_milli, int64_t now_ms);

/* Takes one token; false when there is none. */
bool aws_bucket_take(struct aws_bucket *bucket, int64_t now_ms);

/* How long until there is one; 0: now. */
int64_t aws_bucket_wait_ms(struct aws_bucket *bucket, int64_t now_ms);

/* AWS refused for too many requests. */
void aws_bucket_drain(struct aws_bucket *bucket, int64_t now_ms);

/* AWS answered. */
void aws_bucket_praise(struct aws_bucket *bucket, int64_t now_ms);

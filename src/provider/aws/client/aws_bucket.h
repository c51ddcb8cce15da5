/*
 * aws_bucket.h: a token bucket that keeps our request rate below AWS's limits. Pure: time is a
 * parameter.
 *
 * EC2 has a token bucket per account and region; a request takes one token and is refused without
 * one. Our own bucket, smaller and slower, costs less than refusals. If AWS throttles anyway
 * (others share the account), the bucket is emptied and its rate halved; each success restores part
 * of the rate.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct aws_bucket {
    int64_t size;       /* capacity in millionths of a token: rate times milliseconds is exact */
    int64_t rate_full;  /* thousandths of a token per second, without throttling */
    int64_t rate;       /* current rate */
    int64_t level;      /* millionths of tokens */
    int64_t updated_ms; /* time of `level` */
};

/* Starts full. */
void aws_bucket_init(struct aws_bucket *bucket, int64_t tokens, int64_t rate_milli, int64_t now_ms);

/* Takes one token; false if there is none. */
bool aws_bucket_take(struct aws_bucket *bucket, int64_t now_ms);

/* Time until a token is available; 0: now. */
int64_t aws_bucket_wait_ms(struct aws_bucket *bucket, int64_t now_ms);

/* Call when AWS throttled a request. */
void aws_bucket_drain(struct aws_bucket *bucket, int64_t now_ms);

/* Call when AWS accepted a request. */
void aws_bucket_record_success(struct aws_bucket *bucket, int64_t now_ms);

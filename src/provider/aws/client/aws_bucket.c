/* aws_bucket.c: token bucket arithmetic. */
#include "provider/aws/client/aws_bucket.h"

#include "base/require.h"

enum { TOKEN = 1000 * 1000, RATE_SHARE_MIN = 20, PRAISE_SHARE = 50 };

static void aws_bucket_fill(struct aws_bucket *bucket, int64_t now_ms)
{
    require(bucket->rate > 0 && bucket->rate <= bucket->rate_full, "the rate is within its limits");
    require(bucket->level >= 0 && bucket->level <= bucket->size, "the level is within the bucket");
    int64_t passed_ms = now_ms - bucket->updated_ms;
    if (passed_ms <= 0) {
        return;
    }
    /* Longer times only fill the bucket; capping them avoids overflow. */
    bool is_filled = passed_ms > (bucket->size - bucket->level) / bucket->rate;
    bucket->level = is_filled ? bucket->size : bucket->level + passed_ms * bucket->rate;
    bucket->updated_ms = now_ms;
}

void aws_bucket_init(struct aws_bucket *bucket, int64_t tokens, int64_t rate_milli, int64_t now_ms)
{
    require(tokens > 0 && rate_milli > 0, "a bucket holds tokens and is filled");
    *bucket = (struct aws_bucket){.size = tokens * TOKEN,
                                  .rate_full = rate_milli,
                                  .rate = rate_milli,
                                  .level = tokens * TOKEN,
                                  .updated_ms = now_ms};
}

bool aws_bucket_take(struct aws_bucket *bucket, int64_t now_ms)
{
    aws_bucket_fill(bucket, now_ms);
    if (bucket->level < TOKEN) {
        return false;
    }
    bucket->level -= TOKEN;
    require(bucket->level >= 0, "the bucket had a token");
    return true;
}

int64_t aws_bucket_wait_ms(struct aws_bucket *bucket, int64_t now_ms)
{
    aws_bucket_fill(bucket, now_ms);
    if (bucket->level >= TOKEN) {
        return 0;
    }
    return (TOKEN - bucket->level + bucket->rate - 1) / bucket->rate;
}

void aws_bucket_drain(struct aws_bucket *bucket, int64_t now_ms)
{
    int64_t least = bucket->rate_full / RATE_SHARE_MIN;
    aws_bucket_fill(bucket, now_ms);
    bucket->level = 0;
    bucket->updated_ms = now_ms;
    bucket->rate = bucket->rate / 2 > least ? bucket->rate / 2 : least;
    bucket->rate = bucket->rate > 0 ? bucket->rate : 1;
    require(bucket->rate <= bucket->rate_full, "throttling does not raise the rate");
}

void aws_bucket_record_success(struct aws_bucket *bucket, int64_t now_ms)
{
    if (bucket->rate < bucket->rate_full) {
        aws_bucket_fill(bucket, now_ms);
        bucket->rate += bucket->rate_full / PRAISE_SHARE + 1;
        bucket->rate = bucket->rate < bucket->rate_full ? bucket->rate : bucket->rate_full;
        require(bucket->rate <= bucket->rate_full, "the rate is within its limit");
    }
}

/* aws_retry.c: the retry policy. */
#include "provider/aws/client/aws_retry.h"

#include "base/require.h"

enum { WAIT_FIRST_MS = 200, WAIT_MOST_MS = 20000, DOUBLINGS_MAX = 7 };

bool aws_retry_may(const struct aws_try *try, const struct aws_error *error)
{
    require(error->class < AWS_ERROR_CLASS_COUNT, "the error class is valid");
    switch (error->class) {
    case AWS_THROTTLE:
        return true;
    case AWS_AMBIGUOUS:
        return try->care != AWS_ONCE;
    case AWS_DEFINITE_NO:
        return error->remedy == AWS_REMEDY_REPEAT ||
               (error->remedy == AWS_REMEDY_SETTLE && try->settles);
    case AWS_AUTH:
    case AWS_QUOTA:
    case AWS_CAPACITY:
    case AWS_PERMANENT:
    case AWS_ERROR_CLASS_COUNT:
        break;
    }
    return false;
}

int64_t aws_retry_wait_ms(unsigned tries, struct rng *rng)
{
    unsigned doublings = tries > 0 ? tries - 1 : 0;
    int64_t most = doublings < DOUBLINGS_MAX ? (int64_t)WAIT_FIRST_MS << doublings : WAIT_MOST_MS;
    most = most < WAIT_MOST_MS ? most : WAIT_MOST_MS;
    require(most >= WAIT_FIRST_MS && most <= WAIT_MOST_MS, "a pause is within its limits");
    return rng_between(rng, 0, most);
}

bool aws_retry_settles_doubt(const struct aws_error *error)
{
    return error->class == AWS_PERMANENT || error->class == AWS_QUOTA ||
           error->class == AWS_CAPACITY;
}

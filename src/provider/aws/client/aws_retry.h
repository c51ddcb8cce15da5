/*
 * aws_retry.h: whether a try that failed is made again, and when. Pure.
 */
#pragma once

#include "base/dice.h"
#include "provider/aws/wire/aws_error.h"

#include <stdbool.h>
#include <stdint.h>

enum aws_care {
    AWS_READ,       /* changes nothing: repeated whenever that may help */
    AWS_REPEATABLE, /* twice is the same as once, by its token or its nature: likewise */
    AWS_ONCE,       /* repeated only when it certainly had no effect */
};

/* One try that failed. */
struct aws_try {
    enum aws_care care;
    bool settles;   /* the caller waits for what was made or removed a moment ago */
    unsigned tries; /* so far, with this one */
};

/* Is there a point in the same call, later? `error` has been judged. */
bool aws_retry_may(const struct aws_try *try, const struct aws_error *error);

/* Full jitter: anything up to 0.2 s, doubled by every try, 20 s at most. */
int64_t aws_retry_wait_ms(unsigned tries, struct dice *dice);

/*
 * What is known of a call of which an earlier try may have taken effect, when a later one was
 * refused. A refusal that looks at what is asked for settles it: with the same token it would have
 * been a success. One that looks at who asks, or how often, says nothing about the earlier try.
 */
bool aws_retry_settles_doubt(const struct aws_error *error);

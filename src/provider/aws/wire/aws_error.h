/*
 * aws_error.h: what a reply that is not a success means for what we do next.
 *
 * The one table of AWS's error codes (aws_error.c) says of each whether the call had no effect for
 * certain, and what may help. What is not in the table is judged by the HTTP status: below 500 the
 * call was refused, from 500 on it may have taken effect.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event.h"

#include <stdint.h>

enum aws_error_class {
    AWS_DEFINITE_NO, /* no effect now; the same call may work later */
    AWS_AMBIGUOUS,   /* it may have taken effect */
    AWS_THROTTLE,    /* no effect; slow down */
    AWS_AUTH,        /* no effect; not allowed, or not known */
    AWS_QUOTA,       /* no effect; the account may not have more */
    AWS_CAPACITY,    /* no effect; there is none left of that kind */
    AWS_PERMANENT,   /* no effect; the same call will never work */
    AWS_ERROR_CLASS_COUNT
};

/* What helps beyond waiting. */
enum aws_remedy {
    AWS_REMEDY_NONE,
    AWS_REMEDY_CLOCK,   /* if the server's Date is far from ours, sign again with it */
    AWS_REMEDY_REFRESH, /* get new credentials and sign again */
    AWS_REMEDY_EITHER,  /* the code is used for both: the clock if it is wrong, else new ones */
    AWS_REMEDY_REPEAT,  /* passes by itself in a moment */
    AWS_REMEDY_SETTLE,  /* passes if what is named was made or taken away a moment ago */
};

struct aws_error {
    struct str code;       /* "InsufficientInstanceCapacity"; empty when the reply has none */
    struct str message;    /* AWS's words; visible characters only, cut when long */
    struct str request_id; /* for AWS's support; may be empty */
    int status;            /* of HTTP; 0: there was no reply */
    enum aws_error_class class;
    enum aws_remedy remedy;
    enum outcome outcome; /* of a launch or a terminate */
};

/*
 * `type_header` is the value of x-amzn-ErrorType, empty when there is none. A body that is none of
 * AWS's four forms (EC2's, that of IAM and STS, S3's, JSON) only costs the code. Texts live in
 * `arena`.
 */
struct aws_error aws_error_read(int status, struct str type_header, struct str body,
                                struct arena *arena);

/* Classifies by status and code, of two codes by the message too. */
void aws_error_judge(struct aws_error *error);

/* "definite-no", "ambiguous", ... */
const char *aws_error_class_name(enum aws_error_class class);

/* The kind that a user is told. */
enum err_kind aws_error_kind(const struct aws_error *error);

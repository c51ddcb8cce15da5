/*
 * aws_error.h: classifies error replies.
 *
 * The table of AWS's error codes (aws_error.c) says for each whether the call certainly had no
 * effect, and what may help. Codes not in the table are classified by HTTP status: below 500 the
 * call was refused, from 500 on it may have taken effect.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event.h"

#include <stdint.h>

enum aws_error_class {
    AWS_DEFINITE_NO, /* no effect; the same call may work later */
    AWS_AMBIGUOUS,   /* the call may have taken effect */
    AWS_THROTTLE,    /* no effect; slow down */
    AWS_AUTH,        /* no effect; permission denied or unknown identity */
    AWS_QUOTA,       /* no effect; account limit reached */
    AWS_CAPACITY,    /* no effect; no capacity */
    AWS_PERMANENT,   /* no effect; the same call will never work */
    AWS_ERROR_CLASS_COUNT
};

/* What helps besides waiting. */
enum aws_remedy {
    AWS_REMEDY_NONE,
    AWS_REMEDY_CLOCK,   /* sign again with the server's Date if it is far from ours */
    AWS_REMEDY_REFRESH, /* get new credentials and sign again */
    AWS_REMEDY_EITHER,  /* ambiguous: fix the clock if it is wrong, otherwise refresh */
    AWS_REMEDY_REPEAT,  /* temporary; retry */
    AWS_REMEDY_SETTLE,  /* temporary if the named resource was created or deleted a moment ago */
};

struct aws_error {
    struct str code;       /* "InsufficientInstanceCapacity"; empty if the reply has none */
    struct str message;    /* message from AWS; visible characters only, truncated */
    struct str request_id; /* request id for AWS support; may be empty */
    int status;            /* HTTP status; 0: no reply */
    enum aws_error_class class;
    enum aws_remedy remedy;
    enum outcome outcome; /* meaning for a launch or a terminate */
};

/*
 * `type_header` is the value of x-amzn-ErrorType, may be empty. If the body is not in one of AWS's
 * four formats (EC2; IAM and STS; S3; JSON), only the code is missing. Strings are allocated in
 * `arena`.
 */
struct aws_error aws_error_read(int status, struct str type_header, struct str body,
                                struct arena *arena);

/* Classifies by status and code; for two codes also by message. */
void aws_error_judge(struct aws_error *error);

/* "definite-no", "ambiguous", ... */
const char *aws_error_class_name(enum aws_error_class class);

/* The error kind for the user. */
enum err_kind aws_error_kind(const struct aws_error *error);

/*
 * notice.h: how clouds tell a machine that they will take it away: where to ask, and what the
 * answers mean. Pure; watch.c does the asking.
 *
 * A notice is final and says when. Advice ("this machine is likely to be taken") is neither, so it
 * is listened to only by choice.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { NOTICE_ANSWER_BYTES_MAX = 4096 };

enum notice_kind {
    NOTICE_NONE,
    NOTICE_ADVICE,
    NOTICE_FINAL,
};

struct notice {
    enum notice_kind kind;
    int64_t until_ms; /* wall clock, since 1970: the machine may be gone from then on */
};

/* `now_ms` is the wall clock, for answers that do not say when. False: the answer is none of this
 * cloud's, as from a captive portal, and nothing may be concluded. */
typedef bool notice_read_fn(int status, struct str body, int64_t now_ms, struct notice *ret_notice,
                            struct err *err);

struct notice_page {
    const char *path; /* NULL: this cloud has none */
    notice_read_fn *read;
};

/* One cloud's metadata service. */
struct notice_dialect {
    const char *name;               /* as provider.type has it */
    const char *endpoint;           /* "http://169.254.169.254" */
    const char *endpoint_variable;  /* the user's or a test's instead of it */
    const char *token_path;         /* asked first, by PUT; NULL: none is needed */
    const char *token_life_header;  /* of that question ... */
    const char *token_life_seconds; /* ... and its value */
    const char *header;             /* of every other question; its value is the token ... */
    const char *header_value;       /* ... unless this is there */
    struct notice_page final, advice;
};

/* NULL: such machines get no notice. */
const struct notice_dialect *notice_dialect(struct str provider_type);

/* Where to ask: what the variable says, if it says something; both may lack "http://" and have a
 * '/' at their end, which is dropped. */
void notice_endpoint(const struct notice_dialect *dialect, const char *variable, char *ret_endpoint,
                     size_t size);

/* A token becomes a header: false when it cannot be one. */
bool notice_is_token(struct str token);

/* Must the cluster be told of what was seen, after what it was told last? */
bool notice_is_news(const struct notice *seen, const struct notice *told);

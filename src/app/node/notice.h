/*
 * notice.h: how clouds announce that a machine will be interrupted: which URLs to poll, and how to
 * read the replies. Pure; spot_watcher.c does the I/O.
 *
 * A notice is final and gives a time. Advice ("this machine is at elevated risk") is neither, so it
 * is only used if enabled.
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
    int64_t until_ms; /* wall clock, since 1970: the machine may be terminated from then on */
};

/* `now_ms` is the wall clock, for replies that give no time. Returns false if the reply is not from
 * this cloud's service (for example from a captive portal); it must then be ignored. */
typedef bool notice_read_fn(int status, struct str body, int64_t now_ms, struct notice *ret_notice,
                            struct err *err);

struct notice_page {
    const char *path; /* NULL if the cloud has none */
    notice_read_fn *read;
};

/* The metadata service of one cloud. */
struct metadata_api {
    const char *name;               /* name as in provider.type */
    const char *endpoint;           /* "http://169.254.169.254" */
    const char *endpoint_variable;  /* environment variable that overrides it */
    const char *token_path;         /* requested first, with PUT; NULL if not needed */
    const char *token_life_header;  /* header of the token request ... */
    const char *token_life_seconds; /* ... and its value */
    const char *header;             /* header of all other requests; its value is the token ... */
    const char *header_value;       /* ... unless this is set */
    struct notice_page final, advice;
};

/* NULL if machines of this provider get no notices. */
const struct metadata_api *metadata_api(struct str provider_type);

/* The endpoint: the variable's value if set, else the default. Adds "http://" if missing and drops
 * a trailing '/'. */
void notice_endpoint(const struct metadata_api *dialect, const char *variable, char *ret_endpoint,
                     size_t size);

/* True if the token can be sent as a header value. */
bool notice_is_token(struct str token);

/* Must `seen` be reported to the cluster, given that `told` was reported last? */
bool notice_is_news(const struct notice *seen, const struct notice *told);

/* notice.c: a table of the clouds' metadata services, and the parsers of their replies. */
#include "app/node/notice.h"

#include "io/json_line.h"
#include "provider/aws_time.h"

#include <stdio.h>
#include <string.h>

enum {
    HTTP_FOUND = 200,
    HTTP_NOTHING = 404,
    AWS_USUAL_MS = 120 * 1000,     /* from a notice to termination, if it gives no time */
    AWS_ADVICE_MS = 5 * 60 * 1000, /* advice gives no time: how long running work gets to finish */
    AWS_LONGEST_MS = 24 * 60 * 60 * 1000,
    GCE_USUAL_MS = 30 * 1000,
    GCE_HOST_MS = 50 * 60 * 1000, /* an instance with GPUs has an hour, and it may be read late */
    ENDPOINT_BYTES_MAX = 400,
    TOKEN_BYTES_MAX = 1024,
};

/* ---- EC2 ---- */

/* Rejects a time that is long past or far in the future: either this clock or the reply is
 * wrong. */
static int64_t sane_moment(struct str text, int64_t now_ms)
{
    int64_t seconds;
    if (!aws_time_parse(text, &seconds)) {
        return now_ms + AWS_USUAL_MS;
    }
    bool is_near = seconds > (now_ms - AWS_LONGEST_MS) / 1000 &&
                   seconds < (now_ms + AWS_LONGEST_MS) / 1000;
    return is_near ? seconds * 1000 : now_ms + AWS_USUAL_MS;
}

static bool is_action(struct str action)
{
    return str_is(action, "terminate") || str_is(action, "stop") || str_is(action, "hibernate");
}

/* 404 is the usual reply. */
static bool has_object(int status, struct str body, const char *what, json_t **ret_object,
                       struct err *err)
{
    *ret_object = NULL;
    if (status == HTTP_NOTHING) {
        return true;
    }
    if (status != HTTP_FOUND) {
        return err_set(err, ERR_PROTOCOL, "%s: HTTP status %d", what, status);
    }
    return json_line_read(body, what, ret_object, err);
}

/* {"action": "terminate", "time": "2026-11-15T08:22:00Z"} */
static bool read_ec2_action(int status, struct str body, int64_t now_ms, struct notice *ret_notice,
                            struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    json_t *object;
    *ret_notice = (struct notice){NOTICE_NONE, 0};
    if (!has_object(status, body, "a spot notice", &object, err) || !object) {
        return status == HTTP_NOTHING;
    }
    struct str action = json_take_text(object, "action", &arena);
    bool ok = is_action(action);
    if (ok) {
        struct str time = json_take_text(object, "time", &arena);
        *ret_notice = (struct notice){NOTICE_FINAL, sane_moment(time, now_ms)};
    } else {
        err_set(err, ERR_PROTOCOL, "the spot notice has an unknown action");
    }
    json_decref(object);
    return ok;
}

/* {"noticeTime": "2026-11-15T08:22:00Z"} */
static bool read_ec2_rebalance(int status, struct str body, int64_t now_ms,
                               struct notice *ret_notice, struct err *err)
{
    json_t *object;
    *ret_notice = (struct notice){NOTICE_NONE, 0};
    if (!has_object(status, body, "a recommendation", &object, err) || !object) {
        return status == HTTP_NOTHING;
    }
    bool ok = json_is_string(json_object_get(object, "noticeTime"));
    if (ok) {
        *ret_notice = (struct notice){NOTICE_ADVICE, now_ms + AWS_ADVICE_MS};
    } else {
        err_set(err, ERR_PROTOCOL, "the rebalance recommendation has no noticeTime");
    }
    json_decref(object);
    return ok;
}

/* ---- GCE ---- */

/* The value is "TRUE" from about 30 s before termination. */
static bool read_gce_preempted(int status, struct str body, int64_t now_ms,
                               struct notice *ret_notice, struct err *err)
{
    struct str word = str_trim(body);
    bool is_true = str_is(word, "TRUE");
    *ret_notice = (struct notice){NOTICE_NONE, 0};
    if (status != HTTP_FOUND || (!is_true && !str_is(word, "FALSE"))) {
        return err_set(err, ERR_PROTOCOL,
                       "cannot read the preemption state of this machine: HTTP status %d", status);
    }
    if (is_true) {
        *ret_notice = (struct notice){NOTICE_FINAL, now_ms + GCE_USUAL_MS};
    }
    return true;
}

/* "TERMINATE_ON_HOST_MAINTENANCE": Google will stop the instance, and perhaps start it without Ray.
 * Only instances with GPUs learn it so long before. */
static bool read_gce_maintenance(int status, struct str body, int64_t now_ms,
                                 struct notice *ret_notice, struct err *err)
{
    *ret_notice = (struct notice){NOTICE_NONE, 0};
    if (status != HTTP_FOUND) {
        return err_set(err, ERR_PROTOCOL,
                       "cannot read the maintenance event of this machine: HTTP status %d", status);
    }
    if (str_is(str_trim(body), "TERMINATE_ON_HOST_MAINTENANCE")) {
        *ret_notice = (struct notice){NOTICE_FINAL, now_ms + GCE_HOST_MS};
    }
    return true;
}

/* ---- the table ---- */

static const struct metadata_api dialects[] = {
    {
        .name = "aws",
        .endpoint = "http://169.254.169.254",
        .endpoint_variable = "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        .token_path = "/latest/api/token",
        .token_life_header = "X-aws-ec2-metadata-token-ttl-seconds",
        .token_life_seconds = "21600",
        .header = "X-aws-ec2-metadata-token",
        .final = {"/latest/meta-data/spot/instance-action", read_ec2_action},
        .advice = {"/latest/meta-data/events/recommendations/rebalance", read_ec2_rebalance},
    },
    {
        .name = "gcp",
        .endpoint = "http://metadata.google.internal",
        .endpoint_variable = "GCE_METADATA_HOST",
        .header = "Metadata-Flavor",
        .header_value = "Google",
        .final = {"/computeMetadata/v1/instance/preempted", read_gce_preempted},
        .advice = {"/computeMetadata/v1/instance/maintenance-event", read_gce_maintenance},
    },
};

const struct metadata_api *metadata_api(struct str provider_type)
{
    for (size_t i = 0; i < ARRAY_LEN(dialects); i++) {
        if (str_is(provider_type, dialects[i].name)) {
            return &dialects[i];
        }
    }
    return NULL;
}

void notice_endpoint(const struct metadata_api *dialect, const char *variable, char *ret_endpoint,
                     size_t size)
{
    struct str given = str_trim(str_from(variable ? variable : ""));
    if (given.len == 0 || given.len > ENDPOINT_BYTES_MAX) {
        given = str_from(dialect->endpoint);
    }
    while (str_ends(given, "/")) {
        given = str_sub(given, 0, given.len - 1);
    }
    bool has_scheme = str_starts(given, "http://") || str_starts(given, "https://");
    snprintf(ret_endpoint, size, "%s%.*s", has_scheme ? "" : "http://", STR_ARG(given));
}

bool notice_is_token(struct str token)
{
    for (size_t i = 0; i < token.len; i++) {
        if (token.ptr[i] <= ' ' || token.ptr[i] > '~') {
            return false;
        }
    }
    return token.len > 0 && token.len <= TOKEN_BYTES_MAX;
}

bool notice_is_news(const struct notice *seen, const struct notice *told)
{
    return seen->kind > told->kind;
}

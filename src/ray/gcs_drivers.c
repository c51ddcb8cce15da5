/*
 * gcs_drivers.c: counts the connected drivers, finds those that train, and prints lines in their
 * output.
 *
 * Lines are sent like those of Ray's own monitor: published as log lines of a process "autoscaler",
 * but directly to the GCS, so that no file of Ray's session is touched. The numbers of the channel
 * and its field have changed between releases, and an unknown number crashes the GCS: only releases
 * with verified numbers get them. All others get an error message, which every release supports;
 * drivers show it under another name.
 */
#include "io/json_line.h"
#include "ray/gcs.h"
#include "ray/gcs.pb-c.h"
#include "ray/gcs_internal.h"
#include "ray/wire.h"

#include <stdlib.h>

#define PUBSUB_OLD "/ray.rpc.InternalPubSubGcsService/"
#define PUBSUB "/ray.rpc.ObservabilityPubSubService/"
#define JOBS "/ray.rpc.JobInfoGcsService/"

enum { ERRORS_MOVED_AT = 256, LINE_BYTES_MAX = 64 << 10 };

/* Releases of the form 2.N, as 200 + N. */
struct log_channel {
    int first, last;
    const char *method;
    int channel;
    uint32_t tag; /* tag of the lines in a published message */
};

static const struct log_channel channels[] = {
    {252, 255, PUBSUB_OLD "GcsPublish", 8, 12},
    {256, 256, PUBSUB "GcsPublish", 8, 12},
    {257, 260, PUBSUB "GcsPublish", 7, 11},
};

/* 100 * major + minor; 0 if it cannot be parsed. */
static int read_version(struct str text)
{
    uint32_t major, minor;
    struct str rest = text;
    if (!str_to_u32(str_cut(&rest, '.'), &major) || !str_to_u32(str_cut(&rest, '.'), &minor) ||
        major > 100 || minor > 99) {
        return 0;
    }
    return (int)(major * 100 + minor);
}

static const struct log_channel *find_channel(int version)
{
    for (size_t i = 0; i < ARRAY_LEN(channels); i++) {
        if (channels[i].first <= version && version <= channels[i].last) {
            return &channels[i];
        }
    }
    return NULL;
}

/* ---- as a log line ---- */

/*
 * In a cluster with autoscaler v2 a driver parses a line as an event and prints its message; with
 * v1 it prints the text between the marks. This is decided where Ray was started, so the line
 * contains both. Any other key would make the driver print a traceback.
 */
static bool gcs_drivers_add_event(struct buf *out, const struct gcs_line *line)
{
    AUTO_BUF struct buf marked;
    buf_init(&marked, LINE_BYTES_MAX);
    buf_addf(&marked, ":event_summary:%.*s:event_summary:", STR_ARG(line->text));
    json_t *event = json_object();
    json_t *fields = json_object();
    json_put_text(event, "source_type", STR("AUTOSCALER"));
    json_put_text(event, "severity", line->is_warning ? STR("WARNING") : STR("INFO"));
    json_put_text(event, "message", line->text);
    json_put_text(fields, "text", buf_str(&marked));
    json_object_set_new(event, "custom_fields", fields);
    bool is_written = json_add(event, out);
    json_decref(event);
    return is_written && !marked.is_full;
}

static bool add_log(struct buf *out, const struct gcs_line *line, const struct log_channel *channel)
{
    AUTO_BUF struct buf event;
    AUTO_BUF struct buf log;
    AUTO_BUF struct buf message;
    buf_init(&event, 8 * LINE_BYTES_MAX);
    buf_init(&log, 8 * LINE_BYTES_MAX);
    buf_init(&message, 8 * LINE_BYTES_MAX);
    if (!gcs_drivers_add_event(&event, line)) {
        return false;
    }
    wire_add_text(&log, 1, line->head_address);
    wire_add_text(&log, 2, STR("autoscaler"));
    wire_add_text(&log, 5, buf_str(&event));
    wire_add_number(&message, 1, channel->channel);
    wire_add_bytes(&message, channel->tag, buf_str(&log));
    wire_add_bytes(out, 1, buf_str(&message));
    return !message.is_full;
}

static void on_published(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    (void)body; /* the status of this reply is never set */
    call->done.plain(call->context, answer);
}

/* ---- as an error ---- */

static bool add_error(struct buf *out, const struct gcs_line *line)
{
    AUTO_BUF struct buf error;
    buf_init(&error, 8 * LINE_BYTES_MAX);
    wire_add_bytes(&error, 1, STR("\xff\xff\xff\xff")); /* nil job id: all drivers */
    wire_add_text(&error, 2, STR("autoscaler"));
    wire_add_text(&error, 3, line->text);
    wire_add_bytes(out, 1, buf_str(&error));
    return !error.is_full;
}

/* Every reply of these services has GcsStatus as field 1: it can be parsed as a ClusterIdReply. */
static void on_reported(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    struct gcs_answer result = *answer;
    Shoal__Gcs__ClusterIdReply *reply = NULL;
    if (answer->trouble == GCS_FINE) {
        reply = shoal__gcs__cluster_id_reply__unpack(NULL, body.len, (const uint8_t *)body.ptr);
        if (!reply) {
            result = gcs_garbled(call->method);
        } else {
            (void)gcs_is_refused(reply->status, call->method, &result);
        }
    }
    call->done.plain(call->context, &result);
    shoal__gcs__cluster_id_reply__free_unpacked(reply, NULL);
}

void gcs_tell_drivers(struct gcs *gcs, const struct gcs_line *line, gcs_done_fn *done,
                      void *context)
{
    int version = read_version(line->ray_version);
    const struct log_channel *channel = find_channel(version);
    bool is_old = version != 0 && version < ERRORS_MOVED_AT;
    const char *report = is_old ? JOBS "ReportJobError" : PUBSUB "ReportJobError";
    struct gcs_call *call = gcs_call_new(gcs, channel ? channel->method : report,
                                         channel ? on_published : on_reported, context);
    call->done.plain = done;
    if (channel ? add_log(&call->body, line, channel) : add_error(&call->body, line)) {
        gcs_call_start(call);
    } else {
        struct err err;
        err_set(&err, ERR_INTERNAL, "a log line for drivers is too long");
        gcs_call_refuse(call, &err);
    }
}

/* ---- the number of drivers ---- */

/* Tags of Ray's messages. */
enum {
    REPLY_STATUS = 1,
    REPLY_JOB = 2,
    STATUS_CODE = 1,
    JOB_IS_DEAD = 2,
    JOB_CONFIG = 6,
    CONFIG_NAMESPACE = 5,
    REQUEST_LIMIT = 1,
    REQUEST_JOB = 2,
    REQUEST_SKIP_SUBMISSIONS = 3,
    REQUEST_SKIP_RUNNING = 4, /* otherwise the GCS would query every driver */
};

/* Prefix of the namespaces of Ray's own drivers, such as the dashboard's. */
#define INTERNAL "_ray_internal_"

static bool is_internal(struct str config, bool *is_broken)
{
    struct wire wire = wire_open(config);
    struct wire_field field;
    bool is_one = false;
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(CONFIG_NAMESPACE, WIRE_BYTES)) {
            is_one = str_starts(field.bytes, INTERNAL);
        }
    }
    *is_broken = *is_broken || wire.is_broken;
    return is_one;
}

static bool is_users(struct str job, bool *is_broken)
{
    struct wire wire = wire_open(job);
    struct wire_field field;
    bool is_one = true;
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(JOB_IS_DEAD, WIRE_VARINT)) {
            is_one = is_one && field.number == 0;
        } else if (field.key == WIRE_KEY(JOB_CONFIG, WIRE_BYTES)) {
            is_one = !is_internal(field.bytes, is_broken) && is_one;
        }
    }
    *is_broken = *is_broken || wire.is_broken;
    return is_one;
}

static bool is_fine(struct str status)
{
    struct wire wire = wire_open(status);
    struct wire_field field;
    bool ok = true;
    while (wire_next(&wire, &field)) {
        ok = ok && (field.key != WIRE_KEY(STATUS_CODE, WIRE_VARINT) || field.number == 0);
    }
    return ok && !wire.is_broken;
}

bool gcs_drivers_read(struct str reply, size_t *ret_count, struct err *err)
{
    struct wire wire = wire_open(reply);
    struct wire_field field;
    bool is_broken = false;
    size_t count = 0;
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(REPLY_JOB, WIRE_BYTES)) {
            count += is_users(field.bytes, &is_broken);
        } else if (field.key == WIRE_KEY(REPLY_STATUS, WIRE_BYTES)) {
            is_broken = is_broken || !is_fine(field.bytes);
        }
    }
    if (wire.is_broken || is_broken) {
        return err_set(err, ERR_PROTOCOL, "invalid list of drivers from Ray");
    }
    *ret_count = count;
    return true;
}

static void on_drivers(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    struct gcs_answer result = *answer;
    size_t count = 0;
    if (answer->trouble == GCS_FINE && !gcs_drivers_read(body, &count, &result.err)) {
        result.trouble = GCS_REFUSED;
    }
    call->done.drivers(call->context, &result, count);
}

void gcs_count_drivers(struct gcs *gcs, gcs_drivers_fn *done, void *context)
{
    struct gcs_call *call = gcs_call_new(gcs, "/ray.rpc.JobInfoGcsService/GetAllJobInfo",
                                         on_drivers, context);
    wire_add_number(&call->body, REQUEST_SKIP_SUBMISSIONS, 1);
    wire_add_number(&call->body, REQUEST_SKIP_RUNNING, 1);
    call->done.drivers = done;
    gcs_call_start(call);
}

/* ---- who requests capacity ---- */

/* Tags of a request for actors. */
enum { ACTORS_LIMIT = 2, ACTORS_FILTERS = 3, FILTERS_STATE = 3, STATE_ALIVE = 2 };

enum { ACTORS_MAX = 1000 };

static void on_actors(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    struct gcs_answer result = *answer;
    struct gcs_requesters requesters = {0};
    if (answer->trouble == GCS_FINE && !gcs_requesters_read(body, &requesters, &result.err)) {
        result.trouble = GCS_REFUSED;
    }
    call->done.requesters(call->context, &result, &requesters);
}

void gcs_find_requesters(struct gcs *gcs, gcs_requesters_fn *done, void *context)
{
    struct gcs_call *call = gcs_call_new(gcs, "/ray.rpc.ActorInfoGcsService/GetAllActorInfo",
                                         on_actors, context);
    AUTO_BUF struct buf filters;
    buf_init(&filters, 64);
    wire_add_number(&filters, FILTERS_STATE, STATE_ALIVE);
    wire_add_number(&call->body, ACTORS_LIMIT, ACTORS_MAX);
    wire_add_bytes(&call->body, ACTORS_FILTERS, buf_str(&filters));
    call->done.requesters = done;
    gcs_call_start(call);
}

static void on_job(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    struct gcs_answer result = *answer;
    struct str entrypoint = STR("");
    if (answer->trouble == GCS_FINE && !gcs_entrypoint_read(body, &entrypoint, &result.err)) {
        result.trouble = GCS_REFUSED;
    }
    call->done.entrypoint(call->context, &result, entrypoint);
}

void gcs_find_entrypoint(struct gcs *gcs, struct str job, gcs_entrypoint_fn *done, void *context)
{
    struct gcs_call *call = gcs_call_new(gcs, JOBS "GetAllJobInfo", on_job, context);
    wire_add_number(&call->body, REQUEST_LIMIT, 1);
    wire_add_text(&call->body, REQUEST_JOB, job);
    wire_add_number(&call->body, REQUEST_SKIP_SUBMISSIONS, 1);
    wire_add_number(&call->body, REQUEST_SKIP_RUNNING, 1);
    call->done.entrypoint = done;
    gcs_call_start(call);
}

/* ctl.c: reads and writes the lines of the control protocol. */
#include "app/head/ctl/ctl.h"

#include "app/head/ctl/ctl_internal.h"

static const char *const autoscaler_states[AUTOSCALER_STATE_COUNT] = {
    [AUTOSCALER_UNKNOWN] = "unknown",
    [AUTOSCALER_ACTIVE] = "active",
    [AUTOSCALER_STANDBY] = "standby",
    [AUTOSCALER_CRASH_LOOPING] = "crash_looping",
};

static const struct field status_fields[] = {
    FIELD(struct ctl_status, ray_version, "ray_version", FIELD_TEXT),
    FIELD(struct ctl_status, ray_address, "ray_address", FIELD_TEXT),
    FIELD(struct ctl_status, is_ray_gone, "ray_gone", FIELD_FLAG),
    FIELD_OF_CHOICE(struct ctl_status, autoscaler, "autoscaler_state", autoscaler_states,
                    AUTOSCALER_UNKNOWN),
    FIELD(struct ctl_status, autoscaler_message, "autoscaler_message", FIELD_TEXT),
    FIELD(struct ctl_status, is_ray_scaling, "ray_autoscaler", FIELD_FLAG),
    FIELD(struct ctl_status, held, "min_workers_blocked", FIELD_TEXT),
    FIELD(struct ctl_status, launching, "scale_up_blocked", FIELD_TEXT),
    FIELD(struct ctl_status, ending, "scale_down_blocked", FIELD_TEXT),
    FIELD(struct ctl_status, idle_stop, "idle_stop", FIELD_TEXT),
    FIELD(struct ctl_status, goal, "goal", FIELD_TEXT),
    FIELD(struct ctl_status, stopped, "stopped_workers", FIELD_SIZE),
    FIELD(struct ctl_status, joined, "ray_nodes", FIELD_SIZE),
    FIELD(struct ctl_status, wanted, "desired_nodes", FIELD_SIZE),
    FIELD(struct ctl_status, is_settled, "converged", FIELD_FLAG),
    FIELD(struct ctl_status, waits_for, "waiting_for", FIELD_TEXT),
    FIELD(struct ctl_status, waits_for_lease, "waiting_for_lease", FIELD_FLAG),
    FIELD(struct ctl_status, serial, "handover_serial", FIELD_NUMBER),
    FIELD(struct ctl_status, now_ms, "now_ms", FIELD_NUMBER),
    FIELD(struct ctl_status, seen_ms, "ray_seen_ms", FIELD_NUMBER),
    FIELD(struct ctl_status, price, "dollars_per_hour", FIELD_DOLLARS),
    FIELD(struct ctl_status, price_limit, "max_dollars_per_hour", FIELD_DOLLARS),
    FIELD(struct ctl_status, jobs, "running_jobs", FIELD_OPTIONAL),
    FIELD(struct ctl_status, waiting, "pending", FIELD_NUMBER),
    FIELD(struct ctl_status, unmet, "unschedulable", FIELD_NUMBER),
    FIELD(struct ctl_status, demand_count, "demand_count", FIELD_SIZE),
};
const struct field_table ctl_status_table = FIELD_TABLE(status_fields);

/* ---- writing ---- */

static json_t *greeting_json(const struct ctl_line *line)
{
    json_t *json = json_object();
    json_object_set_new(json, "shoal", json_string(""));
    json_put_text(json, "shoal", line->greeting.version);
    json_put_number(json, "protocol", line->greeting.protocol);
    json_put_number(json, "min_protocol", line->greeting.least);
    json_put_text(json, "cluster", line->greeting.cluster);
    json_put_text(json, "uid", line->greeting.uid);
    json_put_number(json, "epoch", (int64_t)line->greeting.epoch);
    return json;
}

/* The key that identifies a line. */
static const char *const kind_text[] = {
    [CTL_GREETING] = "shoal",  [CTL_STATUS] = "status", [CTL_NODE] = "node",
    [CTL_LOG] = "log",         [CTL_DONE] = "done",     [CTL_END] = "end",
    [CTL_ERROR] = "error",     [CTL_DEMAND] = "demand", [CTL_EVENT] = "event",
    [CTL_EXPLAIN] = "explain", [CTL_TEXT] = "text",     [CTL_OTHER] = "other",
};

static json_t *ctl_fields_json(const struct field_table *table, const void *record)
{
    json_t *json = json_object();
    fields_write(table, record, json);
    return json;
}

static json_t *object_json(const struct ctl_line *line)
{
    switch (line->kind) {
    case CTL_STATUS:
        return ctl_fields_json(&ctl_status_table, &line->status);
    case CTL_NODE:
        return node_view_json(&line->node);
    case CTL_DEMAND:
        return ctl_fields_json(&pending_demand_table, &line->demand);
    case CTL_EVENT:
        return ctl_fields_json(&cluster_event_table, &line->event);
    case CTL_EXPLAIN:
        return ctl_answer_json(&line->answer);
    case CTL_GREETING:
    case CTL_LOG:
    case CTL_DONE:
    case CTL_END:
    case CTL_ERROR:
    case CTL_TEXT:
    case CTL_OTHER:
        break;
    }
    return NULL;
}

static json_t *line_json(const struct ctl_line *line)
{
    if (line->kind == CTL_GREETING) {
        return greeting_json(line);
    }
    json_t *json = json_object();
    json_t *object = object_json(line);
    if (object) {
        json_object_set_new(json, kind_text[line->kind], object);
    } else {
        /* The key must be present even if the text is empty. */
        json_object_set_new(json, kind_text[line->kind], json_string(""));
        json_put_text(json, kind_text[line->kind], line->text);
        json_put_text(json, "request", line->about);
    }
    return json;
}

void ctl_line_write(const struct ctl_line *line, struct buf *out)
{
    json_put_out(line_json(line), true, out);
}

void ctl_request_write(const struct ctl_request *request, struct buf *out)
{
    json_t *json = json_object();
    json_put_text(json, "request", request->what);
    json_put_text(json, "node", request->node);
    json_put_flag(json, "follow", request->follows);
    json_put_flag(json, "all", request->wants_full);
    json_put_number(json, "after", request->after);
    json_put_text(json, "subject", request->about);
    json_put_text(json, "job", request->job);
    json_put_text(json, "session", request->session);
    if (request->bundle_count > 0) {
        json_object_set_new(json, "bundles", ctl_bundles_json(request));
    }
    json_put_out(json, true, out);
}

/* ---- reading ---- */

static void read_greeting(struct ctl_reading *reading, const json_t *json, struct ctl_line *line)
{
    line->greeting.version = ctl_text(reading, json, "shoal");
    line->greeting.protocol = ctl_number(reading, json, "protocol");
    line->greeting.least = ctl_number(reading, json, "min_protocol");
    line->greeting.cluster = ctl_text(reading, json, "cluster");
    line->greeting.uid = ctl_text(reading, json, "uid");
    line->greeting.epoch = (uint64_t)ctl_number(reading, json, "epoch");
    ctl_expect(reading, line->greeting.protocol >= line->greeting.least);
}

static void ctl_read_fields(struct ctl_reading *reading, const struct field_table *table,
                            const json_t *json, void *record)
{
    ctl_expect(reading, fields_read(table, json, reading->arena, record));
}

/* False for an empty object. */
static bool find_kind(const json_t *json, enum ctl_line_kind *ret_kind)
{
    for (size_t i = 0; i < ARRAY_LEN(kind_text); i++) {
        if (json_object_get(json, kind_text[i])) {
            *ret_kind = (enum ctl_line_kind)i;
            return true;
        }
    }
    *ret_kind = CTL_OTHER;
    return json_object_size(json) > 0;
}

static bool ctl_read_line(const json_t *json, struct arena *arena, struct ctl_line *line,
                          struct err *err)
{
    struct ctl_reading reading = {.arena = arena};
    if (!find_kind(json, &line->kind)) {
        return err_set(err, ERR_PROTOCOL, "invalid reply from the service on the head");
    }
    switch (line->kind) {
    case CTL_GREETING:
        read_greeting(&reading, json, line);
        break;
    case CTL_STATUS:
        ctl_read_fields(&reading, &ctl_status_table, json_object_get(json, "status"),
                        &line->status);
        break;
    case CTL_NODE:
        if (!node_view_read(json_object_get(json, "node"), arena, &line->node, err)) {
            return false;
        }
        break;
    case CTL_DEMAND:
        ctl_read_fields(&reading, &pending_demand_table, json_object_get(json, "demand"),
                        &line->demand);
        break;
    case CTL_EVENT:
        ctl_read_fields(&reading, &cluster_event_table, json_object_get(json, "event"),
                        &line->event);
        break;
    case CTL_EXPLAIN:
        ctl_read_answer(&reading, json_object_get(json, "explain"), &line->answer);
        break;
    case CTL_LOG:
    case CTL_DONE:
    case CTL_END:
    case CTL_ERROR:
    case CTL_TEXT:
        line->text = ctl_text(&reading, json, kind_text[line->kind]);
        line->about = ctl_text(&reading, json, "request");
        break;
    case CTL_OTHER:
        break;
    }
    return !reading.is_wrong || err_set(err, ERR_PROTOCOL,
                                        "invalid reply from the service on the head: a value has "
                                        "the wrong type");
}

bool ctl_line_read(struct str text, struct arena *arena, struct ctl_line *ret_line, struct err *err)
{
    json_t *json;
    struct ctl_line line = {0};
    if (!json_line_read(text, "a message from the head's service", &json, err)) {
        return false;
    }
    bool is_read = ctl_read_line(json, arena, &line, err);
    json_decref(json);
    if (is_read) {
        *ret_line = line;
    }
    return is_read;
}

bool ctl_request_read(struct str text, struct arena *arena, struct ctl_request *ret_request,
                      struct err *err)
{
    json_t *json;
    if (!json_line_read(text, "a request", &json, err)) {
        return false;
    }
    struct ctl_reading reading = {.arena = arena, .is_wrong = !json_object_get(json, "request")};
    struct ctl_request request = {
        .what = ctl_text(&reading, json, "request"),
        .node = ctl_text(&reading, json, "node"),
        .follows = ctl_flag(&reading, json, "follow"),
        .wants_full = ctl_flag(&reading, json, "all"),
        .after = ctl_number(&reading, json, "after"),
        .about = ctl_text(&reading, json, "subject"),
        .job = ctl_text(&reading, json, "job"),
        .session = ctl_text(&reading, json, "session"),
    };
    ctl_read_bundles(&reading, json_object_get(json, "bundles"), &request);
    json_decref(json);
    if (reading.is_wrong) {
        return err_set(err, ERR_PROTOCOL, "invalid request; expected {\"request\": \"...\"}");
    }
    *ret_request = request;
    return true;
}

/* ---- compatibility ---- */

static void add_range(struct buf *out, int64_t least, int64_t most)
{
    if (least == most) {
        buf_addf(out, "protocol %lld", (long long)most);
    } else {
        buf_addf(out, "protocols %lld to %lld", (long long)least, (long long)most);
    }
}

bool ctl_greeting_check(const struct ctl_line *line, struct err *err)
{
    AUTO_BUF struct buf words;
    buf_init(&words, 400);
    if (line->greeting.protocol >= CTL_PROTOCOL_LEAST && line->greeting.least <= CTL_PROTOCOL) {
        return true;
    }
    bool is_head_older = line->greeting.protocol < CTL_PROTOCOL_LEAST;
    struct str version = str_sub(line->greeting.version, 0, 40);
    buf_addf(&words, "the head runs Shoal %.*s (", STR_ARG(version));
    add_range(&words, line->greeting.least, line->greeting.protocol);
    buf_addf(&words, "), this is Shoal %s (", SHOAL_VERSION);
    add_range(&words, CTL_PROTOCOL_LEAST, CTL_PROTOCOL);
    if (is_head_older) {
        buf_add_c(&words, "): run `shoal up` to update the head to this version");
    } else {
        buf_addf(&words, "): install Shoal %.*s or newer here", STR_ARG(version));
    }
    return err_set(err, ERR_PROTOCOL, "%s", words.ptr);
}

/*
 * autoscaler_probe.c: HOST:PORT [TOKEN] on the command line, a call per line on standard input as
 * {"call": "drain", ...}, its answer as one line of JSON. TLS by Ray's own variables. An autoscaler
 * that a test drives by hand, so that what it says can be compared with what Ray makes of it.
 */
#include "base/encode.h"
#include "io/json_line.h"
#include "ray/gcs.h"
#include "ray/gcs_access.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const troubles[] = {
    [GCS_FINE] = "fine",           [GCS_AWAY] = "away",       [GCS_OTHER_CLUSTER] = "other-cluster",
    [GCS_TOKEN_REFUSED] = "token", [GCS_TOO_OLD] = "too-old", [GCS_REFUSED] = "refused",
};

struct probe {
    struct loop *loop;
    struct gcs *gcs;
    json_t *answer;
};

static json_t *text(struct str value)
{
    json_t *json = json_stringn(value.ptr ? value.ptr : "", value.len);
    return json ? json : json_string("(not UTF-8)");
}

static json_t *hex(struct str bytes)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 1000);
    encode_hex(&out, (const uint8_t *)bytes.ptr, bytes.len);
    return text(buf_str(&out));
}

static void answer_with(struct probe *probe, const struct gcs_answer *answer)
{
    json_object_set_new(probe->answer, "trouble", json_string(troubles[answer->trouble]));
    json_object_set_new(probe->answer, "error", json_string(answer->err.text));
    loop_stop(probe->loop);
}

/* ---- the state ---- */

static json_t *quantities(const struct ray_quantity *list, size_t count)
{
    json_t *json = json_object();
    for (size_t i = 0; i < count; i++) {
        char name[200];
        snprintf(name, sizeof(name), "%.*s", STR_ARG(list[i].name));
        json_object_set_new(json, name, json_real(list[i].amount));
    }
    return json;
}

static json_t *labels(const struct ray_label *list, size_t count)
{
    json_t *json = json_object();
    for (size_t i = 0; i < count; i++) {
        char name[200];
        snprintf(name, sizeof(name), "%.*s", STR_ARG(list[i].key));
        json_object_set_new(json, name, text(list[i].value));
    }
    return json;
}

static json_t *texts(const struct str *list, size_t count)
{
    json_t *json = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(json, text(list[i]));
    }
    return json;
}

static void add_node(void *context, const struct ray_node_summary *glance)
{
    static const char *const statuses[] = {"unspecified", "running", "dead", "idle", "draining"};
    struct ray_node_detail node;
    struct arena arena;
    struct err err;
    arena_init(&arena);
    if (ray_node_read(glance->bytes, &arena, &node, &err)) {
        json_array_append_new(
            context,
            json_pack("{so ss so sI sI so so so so so so so sb}", "instance",
                      text(glance->instance_id), "status", statuses[glance->status], "id",
                      hex(glance->id), "idle_ms", (json_int_t)glance->idle_ms, "mark",
                      (json_int_t)glance->mark, "type", text(node.type), "address",
                      text(node.address), "machine", text(node.machine), "totals",
                      quantities(node.totals, node.total_count), "available",
                      quantities(node.available, node.available_count), "labels",
                      labels(node.labels, node.label_count), "activities",
                      texts(node.activities, node.activity_count), "is_head", node.is_head));
    }
    arena_clear(&arena);
}

static json_t *selectors(const struct ray_request *request)
{
    static const char *const operators[] = {"?", "in", "not in"};
    json_t *all = json_array();
    for (size_t i = 0; i < request->selector_count; i++) {
        json_t *rules = json_array();
        for (size_t j = 0; j < request->selectors[i].rule_count; j++) {
            const struct ray_rule *rule = &request->selectors[i].rules[j];
            json_array_append_new(rules, json_pack("[oso]", text(rule->key), operators[rule->op],
                                                   texts(rule->values, rule->value_count)));
        }
        json_array_append_new(all, rules);
    }
    return all;
}

static json_t *placements(const struct ray_request *request)
{
    json_t *all = json_array();
    for (size_t i = 0; i < request->placement_count; i++) {
        const struct ray_placement *placement = &request->placements[i];
        json_array_append_new(all, json_pack("[so]", placement->is_apart ? "apart" : "together",
                                             text(placement->label.key)));
    }
    return all;
}

static json_t *one_request(const struct ray_request *request, int64_t count)
{
    return json_pack("{so so so sI}", "amounts",
                     quantities(request->amounts, request->amount_count), "selectors",
                     selectors(request), "placements", placements(request), "count",
                     (json_int_t)count);
}

static json_t *demands(const struct ray_demand *list, size_t count)
{
    json_t *all = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(all, one_request(&list[i].request, list[i].count));
    }
    return all;
}

static json_t *gangs(const struct ray_gang *list, size_t count)
{
    json_t *all = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *requests = json_array();
        for (size_t j = 0; j < list[i].request_count; j++) {
            json_array_append_new(requests, one_request(&list[i].requests[j], 1));
        }
        json_array_append_new(all,
                              json_pack("{so so so}", "details", text(list[i].details), "locality",
                                        text(list[i].locality), "requests", requests));
    }
    return all;
}

static void on_state(void *context, const struct gcs_answer *answer, struct str bytes)
{
    struct probe *probe = context;
    struct ray_load_read load;
    struct ray_state state;
    struct arena arena;
    struct err err;
    json_t *nodes = json_array();
    arena_init(&arena);
    if (answer->trouble == GCS_FINE && ray_state_pass(bytes, add_node, nodes, &state, &err) &&
        ray_state_load(bytes, &arena, &load, &err)) {
        json_object_set_new(probe->answer, "version", json_integer(state.version));
        json_object_set_new(probe->answer, "session", text(state.session));
        json_object_set_new(probe->answer, "load_mark", json_integer((json_int_t)state.load_mark));
        json_object_set_new(probe->answer, "bytes", json_integer((json_int_t)bytes.len));
        json_object_set_new(probe->answer, "demands", demands(load.demands, load.demand_count));
        json_object_set_new(probe->answer, "gangs", gangs(load.gangs, load.gang_count));
        json_object_set_new(probe->answer, "bundle",
                            demands(load.constraint, load.constraint_count));
    }
    json_object_set_new(probe->answer, "nodes", nodes);
    arena_clear(&arena);
    answer_with(probe, answer);
}

/* ---- the other calls ---- */

static void on_alive(void *context, const struct gcs_answer *answer, struct str ray_version)
{
    struct probe *probe = context;
    json_object_set_new(probe->answer, "version", text(ray_version));
    answer_with(probe, answer);
}

static void on_done(void *context, const struct gcs_answer *answer)
{
    answer_with(context, answer);
}

static void on_drain(void *context, const struct gcs_answer *answer, bool is_accepted,
                     struct str why_not)
{
    struct probe *probe = context;
    json_object_set_new(probe->answer, "accepted", json_boolean(is_accepted));
    json_object_set_new(probe->answer, "why_not", text(why_not));
    answer_with(probe, answer);
}

static struct str take(const json_t *ask, const char *name)
{
    return str_from(json_string_value(json_object_get(ask, name)));
}

static int64_t take_number(const json_t *ask, const char *name)
{
    return json_integer_value(json_object_get(ask, name));
}

static void ask_drain(struct probe *probe, const json_t *ask)
{
    char id[64];
    struct str digits = take(ask, "node");
    size_t len = digits.len / 2 < sizeof(id) ? digits.len / 2 : sizeof(id);
    for (size_t i = 0; i < len; i++) {
        const char pair[3] = {digits.ptr[2 * i], digits.ptr[2 * i + 1], '\0'};
        id[i] = (char)(unsigned char)strtoul(pair, NULL, 16);
    }
    struct gcs_drain drain = {.node = {id, len},
                              .is_refusable = json_is_true(json_object_get(ask, "idle")),
                              .message = take(ask, "message"),
                              .deadline_ms = take_number(ask, "deadline_ms")};
    gcs_drain(probe->gcs, &drain, on_drain, probe);
}

static void ask_report(struct probe *probe, const json_t *ask)
{
    struct ray_pending_request request = {STR("m5.large"), take(ask, "type"),
                                          take_number(ask, "count"), take_number(ask, "at")};
    struct ray_pending_node node = {STR("m5.large"), take(ask, "type"), take(ask, "instance"),
                                    STR("10.0.0.9"), take(ask, "details")};
    struct ray_failed_request failure = {
        STR("p4d"),          take(ask, "failed"),    1,
        take(ask, "reason"), take_number(ask, "at"), take_number(ask, "at")};
    struct ray_report report = {.version = take_number(ask, "version"),
                                .requests = &request,
                                .request_count = request.count > 0,
                                .nodes = &node,
                                .node_count = node.instance_id.len > 0,
                                .failures = &failure,
                                .failure_count = failure.type.len > 0};
    gcs_report(probe->gcs, &report, on_done, probe);
}

static void ask_amounts(struct probe *probe, const json_t *ask, bool is_group)
{
    struct ray_quantity amounts[8];
    size_t count = 0;
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(ask, "amounts"), name, value)
    {
        if (count < ARRAY_LEN(amounts)) {
            amounts[count++] = (struct ray_quantity){str_from(name), json_number_value(value)};
        }
    }
    if (is_group) {
        struct gcs_group group = {take(ask, "name"), amounts, count, take_number(ask, "min"),
                                  take_number(ask, "max")};
        gcs_report_groups(probe->gcs, &group, 1, on_done, probe);
    } else {
        struct gcs_bundle bundle = {amounts, count, take_number(ask, "count")};
        gcs_request_resources(probe->gcs, &bundle, bundle.count > 0, on_done, probe);
    }
}

static void ask_tell(struct probe *probe, const json_t *ask)
{
    struct gcs_line line = {.ray_version = take(ask, "version"),
                            .head_address = take(ask, "address"),
                            .text = take(ask, "text"),
                            .is_warning = json_is_true(json_object_get(ask, "warning"))};
    gcs_tell_drivers(probe->gcs, &line, on_done, probe);
}

static bool make_call(struct probe *probe, const json_t *ask)
{
    struct str call = take(ask, "call");
    if (str_is(call, "state")) {
        gcs_read_state(probe->gcs, on_state, probe);
    } else if (str_is(call, "alive")) {
        gcs_check_alive(probe->gcs, on_alive, probe);
    } else if (str_is(call, "drain")) {
        ask_drain(probe, ask);
    } else if (str_is(call, "report")) {
        ask_report(probe, ask);
    } else if (str_is(call, "bundle") || str_is(call, "group")) {
        ask_amounts(probe, ask, str_is(call, "group"));
    } else if (str_is(call, "metrics")) {
        gcs_note_metrics(probe->gcs, take(ask, "address"), on_done, probe);
    } else if (str_is(call, "tell")) {
        ask_tell(probe, ask);
    } else {
        return false;
    }
    return true;
}

static int run(struct probe *probe)
{
    char line[4096];
    while (fgets(line, sizeof(line), stdin)) {
        json_t *ask = json_loads(line, 0, NULL);
        probe->answer = json_object();
        if (!make_call(probe, ask)) {
            fprintf(stderr, "not understood: %s", line);
            return 2;
        }
        loop_run(probe->loop);
        json_dumpf(probe->answer, stdout, JSON_COMPACT);
        putchar('\n');
        fflush(stdout);
        json_decref(probe->answer);
        json_decref(ask);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct http *http = NULL;
    struct probe probe = {0};
    struct gcs_setup setup = {.token = str_from(argc > 2 ? argv[2] : NULL), .deadline_ms = 5000};
    struct arena arena;
    arena_init(&arena);
    struct gcs_access access = gcs_access_find(argc > 1 ? argv[1] : "", &arena);
    if (argc < 2 || !gcs_access_apply(&access, argv[1], &arena, &setup, &err) ||
        !loop_open(&clock_of_machine, &probe.loop, &err) ||
        !http_open(probe.loop, &(struct http_limits){0}, &http, &err)) {
        fprintf(stderr, "autoscaler_probe HOST:PORT [TOKEN]: %s\n", err.text);
        return 2;
    }
    setup.http = http;
    probe.gcs = gcs_open(&setup);
    arena_clear(&arena);
    int status = run(&probe);
    gcs_close(probe.gcs);
    http_close(http);
    loop_close(probe.loop);
    return status;
}

/* ctl.c: the lines of the control channel, both directions. */
#include "app/head/channel/ctl.h"

#include "app/head/channel/ctl_parts.h"

/* ---- writing ---- */

/* Nothing is said of what is not known; that it costs nothing is. */
static void put_price(json_t *json, const char *name, int64_t price)
{
    if (price >= 0) {
        json_object_set_new(json, name, json_integer(price));
    }
}

static json_t *status_json(const struct ctl_status *status)
{
    json_t *json = json_object();
    json_put_text(json, "ray_version", status->ray_version);
    json_put_text(json, "ray_address", status->ray_address);
    json_put_text(json, "stance", status->stance);
    json_put_text(json, "goal", status->goal);
    json_put_number(json, "joined", (int64_t)status->joined);
    json_put_number(json, "wanted", (int64_t)status->wanted);
    json_put_flag(json, "settled", status->is_settled);
    json_put_flag(json, "rays", status->is_rays);
    json_put_number(json, "serial", status->serial);
    json_put_number(json, "now_ms", status->now_ms);
    json_put_number(json, "seen_ms", status->seen_ms);
    put_price(json, "price", status->price);
    put_price(json, "price_limit", status->price_limit);
    json_put_text(json, "launching", status->launching);
    json_put_text(json, "ending", status->ending);
    json_put_number(json, "waiting", status->waiting);
    json_put_number(json, "unmet", status->unmet);
    json_put_number(json, "demand_count", (int64_t)status->demand_count);
    return json;
}

static json_t *greeting_json(const struct ctl_line *line)
{
    json_t *json = json_object();
    json_object_set_new(json, "shoal", json_string(""));
    json_put_text(json, "shoal", line->greeting.version);
    json_put_number(json, "protocol", line->greeting.protocol);
    json_put_number(json, "least", line->greeting.least);
    json_put_text(json, "cluster", line->greeting.cluster);
    json_put_text(json, "uid", line->greeting.uid);
    json_put_number(json, "epoch", (int64_t)line->greeting.epoch);
    return json;
}

/* The word by which a line is known. */
static const char *const kind_words[] = {
    [CTL_GREETING] = "shoal",  [CTL_STATUS] = "status", [CTL_NODE] = "node",
    [CTL_LOG] = "log",         [CTL_DONE] = "done",     [CTL_END] = "end",
    [CTL_ERROR] = "error",     [CTL_DEMAND] = "demand", [CTL_EVENT] = "event",
    [CTL_EXPLAIN] = "explain", [CTL_TEXT] = "text",     [CTL_OTHER] = "other",
};

static json_t *object_json(const struct ctl_line *line)
{
    return line->kind == CTL_STATUS    ? status_json(&line->status)
           : line->kind == CTL_DEMAND  ? ctl_demand_json(&line->demand)
           : line->kind == CTL_EVENT   ? ctl_event_json(&line->event)
           : line->kind == CTL_EXPLAIN ? ctl_answer_json(&line->answer)
                                       : NULL;
}

static json_t *line_json(const struct ctl_line *line)
{
    if (line->kind == CTL_GREETING) {
        return greeting_json(line);
    }
    json_t *json = json_object();
    json_t *object = object_json(line);
    if (object) {
        json_object_set_new(json, kind_words[line->kind], object);
    } else {
        /* An empty text is a text too, and makes the line what it is. */
        json_object_set_new(json, kind_words[line->kind], json_string(""));
        json_put_text(json, kind_words[line->kind], line->text);
        json_put_text(json, "do", line->about);
    }
    return json;
}

void ctl_line_write(const struct ctl_line *line, struct buf *out)
{
    if (line->kind == CTL_NODE) { /* which has a writer of its own */
        buf_add_c(out, "{\"node\":");
        node_view_write(&line->node, out);
        buf_add_c(out, "}\n");
        return;
    }
    json_put_out(line_json(line), true, out);
}

void ctl_request_write(const struct ctl_request *request, struct buf *out)
{
    json_t *json = json_object();
    json_put_text(json, "do", request->what);
    json_put_text(json, "node", request->node);
    json_put_flag(json, "follow", request->follows);
    json_put_flag(json, "all", request->wants_all);
    json_put_number(json, "after", request->after);
    json_put_text(json, "about", request->about);
    if (request->wish_count > 0) {
        json_object_set_new(json, "wishes", ctl_wishes_json(request));
    }
    json_put_out(json, true, out);
}

/* ---- reading ---- */

static int64_t price_of(struct ctl_reading *reading, const json_t *json, const char *name)
{
    return json_object_get(json, name) ? ctl_number(reading, json, name) : -1;
}

static void read_status(struct ctl_reading *reading, const json_t *json, struct ctl_status *status)
{
    ctl_expect(reading, json_is_object(json));
    *status = (struct ctl_status){
        .ray_version = ctl_text(reading, json, "ray_version"),
        .ray_address = ctl_text(reading, json, "ray_address"),
        .stance = ctl_text(reading, json, "stance"),
        .goal = ctl_text(reading, json, "goal"),
        .joined = (size_t)ctl_number(reading, json, "joined"),
        .wanted = (size_t)ctl_number(reading, json, "wanted"),
        .is_settled = ctl_flag(reading, json, "settled"),
        .is_rays = ctl_flag(reading, json, "rays"),
        .serial = ctl_number(reading, json, "serial"),
        .now_ms = ctl_number(reading, json, "now_ms"),
        .seen_ms = ctl_number(reading, json, "seen_ms"),
        .price = price_of(reading, json, "price"),
        .price_limit = price_of(reading, json, "price_limit"),
        .launching = ctl_text(reading, json, "launching"),
        .ending = ctl_text(reading, json, "ending"),
        .waiting = ctl_number(reading, json, "waiting"),
        .unmet = ctl_number(reading, json, "unmet"),
        .demand_count = (size_t)ctl_number(reading, json, "demand_count"),
    };
}

static void read_greeting(struct ctl_reading *reading, const json_t *json, struct ctl_line *line)
{
    line->greeting.version = ctl_text(reading, json, "shoal");
    line->greeting.protocol = ctl_number(reading, json, "protocol");
    line->greeting.least = ctl_number(reading, json, "least");
    line->greeting.cluster = ctl_text(reading, json, "cluster");
    line->greeting.uid = ctl_text(reading, json, "uid");
    line->greeting.epoch = (uint64_t)ctl_number(reading, json, "epoch");
    ctl_expect(reading, line->greeting.protocol >= line->greeting.least);
}

static bool read_node(struct ctl_reading *reading, json_t *json, struct node_view *node,
                      struct err *err)
{
    AUTO_BUF struct buf text;
    buf_init(&text, CTL_LINE_BYTES_MAX * 2);
    if (!json_is_object(json)) {
        return err_set(err, ERR_PROTOCOL, "a line of the head's service has a node that is none");
    }
    json_put_out(json_incref(json), false, &text);
    return node_view_read(buf_str(&text), reading->arena, node, err);
}

/* False: nothing is said. */
static bool find_kind(const json_t *json, enum ctl_line_kind *ret_kind)
{
    for (size_t i = 0; i < ARRAY_LEN(kind_words); i++) {
        if (json_object_get(json, kind_words[i])) {
            *ret_kind = (enum ctl_line_kind)i;
            return true;
        }
    }
    *ret_kind = CTL_OTHER;
    return json_object_size(json) > 0;
}

static bool read_line(const json_t *json, struct arena *arena, struct ctl_line *line,
                      struct err *err)
{
    struct ctl_reading reading = {.arena = arena};
    if (!find_kind(json, &line->kind)) {
        return err_set(err, ERR_PROTOCOL, "a line of the head's service is not understood");
    }
    switch (line->kind) {
    case CTL_GREETING:
        read_greeting(&reading, json, line);
        break;
    case CTL_STATUS:
        read_status(&reading, json_object_get(json, "status"), &line->status);
        break;
    case CTL_NODE:
        if (!read_node(&reading, json_object_get(json, "node"), &line->node, err)) {
            return false;
        }
        break;
    case CTL_DEMAND:
        ctl_read_demand(&reading, json_object_get(json, "demand"), &line->demand);
        break;
    case CTL_EVENT:
        ctl_read_event(&reading, json_object_get(json, "event"), &line->event);
        break;
    case CTL_EXPLAIN:
        ctl_read_answer(&reading, json_object_get(json, "explain"), &line->answer);
        break;
    case CTL_LOG:
    case CTL_DONE:
    case CTL_END:
    case CTL_ERROR:
    case CTL_TEXT:
        line->text = ctl_text(&reading, json, kind_words[line->kind]);
        line->about = ctl_text(&reading, json, "do");
        break;
    case CTL_OTHER:
        break;
    }
    return !reading.is_wrong ||
           err_set(err, ERR_PROTOCOL, "a line of the head's service has values of a wrong type");
}

bool ctl_line_read(struct str text, struct arena *arena, struct ctl_line *ret_line, struct err *err)
{
    json_t *json;
    struct ctl_line line = {0};
    if (!json_line_read(text, "a line of the head's service", &json, err)) {
        return false;
    }
    bool is_read = read_line(json, arena, &line, err);
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
    struct ctl_reading reading = {.arena = arena, .is_wrong = !json_object_get(json, "do")};
    struct ctl_request request = {
        .what = ctl_text(&reading, json, "do"),
        .node = ctl_text(&reading, json, "node"),
        .follows = ctl_flag(&reading, json, "follow"),
        .wants_all = ctl_flag(&reading, json, "all"),
        .after = ctl_number(&reading, json, "after"),
        .about = ctl_text(&reading, json, "about"),
    };
    ctl_read_wishes(&reading, json_object_get(json, "wishes"), &request);
    json_decref(json);
    if (reading.is_wrong) {
        return err_set(err, ERR_PROTOCOL, "not understood: a request is {\"do\": \"...\"}");
    }
    *ret_request = request;
    return true;
}

/* ---- do both ends understand each other? ---- */

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
        buf_add_c(&words, "): run `shoal up` to bring the head to this version");
    } else {
        buf_addf(&words, "): install Shoal %.*s or newer here", STR_ARG(version));
    }
    return err_set(err, ERR_PROTOCOL, "%s", words.ptr);
}

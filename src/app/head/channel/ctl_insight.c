/* ctl_insight.c: demands, events, answers and wishes as JSON, both directions. */
#include "app/head/channel/ctl_parts.h"

#include <string.h>

static const char *const sources[INSIGHT_SOURCE_COUNT] = {
    [INSIGHT_TASKS] = "tasks",
    [INSIGHT_GROUP] = "group",
    [INSIGHT_CONSTRAINT] = "constraint",
};

static const char *const events[EVENT_WORD_COUNT] = {
    [EVENT_WORD_LAUNCH] = "launch",   [EVENT_WORD_JOIN] = "join",
    [EVENT_WORD_DRAIN] = "drain",     [EVENT_WORD_END] = "end",
    [EVENT_WORD_NOTICE] = "notice",   [EVENT_WORD_FAILURE] = "failure",
    [EVENT_WORD_REFUSAL] = "refusal", [EVENT_WORD_INFEASIBLE] = "infeasible",
    [EVENT_WORD_SERVICE] = "service",
};

const char *ctl_source_word(enum insight_source source)
{
    return sources[source];
}

const char *ctl_event_word(enum insight_event_kind kind)
{
    return events[kind];
}

/* A word of a newer version is taken for `otherwise`: the texts say what it is. */
static size_t find_word(struct str word, const char *const *words, size_t count, size_t otherwise)
{
    for (size_t i = 0; i < count; i++) {
        if (str_is(word, words[i])) {
            return i;
        }
    }
    return otherwise;
}

/* ---- writing ---- */

json_t *ctl_demand_json(const struct insight_demand *demand)
{
    json_t *json = json_object();
    json_put_text(json, "source", str_from(sources[demand->source]));
    json_put_text(json, "shape", demand->shape);
    json_put_text(json, "labels", demand->labels);
    json_put_number(json, "count", demand->count);
    json_put_number(json, "unmet", demand->unmet);
    json_put_text(json, "why", demand->why);
    json_put_flag(json, "infeasible", demand->is_infeasible);
    json_put_number(json, "since_ms", demand->since_ms);
    return json;
}

json_t *ctl_event_json(const struct insight_event *event)
{
    json_t *json = json_object();
    json_put_number(json, "number", event->number);
    json_put_number(json, "at_ms", event->wall_ms);
    json_put_text(json, "kind", str_from(events[event->kind]));
    json_put_text(json, "node", event->node);
    json_put_text(json, "text", event->text);
    json_put_text(json, "reason", event->reason);
    return json;
}

/* One text of a list, with bytes that are not UTF-8 made visible. */
static void add_text(json_t *list, struct str text)
{
    json_t *holder = json_object();
    json_put_text(holder, "text", text);
    json_t *string = json_object_get(holder, "text");
    json_array_append_new(list, string ? json_incref(string) : json_string(""));
    json_decref(holder);
}

json_t *ctl_answer_json(const struct ctl_answer *answer)
{
    json_t *json = json_object();
    json_t *lines = json_array();
    for (size_t i = 0; i < answer->line_count; i++) {
        add_text(lines, answer->lines[i]);
    }
    json_put_text(json, "question", answer->question);
    json_object_set_new(json, "answer", lines);
    json_put_text(json, "fix", answer->fix);
    return json;
}

json_t *ctl_wishes_json(const struct ctl_request *request)
{
    json_t *list = json_array();
    for (size_t i = 0; i < request->wish_count; i++) {
        const struct gcs_wish *wish = &request->wishes[i];
        json_t *amounts = json_object();
        for (size_t j = 0; j < wish->amount_count; j++) {
            const struct ray_quantity *amount = &wish->amounts[j];
            json_object_setn_new(amounts, amount->name.ptr, amount->name.len,
                                 json_real(amount->amount));
        }
        json_t *json = json_object();
        json_object_set_new(json, "amounts", amounts);
        json_put_number(json, "count", wish->count);
        json_array_append_new(list, json);
    }
    return list;
}

/* ---- reading ---- */

void ctl_read_demand(struct ctl_reading *reading, const json_t *json, struct insight_demand *ret)
{
    struct str source = ctl_text(reading, json, "source");
    ctl_expect(reading, json_is_object(json));
    *ret = (struct insight_demand){
        .source = (enum insight_source)find_word(source, sources, INSIGHT_SOURCE_COUNT,
                                                 INSIGHT_TASKS),
        .shape = ctl_text(reading, json, "shape"),
        .labels = ctl_text(reading, json, "labels"),
        .count = ctl_number(reading, json, "count"),
        .unmet = ctl_number(reading, json, "unmet"),
        .why = ctl_text(reading, json, "why"),
        .is_infeasible = ctl_flag(reading, json, "infeasible"),
        .since_ms = ctl_number(reading, json, "since_ms"),
    };
}

void ctl_read_event(struct ctl_reading *reading, const json_t *json, struct insight_event *ret)
{
    struct str kind = ctl_text(reading, json, "kind");
    ctl_expect(reading, json_is_object(json));
    *ret = (struct insight_event){
        .number = ctl_number(reading, json, "number"),
        .wall_ms = ctl_number(reading, json, "at_ms"),
        .kind = (enum insight_event_kind)find_word(kind, events, EVENT_WORD_COUNT,
                                                   EVENT_WORD_SERVICE),
        .node = ctl_text(reading, json, "node"),
        .text = ctl_text(reading, json, "text"),
        .reason = ctl_text(reading, json, "reason"),
    };
}

void ctl_read_answer(struct ctl_reading *reading, const json_t *json, struct ctl_answer *ret)
{
    const json_t *list = json_object_get(json, "answer");
    size_t count = json_array_size(list);
    struct str *lines = ARENA_ARRAY(reading->arena, count, struct str);
    ctl_expect(reading, json_is_object(json) && (!list || json_is_array(list)));
    for (size_t i = 0; i < count; i++) {
        const json_t *line = json_array_get(list, i);
        ctl_expect(reading, json_is_string(line));
        lines[i] = arena_str(reading->arena,
                             (struct str){json_string_value(line), json_string_length(line)});
    }
    *ret = (struct ctl_answer){
        .question = ctl_text(reading, json, "question"),
        .lines = lines,
        .line_count = count,
        .fix = ctl_text(reading, json, "fix"),
    };
}

static void read_amounts(struct ctl_reading *reading, json_t *json, struct gcs_wish *wish)
{
    struct ray_quantity *amounts = ARENA_ARRAY(reading->arena, json_object_size(json),
                                               struct ray_quantity);
    ctl_expect(reading, json_is_object(json));
    for (void *at = json_object_iter(json); at; at = json_object_iter_next(json, at)) {
        const json_t *value = json_object_iter_value(at);
        double amount = json_number_value(value);
        struct str name = {json_object_iter_key(at), json_object_iter_key_len(at)};
        ctl_expect(reading, json_is_number(value) && amount >= 0 && name.len > 0);
        amounts[wish->amount_count++] = (struct ray_quantity){
            .name = arena_str(reading->arena, name), .amount = amount};
    }
    wish->amounts = amounts;
}

void ctl_read_wishes(struct ctl_reading *reading, json_t *json, struct ctl_request *request)
{
    size_t count = json_array_size(json);
    struct gcs_wish *wishes = ARENA_ARRAY(reading->arena, count, struct gcs_wish);
    ctl_expect(reading, !json || json_is_array(json));
    for (size_t i = 0; i < count; i++) {
        json_t *wish = json_array_get(json, i);
        read_amounts(reading, json_object_get(wish, "amounts"), &wishes[i]);
        wishes[i].count = ctl_number(reading, wish, "count");
        ctl_expect(reading, wishes[i].count > 0);
    }
    request->wishes = wishes;
    request->wish_count = count;
}

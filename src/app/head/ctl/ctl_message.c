/* ctl_message.c: explanations and resource requests as JSON, in both directions. */
#include "app/head/ctl/ctl_internal.h"

/* One text of a list, with bytes that are not UTF-8 made visible. */
static void ctl_message_add_text(json_t *list, struct str text)
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
        ctl_message_add_text(lines, answer->lines[i]);
    }
    json_put_text(json, "question", answer->question);
    json_object_set_new(json, "answer", lines);
    json_put_text(json, "fix", answer->fix);
    return json;
}

json_t *ctl_bundles_json(const struct ctl_request *request)
{
    json_t *list = json_array();
    for (size_t i = 0; i < request->bundle_count; i++) {
        const struct gcs_bundle *bundle = &request->bundles[i];
        json_t *amounts = json_object();
        for (size_t j = 0; j < bundle->amount_count; j++) {
            const struct ray_quantity *amount = &bundle->amounts[j];
            json_object_setn_new(amounts, amount->name.ptr, amount->name.len,
                                 json_real(amount->amount));
        }
        json_t *json = json_object();
        json_object_set_new(json, "amounts", amounts);
        json_put_number(json, "count", bundle->count);
        json_put_number(json, "leaving", bundle->leaving);
        json_array_append_new(list, json);
    }
    return list;
}

/* ---- reading ---- */

struct str ctl_text(struct ctl_reading *reading, const json_t *json, const char *name)
{
    const json_t *value = json_object_get(json, name);
    ctl_expect(reading, !value || json_is_string(value));
    return json_take_text(json, name, reading->arena);
}

int64_t ctl_number(struct ctl_reading *reading, const json_t *json, const char *name)
{
    const json_t *value = json_object_get(json, name);
    int64_t number = json_integer_value(value);
    ctl_expect(reading, (!value || json_is_integer(value)) && number >= 0);
    return number;
}

bool ctl_flag(struct ctl_reading *reading, const json_t *json, const char *name)
{
    const json_t *value = json_object_get(json, name);
    ctl_expect(reading, !value || json_is_boolean(value));
    return json_is_true(value);
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

static void ctl_message_read_amounts(struct ctl_reading *reading, json_t *json,
                                     struct gcs_bundle *bundle)
{
    struct ray_quantity *amounts = ARENA_ARRAY(reading->arena, json_object_size(json),
                                               struct ray_quantity);
    ctl_expect(reading, json_is_object(json));
    for (void *at = json_object_iter(json); at; at = json_object_iter_next(json, at)) {
        const json_t *value = json_object_iter_value(at);
        double amount = json_number_value(value);
        struct str name = {json_object_iter_key(at), json_object_iter_key_len(at)};
        ctl_expect(reading, json_is_number(value) && amount >= 0 && name.len > 0);
        amounts[bundle->amount_count++] = (struct ray_quantity){
            .name = arena_str(reading->arena, name), .amount = amount};
    }
    bundle->amounts = amounts;
}

void ctl_read_bundles(struct ctl_reading *reading, json_t *json, struct ctl_request *request)
{
    size_t count = json_array_size(json);
    struct gcs_bundle *bundles = ARENA_ARRAY(reading->arena, count, struct gcs_bundle);
    ctl_expect(reading, !json || json_is_array(json));
    for (size_t i = 0; i < count; i++) {
        json_t *bundle = json_array_get(json, i);
        ctl_message_read_amounts(reading, json_object_get(bundle, "amounts"), &bundles[i]);
        bundles[i].count = ctl_number(reading, bundle, "count");
        bundles[i].leaving = ctl_number(reading, bundle, "leaving");
        /* Only a training job knows what leaves; Ray would get an empty request. */
        bool is_leaving = bundles[i].leaving > 0 && str_is(request->what, "train-demand");
        ctl_expect(reading, bundles[i].count > 0 || is_leaving);
    }
    request->bundles = bundles;
    request->bundle_count = count;
}

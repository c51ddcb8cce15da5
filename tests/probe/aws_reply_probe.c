/*
 * aws_reply_probe.c: reads each record, a reply of AWS in JSON, and prints what it says; compared
 * with botocore's parsers. The record's op "time" reads a listing many times and prints the
 * processor time of one reading and the memory that stays in use.
 */
#include "json_record.h"
#include "provider/aws/machines/instance_reply.h"
#include "provider/aws/wire/aws_error.h"
#include "provider/aws/wire/sts_reply.h"
#include "provider/aws/wire/xml_tree.h"
#include "records.h"

#include <malloc.h>
#include <stdio.h>
#include <time.h>

enum { RECORD_BYTES_MAX = 64 * 1024 * 1024, REPEATS = 20 };

static void add_text(json_t *out, const char *name, struct str text)
{
    json_object_set_new(out, name, text_json(text));
}

static json_t *show_failure(const struct err *err)
{
    json_t *out = json_object();
    add_text(out, "error", str_from(err->text));
    add_text(out, "kind", str_from(err_kind_name(err->kind)));
    return out;
}

/* ---- machines ---- */

static bool read_list(enum instance_reply_kind kind, struct str body, size_t piece,
                      const char *const *prefixes, struct arena *arena, struct instance_list *ret,
                      struct err *err)
{
    struct instance_reply *reply = instance_reply_new(kind, prefixes, arena);
    bool ok = true;
    for (size_t at = 0; ok && at < body.len; at += piece) {
        ok = instance_reply_feed(reply, str_sub(body, at, at + piece), err);
    }
    ok = ok && instance_reply_end(reply, ret, err);
    instance_reply_free(reply);
    return ok;
}

static json_t *show_record(const struct instance_record *record)
{
    static const char *const states[] = {"other",      "pending",  "running", "shutting-down",
                                         "terminated", "stopping", "stopped"};
    static const char *const markets[] = {"", "spot", "capacity-block"};
    json_t *out = json_object();
    json_t *tags = json_array();
    add_text(out, "id", record->id);
    add_text(out, "type", record->type);
    add_text(out, "zone", record->zone);
    add_text(out, "image", record->image);
    add_text(out, "subnet", record->subnet);
    add_text(out, "private_ip", record->private_ip);
    add_text(out, "public_ip", record->public_ip);
    add_text(out, "reason", record->reason);
    add_text(out, "reason_text", record->reason_text);
    add_text(out, "client_token", record->client_token);
    add_text(out, "state", str_from(states[record->state]));
    add_text(out, "market", str_from(markets[record->market]));
    json_object_set_new(out, "launched_at", json_integer(record->launched_at));
    for (size_t i = 0; i < record->tag_count; i++) {
        json_t *pair = json_array();
        json_array_append_new(pair, text_json(record->tags[i].key));
        json_array_append_new(pair, text_json(record->tags[i].value));
        json_array_append_new(tags, pair);
    }
    json_object_set_new(out, "tags", tags);
    return out;
}

static json_t *answer_list(const json_t *record, enum instance_reply_kind kind, struct arena *arena)
{
    static const char *const ours[] = {"ray-", "shoal-", "Name", NULL};
    struct instance_list list;
    struct err err;
    json_int_t piece = json_integer_value(json_object_get(record, "piece"));
    bool is_all = !json_is_true(json_object_get(record, "our_tags"));
    if (!read_list(kind, record_text(record, "body"), piece > 0 ? (size_t)piece : SIZE_MAX / 2,
                   is_all ? NULL : ours, arena, &list, &err)) {
        return show_failure(&err);
    }
    json_t *out = json_object();
    json_t *items = json_array();
    for (size_t i = 0; i < list.count; i++) {
        json_array_append_new(items, show_record(&list.items[i]));
    }
    json_object_set_new(out, "items", items);
    add_text(out, "next_token", list.next_token);
    return out;
}

/* ---- the rest ---- */

static json_t *answer_error(const json_t *record, struct arena *arena)
{
    int status = (int)json_integer_value(json_object_get(record, "status"));
    struct aws_error error = aws_error_read(status, record_text(record, "header"),
                                            record_text(record, "body"), arena);
    json_t *out = json_object();
    add_text(out, "code", error.code);
    add_text(out, "message", error.message);
    add_text(out, "request_id", error.request_id);
    add_text(out, "class", str_from(aws_error_class_name(error.class)));
    json_object_set_new(out, "remedy", json_integer(error.remedy));
    json_object_set_new(out, "outcome", json_integer(error.outcome));
    return out;
}

static json_t *show_tree(const struct xml_element *element)
{
    json_t *out = json_array();
    json_array_append_new(out, text_json(element->name));
    json_array_append_new(out, text_json(element->text));
    for (const struct xml_element *child = element->first; child; child = child->next) {
        json_array_append_new(out, show_tree(child));
    }
    return out;
}

static json_t *answer_tree(const json_t *record, struct arena *arena)
{
    const struct xml_element *root;
    struct err err;
    bool ok = xml_tree_parse(record_text(record, "body"), arena, &root, &err);
    return ok ? show_tree(root) : show_failure(&err);
}

static json_t *answer_keys(const json_t *record, struct arena *arena)
{
    struct aws_credentials keys;
    struct err err;
    if (!sts_credentials_read(record_text(record, "body"), arena, &keys, &err)) {
        return show_failure(&err);
    }
    json_t *out = json_object();
    add_text(out, "access", keys.access_key);
    add_text(out, "secret", keys.secret_key);
    add_text(out, "token", keys.session_token);
    json_object_set_new(out, "expires_at", json_integer(keys.expires_at));
    return out;
}

static json_t *answer_identity(const json_t *record, struct arena *arena)
{
    struct sts_identity identity;
    struct err err;
    if (!sts_identity_read(record_text(record, "body"), arena, &identity, &err)) {
        return show_failure(&err);
    }
    json_t *out = json_object();
    add_text(out, "account", identity.account);
    add_text(out, "arn", identity.arn);
    add_text(out, "user_id", identity.user_id);
    return out;
}

/* ---- time ---- */

static double processor_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static json_t *answer_time(const json_t *record)
{
    static const char *const ours[] = {"ray-", "shoal-", "Name", NULL};
    struct str body = record_text(record, "body");
    double best = 1e9;
    size_t live = 0;
    size_t count = 0;
    for (int i = 0; i < REPEATS; i++) {
        struct arena arena;
        struct instance_list list;
        struct err err;
        size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
        double start = processor_s();
        arena_init(&arena);
        if (!read_list(INSTANCES_LISTED, body, 16384, ours, &arena, &list, &err)) {
            return show_failure(&err);
        }
        double taken = processor_s() - start;
        best = taken < best ? taken : best;
        live = mallinfo2().uordblks + mallinfo2().hblkhd - before;
        count = list.count;
        arena_clear(&arena);
    }
    return json_pack("{s:f, s:I, s:I}", "seconds", best, "live_bytes", (json_int_t)live, "count",
                     (json_int_t)count);
}

static json_t *answer(const json_t *record, struct arena *arena)
{
    struct str op = record_text(record, "op");
    return str_is(op, "listed")     ? answer_list(record, INSTANCES_LISTED, arena)
           : str_is(op, "launched") ? answer_list(record, INSTANCES_LAUNCHED, arena)
           : str_is(op, "changed")  ? answer_list(record, INSTANCES_CHANGED, arena)
           : str_is(op, "error")    ? answer_error(record, arena)
           : str_is(op, "keys")     ? answer_keys(record, arena)
           : str_is(op, "identity") ? answer_identity(record, arena)
           : str_is(op, "time")     ? answer_time(record)
                                    : answer_tree(record, arena);
}

int main(void)
{
    answer_records(answer, RECORD_BYTES_MAX);
    return 0;
}

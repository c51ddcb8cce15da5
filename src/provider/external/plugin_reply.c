/* plugin_reply.c: checks every field of a reply. */
#include "provider/external/plugin_reply.h"

#include "io/json_line.h"

#include <stdio.h>

enum { NAME_BYTES_MAX = 60, MESSAGE_BYTES_MAX = 300 };

/* ---- fields ---- */

static struct str plugin_reply_str(const json_t *value)
{
    return (struct str){json_string_value(value), json_string_length(value)};
}

static bool wrong_field(const char *name, const char *wanted, struct err *err)
{
    return err_set(err, ERR_PROTOCOL, "\"%s\" must be %s", name, wanted);
}

/* A missing field is empty. */
static bool read_text(const json_t *object, const char *name, struct arena *arena,
                      struct str *ret_text, struct err *err)
{
    const json_t *value = json_object_get(object, name);
    if (value && !json_is_string(value)) {
        return wrong_field(name, "a string", err);
    }
    *ret_text = arena_str(arena, plugin_reply_str(value));
    return true;
}

static bool read_number(const json_t *object, const char *name, int64_t least, int64_t most,
                        int64_t *ret_number, struct err *err)
{
    const json_t *value = json_object_get(object, name);
    int64_t number = json_integer_value(value);
    if (!value) {
        return true;
    }
    if (!json_is_integer(value) || number < least || number > most) {
        return err_set(err, ERR_PROTOCOL, "\"%s\" must be an integer between %lld and %lld", name,
                       (long long)least, (long long)most);
    }
    *ret_number = number;
    return true;
}

void plugin_make_visible(char *text)
{
    for (; *text; text++) {
        *text = (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text;
    }
}

/* ---- the line ---- */

static void read_error(const json_t *body, struct plugin_reply *reply)
{
    static const struct {
        const char *name;
        enum outcome outcome;
        enum err_kind kind;
    } errors[] = {
        {"throttled", OUTCOME_THROTTLED, ERR_THROTTLED},
        {"capacity", OUTCOME_CAPACITY, ERR_CAPACITY},
        {"quota", OUTCOME_QUOTA, ERR_QUOTA},
        {"denied", OUTCOME_DENIED, ERR_AUTH},
        {"invalid", OUTCOME_INVALID, ERR_CONFIG},
        {"not_found", OUTCOME_NOT_FOUND, ERR_NOT_FOUND},
    };
    struct str name = plugin_reply_str(json_object_get(body, "error"));
    struct str message = plugin_reply_str(json_object_get(body, "message"));
    enum err_kind kind = ERR_UNAVAILABLE;
    reply->outcome = OUTCOME_UNKNOWN;
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        if (str_is(name, errors[i].name)) {
            reply->outcome = errors[i].outcome;
            kind = errors[i].kind;
        }
    }
    message = message.len > 0 ? message : STR("no message");
    err_set(&reply->err, kind, "the plug-in reports: %.*s (%.*s)",
            STR_ARG(str_sub(message, 0, MESSAGE_BYTES_MAX)),
            STR_ARG(str_sub(name, 0, NAME_BYTES_MAX)));
    plugin_make_visible(reply->err.text);
}

bool plugin_reply_read(struct str line, struct plugin_reply *ret_reply, struct err *err)
{
    struct plugin_reply reply = {.outcome = OUTCOME_DONE};
    if (!json_line_read(line, "a JSON object", &reply.body, err)) {
        return err_set(err, ERR_PROTOCOL, "not a JSON object");
    }
    const json_t *id = json_object_get(reply.body, "id");
    const json_t *error = json_object_get(reply.body, "error");
    bool ok = json_is_integer(id) && json_integer_value(id) > 0
                  ? !error || json_is_string(error) || wrong_field("error", "a string", err)
                  : wrong_field("id", "the id of a request", err);
    if (!ok) {
        json_decref(reply.body);
        return false;
    }
    reply.id = (uint64_t)json_integer_value(id);
    if (error) {
        read_error(reply.body, &reply);
    }
    *ret_reply = reply;
    return true;
}

/* ---- hello ---- */

static bool read_abilities(const json_t *body, struct plugin_hello *hello, struct err *err)
{
    struct {
        const char *name;
        bool *flag;
    } abilities[] = {
        {"tokens", &hello->has_tokens},
        {"atomic_swap", &hello->has_atomic_swap},
        {"tags", &hello->has_tags},
        {"stop", &hello->can_stop},
    };
    const json_t *list = json_object_get(body, "can");
    const json_t *item;
    size_t i;
    if (list && !json_is_array(list)) {
        return wrong_field("can", "a list of strings", err);
    }
    json_array_foreach(list, i, item)
    {
        if (!json_is_string(item)) {
            return wrong_field("can", "a list of strings", err);
        }
        for (size_t k = 0; k < ARRAY_LEN(abilities); k++) {
            if (str_is(plugin_reply_str(item), abilities[k].name)) {
                *abilities[k].flag = true;
            }
        }
    }
    return true;
}

static bool read_zones(const json_t *body, struct arena *arena, struct plugin_hello *hello,
                       struct err *err)
{
    const json_t *list = json_object_get(body, "zones");
    const json_t *item;
    size_t i;
    if (list && (!json_is_array(list) || json_array_size(list) > PLUGIN_ZONES_MAX)) {
        return wrong_field("zones", "a list of at most 16 names", err);
    }
    json_array_foreach(list, i, item)
    {
        if (json_string_length(item) == 0) {
            return wrong_field("zones", "a list of at most 16 names", err);
        }
        hello->zones[hello->zone_count++] = arena_str(arena, plugin_reply_str(item));
    }
    return true;
}

static bool read_notes(const json_t *body, struct arena *arena, struct plugin_hello *hello,
                       struct err *err)
{
    const json_t *list = json_object_get(body, "notes");
    const json_t *item;
    size_t i;
    if (list && (!json_is_array(list) || json_array_size(list) > PLUGIN_NOTES_MAX)) {
        return wrong_field("notes", "a list of at most 8 strings", err);
    }
    json_array_foreach(list, i, item)
    {
        struct str note = str_sub(plugin_reply_str(item), 0, MESSAGE_BYTES_MAX);
        if (note.len == 0) {
            return wrong_field("notes", "a list of at most 8 strings", err);
        }
        char text[MESSAGE_BYTES_MAX + 1];
        snprintf(text, sizeof(text), "%.*s", STR_ARG(note));
        plugin_make_visible(text);
        hello->notes[hello->note_count++] = arena_str(arena, str_from(text));
    }
    return true;
}

bool plugin_hello_read(const json_t *body, struct arena *arena, struct plugin_hello *ret_hello,
                       struct err *err)
{
    struct plugin_hello hello = {.parallel = 1};
    int64_t version = 0;
    if (!read_number(body, "version", 0, INT64_MAX, &version, err)) {
        return false;
    }
    if (version != PLUGIN_VERSION) {
        return err_set(err, ERR_PROTOCOL,
                       "it has version %lld of the protocol, and Shoal needs version %d",
                       (long long)version, PLUGIN_VERSION);
    }
    if (!read_text(body, "name", arena, &hello.name, err) || !read_abilities(body, &hello, err) ||
        !read_zones(body, arena, &hello, err) || !read_notes(body, arena, &hello, err) ||
        !read_number(body, "parallel", 1, PLUGIN_PARALLEL_MAX, &hello.parallel, err) ||
        !read_number(body, "list_delay_s", 0, PLUGIN_LIST_DELAY_MAX_S, &hello.list_delay_s, err)) {
        return false;
    }
    *ret_hello = hello;
    return true;
}

/* ---- instances ---- */

static bool read_tags(const json_t *object, struct arena *arena, struct machine *machine,
                      struct err *err)
{
    json_t *all = json_object_get(object, "tags");
    const char *key;
    json_t *value;
    if (all && !json_is_object(all)) {
        return wrong_field("tags", "a map of strings", err);
    }
    struct machine_tag *tags = ARENA_ARRAY(arena, json_object_size(all), struct machine_tag);
    json_object_foreach(all, key, value)
    {
        if (!json_is_string(value)) {
            return wrong_field("tags", "a map of strings", err);
        }
        tags[machine->tag_count++] = (struct machine_tag){
            arena_str(arena, str_from(key)), arena_str(arena, plugin_reply_str(value))};
    }
    machine->tags = tags;
    return true;
}

static bool read_state(const json_t *object, struct machine *machine, struct err *err)
{
    static const char *const names[MACHINE_STATE_COUNT] = {
        [MACHINE_PENDING] = "pending",   [MACHINE_RUNNING] = "running",
        [MACHINE_STOPPING] = "stopping", [MACHINE_STOPPED] = "stopped",
        [MACHINE_ENDING] = "ending",     [MACHINE_GONE] = "gone"};
    struct str name = plugin_reply_str(json_object_get(object, "state"));
    for (size_t i = 0; i < MACHINE_STATE_COUNT; i++) {
        if (str_is(name, names[i])) {
            machine->state = (enum machine_state)i;
            return true;
        }
    }
    return wrong_field("state", "pending, running, stopping, stopped, ending or gone", err);
}

static bool read_machine(const json_t *object, struct arena *arena, struct machine *machine,
                         struct err *err)
{
    struct str market;
    if (!json_is_object(object)) {
        return wrong_field("machines", "a list of objects", err);
    }
    if (!read_text(object, "id", arena, &machine->id, err) ||
        !read_text(object, "type", arena, &machine->type, err) ||
        !read_text(object, "zone", arena, &machine->zone, err) ||
        !read_text(object, "private_ip", arena, &machine->private_ip, err) ||
        !read_text(object, "public_ip", arena, &machine->public_ip, err) ||
        !read_text(object, "why", arena, &machine->why, err) ||
        !read_text(object, "token", arena, &machine->token, err) ||
        !read_text(object, "market", arena, &market, err) ||
        !read_number(object, "launched_at", 0, INT64_MAX, &machine->launched_at, err) ||
        !read_state(object, machine, err) || !read_tags(object, arena, machine, err)) {
        return false;
    }
    machine->market = str_is(market, "spot") ? MARKET_SPOT : MARKET_ON_DEMAND;
    return machine->id.len > 0 || wrong_field("id", "the id of an instance", err);
}

bool plugin_machines_read(const json_t *body, struct arena *arena, struct machine **ret_machines,
                          size_t *ret_count, struct err *err)
{
    const json_t *list = json_object_get(body, "machines");
    size_t count = json_array_size(list);
    if (!json_is_array(list)) {
        return wrong_field("machines", "a list of objects", err);
    }
    struct machine *machines = ARENA_ARRAY(arena, count, struct machine);
    for (size_t i = 0; i < count; i++) {
        if (!read_machine(json_array_get(list, i), arena, &machines[i], err)) {
            return false;
        }
    }
    *ret_machines = machines;
    *ret_count = count;
    return true;
}

/* ---- swap ---- */

bool plugin_swap_read(const json_t *body, struct str *ret_value, int64_t *ret_now, struct err *err)
{
    const json_t *value = json_object_get(body, "value");
    int64_t now = 0;
    if (!json_is_string(value)) {
        return wrong_field("value", "a string", err);
    }
    if (!read_number(body, "now", 1, INT64_MAX / 1000, &now, err)) {
        return false;
    }
    if (now == 0) {
        return wrong_field("now", "the time in seconds since 1970", err);
    }
    *ret_value = plugin_reply_str(value);
    *ret_now = now;
    return true;
}

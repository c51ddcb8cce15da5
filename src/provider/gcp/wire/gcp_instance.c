/* gcp_instance.c: strict about what identifies an instance, lenient about the rest. */
#include "provider/gcp/wire/gcp_instance.h"

#include "base/buf.h"
#include "io/json_line.h"
#include "provider/aws_time.h"
#include "provider/host_record.h"
#include "provider/machine_tags.h"

enum { NAME_MAX_BYTES = 63, TAGS_BYTES_MAX = 200 * 1024 };

/* ---- names ---- */

struct str gcp_last_word(struct str url)
{
    for (size_t i = url.len; i > 0; i--) {
        if (url.ptr[i - 1] == '/') {
            return str_sub(url, i, url.len);
        }
    }
    return url;
}

struct str gcp_region_of(struct str zone)
{
    size_t end = zone.len;
    while (end > 0 && zone.ptr[end - 1] != '-') {
        end--;
    }
    return str_sub(zone, 0, end > 0 ? end - 1 : 0);
}

static bool is_small(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

bool gcp_is_name(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!is_small(text.ptr[i])) {
            return false;
        }
    }
    return text.len > 0 && text.len <= NAME_MAX_BYTES && text.ptr[0] >= 'a';
}

bool gcp_is_label(struct str text, bool is_key)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!is_small(text.ptr[i]) && text.ptr[i] != '_') {
            return false;
        }
    }
    return text.len <= NAME_MAX_BYTES && (!is_key || (text.len > 0 && text.ptr[0] >= 'a'));
}

/* ---- listings ---- */

static void gcp_page_miss(json_t *missed, struct str place)
{
    for (size_t i = 0; i < json_array_size(missed); i++) {
        if (str_is(place, json_string_value(json_array_get(missed, i)))) {
            return;
        }
    }
    json_array_append_new(missed, json_stringn(place.ptr ? place.ptr : "", place.len));
}

/* Adds the places that an entry says it lacks; `place` is its own. */
static void gcp_page_check(const json_t *entry, struct str place, json_t *missed)
{
    const json_t *warning = json_object_get(entry, "warning");
    const json_t *unreachables = json_object_get(entry, "unreachables");
    for (size_t i = 0; i < json_array_size(unreachables); i++) {
        const char *url = json_string_value(json_array_get(unreachables, i));
        gcp_page_miss(missed, gcp_last_word(str_from(url ? url : "")));
    }
    if (warning && !str_is(host_record_text(warning, "code"), "NO_RESULTS_ON_PAGE") &&
        (place.len > 0 || json_array_size(unreachables) == 0)) {
        gcp_page_miss(missed, gcp_last_word(place));
    }
}

static bool gcp_page_add(json_t *items, json_t *list)
{
    if (list && !json_is_array(list)) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);
        if (!json_is_object(item)) {
            return false;
        }
        json_array_append(items, item);
    }
    return true;
}

bool gcp_page_read_some(const json_t *body, const char *kind, json_t *items, json_t *missed,
                        struct str *ret_next, struct err *err)
{
    json_t *all = json_object_get(body, "items");
    const char *place;
    json_t *entry;
    bool is_read = json_is_object(body) &&
                   (!all || (kind ? json_is_object(all) : json_is_array(all)));
    gcp_page_check(body, STR(""), missed);
    if (!kind) {
        is_read = is_read && gcp_page_add(items, all);
    } else if (is_read) {
        json_object_foreach(all, place, entry)
        {
            is_read = is_read && json_is_object(entry);
            gcp_page_check(entry, str_from(place), missed);
            is_read = is_read && gcp_page_add(items, json_object_get(entry, kind));
        }
    }
    if (!is_read) {
        return err_set(err, ERR_PROTOCOL, "Google's listing cannot be read");
    }
    *ret_next = host_record_text(body, "nextPageToken");
    return true;
}

bool gcp_page_read(const json_t *body, const char *kind, json_t *items, struct str *ret_next,
                   struct err *err)
{
    json_t *missed = json_array();
    struct str next;
    bool ok = gcp_page_read_some(body, kind, items, missed, &next, err);
    if (ok && json_array_size(missed) > 0) {
        ok = err_set(err, ERR_UNAVAILABLE,
                     "Google's listing is not complete: a zone cannot be reached at the moment");
    }
    json_decref(missed);
    if (ok) {
        *ret_next = next;
    }
    return ok;
}

/* ---- tags ---- */

static size_t gcp_tags_find(const json_t *items, const char *key)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        if (str_is(host_record_text(json_array_get(items, i), "key"), key)) {
            return i;
        }
    }
    return SIZE_MAX;
}

struct str gcp_metadata_get(const json_t *items, const char *key)
{
    size_t at = gcp_tags_find(items, key);
    return at == SIZE_MAX ? STR("") : host_record_text(json_array_get(items, at), "value");
}

void gcp_metadata_set(json_t *items, const char *key, struct str value)
{
    size_t at = gcp_tags_find(items, key);
    json_t *item = json_object();
    json_put_text(item, "key", str_from(key));
    json_put_text(item, "value", value);
    if (at == SIZE_MAX) {
        json_array_append_new(items, item);
    } else {
        json_array_set_new(items, at, item);
    }
}

static json_t *gcp_tags_of(const json_t *items)
{
    struct str text = gcp_metadata_get(items, GCP_TAGS_KEY);
    json_t *tags = text.len > 0 ? json_loadb(text.ptr, text.len, 0, NULL) : NULL;
    if (!json_is_object(tags)) {
        json_decref(tags);
        return json_object();
    }
    return tags;
}

bool gcp_tags_add(json_t *labels, json_t *items, const struct machine_tag *tags, size_t count)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    AUTO_BUF struct buf text;
    json_t *rest = gcp_tags_of(items);
    bool is_changed = false;
    for (size_t i = 0; i < count; i++) {
        const char *key = arena_str(&arena, tags[i].key).ptr;
        json_t *value = json_stringn(tags[i].value.ptr ? tags[i].value.ptr : "", tags[i].value.len);
        if (gcp_is_label(tags[i].key, true) && gcp_is_label(tags[i].value, false)) {
            is_changed |= json_object_del(rest, key) == 0;
            json_object_set_new(labels, key, value);
        } else {
            json_object_del(labels, key);
            json_object_set_new(rest, key, value);
            is_changed = true;
        }
    }
    buf_init(&text, TAGS_BYTES_MAX);
    if (is_changed && json_add(rest, &text)) {
        gcp_metadata_set(items, GCP_TAGS_KEY, buf_str(&text));
    }
    json_decref(rest);
    return is_changed;
}

static void gcp_instance_tags(const json_t *item, struct arena *arena, struct machine *machine)
{
    json_t *labels = json_object_get(item, "labels");
    json_t *rest = gcp_tags_of(json_object_get(json_object_get(item, "metadata"), "items"));
    size_t most = json_object_size(labels) + json_object_size(rest);
    struct machine_tag *tags = ARENA_ARRAY(arena, most, struct machine_tag);
    const char *key;
    json_t *value;
    json_object_foreach(labels, key, value)
    {
        if (!json_object_get(rest, key)) {
            tags[machine->tag_count++] = (struct machine_tag){str_from(key),
                                                              host_record_text(labels, key)};
        }
    }
    json_object_foreach(rest, key, value)
    {
        tags[machine->tag_count++] = (struct machine_tag){
            arena_str(arena, str_from(key)), arena_str(arena, host_record_text(rest, key))};
    }
    machine->tags = tags;
    json_decref(rest);
}

/* ---- instances ---- */

static const struct {
    const char *status;
    enum machine_state state;
} states[] = {
    {"PENDING", MACHINE_PENDING},    {"PROVISIONING", MACHINE_PENDING},
    {"STAGING", MACHINE_PENDING},    {"RUNNING", MACHINE_RUNNING},
    {"REPAIRING", MACHINE_RUNNING},  {"PENDING_STOP", MACHINE_STOPPING},
    {"STOPPING", MACHINE_STOPPING},  {"SUSPENDING", MACHINE_STOPPING},
    {"TERMINATED", MACHINE_STOPPED}, {"STOPPED", MACHINE_STOPPED},
    {"SUSPENDED", MACHINE_STOPPED},  {"DEPROVISIONING", MACHINE_ENDING},
};

static bool gcp_instance_state(struct str status, enum machine_state *ret_state)
{
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        if (str_is(status, states[i].status)) {
            *ret_state = states[i].state;
            return true;
        }
    }
    return false;
}

int64_t gcp_moment(const json_t *item, const char *key)
{
    int64_t moment;
    return aws_time_parse(host_record_text(item, key), &moment) ? moment : 0;
}

static int64_t gcp_instance_time(const json_t *item)
{
    int64_t moment = gcp_moment(item, "lastStartTimestamp");
    return moment > 0 ? moment : gcp_moment(item, "creationTimestamp");
}

struct machine_tag gcp_rests_tag(const struct machine *machine, struct arena *arena)
{
    return (struct machine_tag){STR(GCP_RESTS_LABEL),
                                arena_printf(arena, "%lld", (long long)machine->launched_at)};
}

/* A worker that shut itself down, or that its user stopped. One that is being started may still
 * be listed as stopped. */
static bool gcp_instance_is_left(const json_t *item, const struct machine *machine,
                                 struct arena *arena)
{
    struct machine_tag rests = gcp_rests_tag(machine, arena);
    int64_t stopped_at = gcp_moment(item, "lastStopTimestamp");
    return machine->state == MACHINE_STOPPED &&
           str_is(machine_tag_value(machine, "ray-node-type"), "worker") &&
           !str_eq(machine_tag_value(machine, GCP_RESTS_LABEL), rests.value) &&
           (stopped_at == 0 || stopped_at >= machine->launched_at);
}

bool gcp_instance_read(json_t *item, struct arena *arena, struct machine *ret_machine,
                       struct err *err)
{
    const json_t *nic = json_array_get(json_object_get(item, "networkInterfaces"), 0);
    const json_t *nat = json_array_get(json_object_get(nic, "accessConfigs"), 0);
    const json_t *scheduling = json_object_get(item, "scheduling");
    bool is_spot = str_is(host_record_text(scheduling, "provisioningModel"), "SPOT") ||
                   json_is_true(json_object_get(scheduling, "preemptible"));
    struct machine machine = {
        .id = host_record_text(item, "name"),
        .type = gcp_last_word(host_record_text(item, "machineType")),
        .zone = gcp_last_word(host_record_text(item, "zone")),
        .private_ip = host_record_text(nic, "networkIP"),
        .public_ip = host_record_text(nat, "natIP"),
        .why = host_record_text(item, "statusMessage"),
        .token = host_record_text(json_object_get(item, "labels"), GCP_TOKEN_LABEL),
        .launched_at = gcp_instance_time(item),
        .market = is_spot ? MARKET_SPOT : MARKET_ON_DEMAND,
    };
    if (!gcp_is_name(machine.id) || !gcp_is_name(machine.zone) ||
        !gcp_instance_state(host_record_text(item, "status"), &machine.state)) {
        return err_set(err, ERR_PROTOCOL,
                       "Google's listing has an instance without a name, a zone or a known status");
    }
    gcp_instance_tags(item, arena, &machine);
    machine.is_left = gcp_instance_is_left(item, &machine, arena);
    *ret_machine = machine;
    return true;
}

/* gcp_operation.c: requests, listings, and the memory of terminated instances. */
#include "provider/gcp/gcp_operation.h"

#include "base/buf.h"
#include "base/encode.h"
#include "io/xalloc.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "provider/host_record.h"

enum {
    ENDED_KEPT_MS = 3600 * 1000,
    ENDING_MS = 120 * 1000, /* until an accepted delete is visible */
    PAGE_MAX = 500,
    THINGS_MAX = 32,
    SEEN_MAX = 64,
    FILTER_BYTES_MAX = 16 * 1024,
};

/* Otherwise Google lists nothing while one zone of the world cannot be reached. */
#define INSTANCES "aggregated/instances?returnPartialSuccess=true"

/* ---- lifetime ---- */

struct gcp_operation *gcp_begin(struct gcp_provider *provider, void *context)
{
    struct gcp_operation *operation = HEAP_NEW(struct gcp_operation);
    operation->provider = provider;
    operation->context = context;
    operation->next = provider->operations;
    if (provider->operations) {
        provider->operations->before = operation;
    }
    provider->operations = operation;
    arena_init(&operation->arena);
    return operation;
}

void gcp_end(struct gcp_operation *operation)
{
    if (operation->http) {
        http_forget(operation->http);
    }
    tcp_probe_end(operation->port);
    loop_timer_free(operation->timer);
    json_decref(operation->items);
    json_decref(operation->record);
    json_decref(operation->draft);
    arena_clear(&operation->arena);
    *(operation->before ? &operation->before->next
                        : &operation->provider->operations) = operation->next;
    if (operation->next) {
        operation->next->before = operation->before;
    }
    free(operation);
}

bool gcp_is_fine(const struct gcp_operation *operation)
{
    return operation->answer.outcome == OUTCOME_DONE;
}

struct gcp_delay {
    struct gcp_operation *operation;
    gcp_step_fn *step;
};

static void gcp_operation_on_timer(void *context)
{
    const struct gcp_delay *delay = context;
    delay->step(delay->operation);
}

void gcp_later(struct gcp_operation *operation, int64_t delay_ms, gcp_step_fn *step)
{
    struct gcp_delay *delay = ARENA_NEW(&operation->arena, struct gcp_delay);
    *delay = (struct gcp_delay){operation, step};
    loop_timer_free(operation->timer);
    operation->timer = loop_timer_new(operation->provider->loop, gcp_operation_on_timer, delay);
    loop_timer_start(operation->timer, delay_ms);
}

/* ---- answers ---- */

void gcp_answer_done(struct gcp_operation *operation)
{
    operation->done(operation->context, &operation->answer);
    gcp_end(operation);
}

void gcp_answer_machines(struct gcp_operation *operation)
{
    operation->machines(operation->context, &operation->answer, operation->made_machines,
                        gcp_is_fine(operation) ? operation->made_count : 0);
    gcp_end(operation);
}

void gcp_answer_things(struct gcp_operation *operation)
{
    operation->resources(operation->context, &operation->answer, operation->things,
                         gcp_is_fine(operation) ? operation->thing_count : 0);
    gcp_end(operation);
}

void gcp_add_thing(struct gcp_operation *operation, const char *kind, struct str id,
                   const char *note, bool is_gone)
{
    if (!operation->things) {
        operation->things = ARENA_ARRAY(&operation->arena, THINGS_MAX, struct provider_resource);
    }
    if (operation->thing_count < THINGS_MAX) {
        operation->things[operation->thing_count++] = (struct provider_resource){
            .kind = str_from(kind),
            .id = arena_str(&operation->arena, id),
            .note = str_from(note),
            .is_gone = is_gone};
    }
}

/* ---- small questions ---- */

bool gcp_is_ours(const struct gcp_provider *provider, const struct machine *machine)
{
    return provider->uid.len > 0 &&
           str_eq(machine_tag_value(machine, TAG_CLUSTER_UID), provider->uid);
}

bool gcp_has_lease(const struct gcp_provider *provider)
{
    return provider->epoch != 0 && gcp_client_has_lease(provider->client);
}

struct str gcp_encoded(struct gcp_operation *operation, struct str text)
{
    AUTO_BUF struct buf out;
    buf_init(&out, FILTER_BYTES_MAX);
    encode_uri(&out, text, "");
    return arena_str(&operation->arena, buf_str(&out));
}

json_t *gcp_param_json(const struct param *param)
{
    json_t *all;
    switch (param->kind) {
    case PARAM_TEXT:
        return json_stringn(param->text.ptr ? param->text.ptr : "", param->text.len);
    case PARAM_NUMBER:
        return json_integer(param->number);
    case PARAM_BOOL:
        return json_boolean(param->boolean);
    case PARAM_LIST:
        all = json_array();
        for (const struct param *item = param->first; item; item = item->next) {
            json_array_append_new(all, gcp_param_json(item));
        }
        return all;
    case PARAM_MAP:
        break;
    }
    all = json_object();
    for (const struct param *item = param->first; item; item = item->next) {
        json_object_set_new(all, item->name.ptr, gcp_param_json(item));
    }
    return all;
}

/* ---- requests ---- */

static void gcp_operation_on_reply(void *context, const struct gcp_reply *reply)
{
    struct gcp_operation *operation = context;
    operation->on_reply(operation, reply);
}

void gcp_ask(struct gcp_operation *operation, struct gcp_request request,
             void (*on_reply)(struct gcp_operation *operation, const struct gcp_reply *reply))
{
    operation->on_reply = on_reply;
    request.done = gcp_operation_on_reply;
    request.context = operation;
    gcp_call_start(operation->provider->client, &request);
}

void gcp_fail_with(struct gcp_operation *operation, const struct gcp_reply *reply)
{
    enum outcome outcome = reply->failure.outcome;
    bool is_other = outcome == OUTCOME_NOT_FOUND || outcome == OUTCOME_MISMATCH;
    operation->answer.outcome = is_other ? OUTCOME_INVALID : outcome;
    operation->answer.err = reply->err;
}

/* ---- listings ---- */

static void gcp_operation_ask_page(struct gcp_operation *operation, struct str page);

/* Zones of the file's region, and those where an instance of the cluster was seen. */
static bool gcp_operation_needs(const struct gcp_operation *operation, struct str zone)
{
    const struct gcp_provider *provider = operation->provider;
    bool is_needed = zone.len == 0 || operation->is_strict;
    for (size_t i = 0; i < provider->zone_count; i++) {
        is_needed = is_needed || str_eq(gcp_region_of(provider->zones[i]), gcp_region_of(zone));
    }
    for (size_t i = 0; i < provider->seen_count; i++) {
        is_needed = is_needed || str_eq(provider->seen_zones[i], zone);
    }
    return is_needed;
}

/* An outage of a zone where the cluster cannot have instances must not stop it. */
static bool gcp_operation_add_page(struct gcp_operation *operation, const json_t *body,
                                   struct str *ret_next)
{
    struct err *err = &operation->answer.err;
    json_t *missed = json_array();
    bool ok = gcp_page_read_some(body, operation->list_kind, operation->items, missed, ret_next,
                                 err);
    for (size_t i = 0; ok && i < json_array_size(missed); i++) {
        struct str zone = str_from(json_string_value(json_array_get(missed, i)));
        if (gcp_operation_needs(operation, zone)) {
            ok = err_set(err, ERR_UNAVAILABLE,
                         "Google's listing is not complete: zone %.*s cannot be reached at the "
                         "moment",
                         STR_ARG(str_sub(zone, 0, 80)));
        }
    }
    json_decref(missed);
    return ok;
}

static void gcp_operation_on_page(struct gcp_operation *operation, const struct gcp_reply *reply)
{
    struct str next = STR("");
    if (!reply->is_ok) {
        gcp_fail_with(operation, reply);
    } else if (!gcp_operation_add_page(operation, reply->body, &next)) {
        operation->answer.outcome = OUTCOME_UNKNOWN;
    }
    if (gcp_is_fine(operation) && next.len > 0) {
        gcp_operation_ask_page(operation, next);
        return;
    }
    operation->after_items(operation);
}

static void gcp_operation_ask_page(struct gcp_operation *operation, struct str page)
{
    struct gcp_request request = operation->list_request;
    bool has_query = str_find_char(request.path, '?') != SIZE_MAX;
    request.path = arena_printf(&operation->arena, "%.*s%cmaxResults=%d%s%.*s",
                                STR_ARG(request.path), has_query ? '&' : '?', PAGE_MAX,
                                page.len > 0 ? "&pageToken=" : "",
                                STR_ARG(gcp_encoded(operation, page)));
    gcp_ask(operation, request, gcp_operation_on_page);
}

void gcp_read_items(struct gcp_operation *operation, const char *name, struct str path,
                    const char *kind, gcp_step_fn *after)
{
    json_decref(operation->items);
    operation->items = json_array();
    operation->list_request = (struct gcp_request){.name = name, .path = path};
    operation->list_kind = kind;
    operation->after_items = after;
    gcp_operation_ask_page(operation, STR(""));
}

struct listed_question {
    const struct gcp_operation *operation;
    struct str id;
};

static bool listed_is_same(const void *context, size_t position)
{
    const struct listed_question *question = context;
    return str_eq(question->operation->listed[position].id, question->id);
}

struct machine *gcp_find_listed(const struct gcp_operation *operation, struct str id)
{
    struct listed_question question = {operation, id};
    size_t at = table_find(&operation->listed_ids, str_hash(id), listed_is_same, &question);
    return at == TABLE_NONE ? NULL : &operation->listed[at];
}

/* Two zones may have instances with the same name: the first counts. */
static void gcp_operation_index(struct gcp_operation *operation, size_t position)
{
    struct str id = operation->listed[position].id;
    if (!gcp_find_listed(operation, id)) {
        table_add(&operation->listed_ids, &operation->arena, str_hash(id), position);
    }
}

/* Terminated by this process: stopping, because it is being deleted; or deleted. One that runs
 * after a while was not deleted: its operation failed, and it must be terminated again. */
static void gcp_operation_add_ended(struct gcp_operation *operation, struct str token)
{
    struct gcp_provider *provider = operation->provider;
    int64_t now = loop_now_ms(provider->loop);
    gcp_ended_free(provider, now - ENDED_KEPT_MS);
    for (struct gcp_ended *ended = provider->ended; ended; ended = ended->next) {
        struct machine *machine = gcp_find_listed(operation, ended->machine.id);
        if (machine) {
            bool is_young = now < ended->at_ms + ENDING_MS;
            bool is_stopping = machine->state == MACHINE_STOPPING;
            machine->state = is_young || is_stopping ? MACHINE_ENDING : machine->state;
        } else if (token.len == 0 || str_eq(ended->machine.token, token)) {
            operation->listed[operation->listed_count] = ended->machine;
            operation->listed[operation->listed_count].state = MACHINE_GONE;
            gcp_operation_index(operation, operation->listed_count++);
        }
    }
}

static size_t gcp_operation_count_ended(const struct gcp_provider *provider)
{
    size_t count = 0;
    for (const struct gcp_ended *ended = provider->ended; ended; ended = ended->next) {
        count++;
    }
    return count;
}

/* For changes that need what a listing has, such as fingerprints: a change with an old one is
 * refused. */
static void gcp_operation_keep_seen(struct gcp_operation *operation)
{
    struct gcp_provider *provider = operation->provider;
    size_t count = json_array_size(operation->items);
    json_decref(provider->seen);
    provider->seen = count <= SEEN_MAX ? json_object() : NULL;
    for (size_t i = 0; i < count && provider->seen; i++) {
        json_t *item = json_array_get(operation->items, i);
        json_object_set(provider->seen, json_string_value(json_object_get(item, "name")), item);
    }
}

json_t *gcp_seen_items(const struct gcp_operation *operation)
{
    json_t *items = json_array();
    for (size_t i = 0; i < operation->id_count; i++) {
        json_t *item = json_object_get(operation->provider->seen, operation->ids[i].ptr);
        if (!item) {
            json_decref(items);
            return NULL;
        }
        json_array_append(items, item);
    }
    return items;
}

static void gcp_operation_keep_zones(struct gcp_operation *operation)
{
    struct gcp_provider *provider = operation->provider;
    for (size_t i = 0; i < operation->listed_count; i++) {
        struct str zone = operation->listed[i].zone;
        bool is_known = false;
        for (size_t k = 0; k < provider->seen_count; k++) {
            is_known = is_known || str_eq(provider->seen_zones[k], zone);
        }
        if (!is_known && provider->seen_count < GCP_ZONES_MAX) {
            provider->seen_zones[provider->seen_count++] = arena_str(&provider->arena, zone);
        }
    }
}

static void gcp_operation_on_instances(struct gcp_operation *operation)
{
    size_t count = json_array_size(operation->items);
    size_t most = count + gcp_operation_count_ended(operation->provider);
    operation->listed = ARENA_ARRAY(&operation->arena, most, struct machine);
    operation->listed_count = 0;
    operation->listed_ids = (struct table){0};
    for (size_t i = 0; i < count && gcp_is_fine(operation); i++) {
        struct machine *machine = &operation->listed[i];
        if (gcp_instance_read(json_array_get(operation->items, i), &operation->arena, machine,
                              &operation->answer.err)) {
            gcp_operation_index(operation, operation->listed_count++);
        } else {
            operation->answer.outcome = OUTCOME_UNKNOWN;
        }
    }
    if (gcp_is_fine(operation) && operation->is_own) {
        gcp_operation_keep_seen(operation);
        gcp_operation_keep_zones(operation);
    }
    if (gcp_is_fine(operation)) {
        gcp_operation_add_ended(
            operation, operation->draft ? host_record_text(operation->draft, "token") : STR(""));
    }
    operation->after_list(operation);
}

void gcp_read_instances(struct gcp_operation *operation, const char *label, struct str value,
                        gcp_step_fn *after)
{
    struct str filter = arena_printf(&operation->arena, "labels.%s=\"%.*s\"", label,
                                     STR_ARG(value));
    operation->after_list = after;
    gcp_read_items(operation, "instances.aggregatedList",
                   arena_printf(&operation->arena, INSTANCES "&filter=%.*s",
                                STR_ARG(gcp_encoded(operation, filter))),
                   "instances", gcp_operation_on_instances);
}

void gcp_use_instances(struct gcp_operation *operation, json_t *items, gcp_step_fn *after)
{
    json_decref(operation->items);
    operation->items = items;
    operation->after_list = after;
    operation->is_own = false;
    gcp_later(operation, 0, gcp_operation_on_instances);
}

void gcp_read_all(struct gcp_operation *operation, gcp_step_fn *after)
{
    operation->after_list = after;
    gcp_read_items(operation, "instances.aggregatedList", STR(INSTANCES), "instances",
                   gcp_operation_on_instances);
}

/* A name that is not a label is in the metadata, which has no filter: then a label has a hash. */
void gcp_read_by_name(struct gcp_operation *operation, gcp_step_fn *after)
{
    const struct gcp_provider *provider = operation->provider;
    struct str name = provider->cluster->name;
    if (gcp_is_label(name, false)) {
        gcp_read_instances(operation, "ray-cluster-name", name, after);
    } else {
        gcp_read_instances(operation, GCP_CLUSTER_LABEL, provider->part, after);
    }
}

/* A process that has not taken the lease learns the uid from the record. */
static void gcp_operation_on_uid(struct gcp_operation *operation)
{
    struct gcp_provider *provider = operation->provider;
    if (gcp_is_fine(operation) && operation->record) {
        gcp_adopt(&provider->base, host_record_text(operation->record, "uid"));
    }
    if (!gcp_is_fine(operation) || provider->uid.len == 0) {
        operation->after_list(operation);
        return;
    }
    operation->is_own = true;
    gcp_read_instances(operation, TAG_CLUSTER_UID, provider->uid, operation->after_list);
}

void gcp_read_own(struct gcp_operation *operation, gcp_step_fn *after)
{
    operation->after_list = after;
    operation->listed_count = 0;
    operation->listed_ids = (struct table){0};
    if (operation->provider->uid.len > 0) {
        gcp_operation_on_uid(operation);
    } else {
        gcp_read_record(operation, gcp_operation_on_uid);
    }
}

/* ---- terminated instances ---- */

static const struct gcp_ended *gcp_ended_find(const struct gcp_provider *provider, struct str id)
{
    const struct gcp_ended *ended = provider->ended;
    while (ended && !str_eq(ended->machine.id, id)) {
        ended = ended->next;
    }
    return ended;
}

void gcp_ended_add(struct gcp_provider *provider, const struct machine *machine)
{
    if (gcp_ended_find(provider, machine->id)) {
        return;
    }
    struct gcp_ended *ended = HEAP_NEW(struct gcp_ended);
    struct arena *arena = &ended->arena;
    arena_init(arena);
    struct machine_tag *tags = ARENA_ARRAY(arena, machine->tag_count, struct machine_tag);
    for (size_t i = 0; i < machine->tag_count; i++) {
        tags[i] = (struct machine_tag){arena_str(arena, machine->tags[i].key),
                                       arena_str(arena, machine->tags[i].value)};
    }
    ended->machine = (struct machine){.id = arena_str(arena, machine->id),
                                      .type = arena_str(arena, machine->type),
                                      .zone = arena_str(arena, machine->zone),
                                      .why = arena_str(arena, machine->why),
                                      .token = arena_str(arena, machine->token),
                                      .launched_at = machine->launched_at,
                                      .state = MACHINE_GONE,
                                      .market = machine->market,
                                      .tags = tags,
                                      .tag_count = machine->tag_count};
    ended->at_ms = loop_now_ms(provider->loop);
    ended->next = provider->ended;
    provider->ended = ended;
}

void gcp_ended_free(struct gcp_provider *provider, int64_t before_ms)
{
    struct gcp_ended **at = &provider->ended;
    while (*at) {
        struct gcp_ended *ended = *at;
        if (ended->at_ms >= before_ms) {
            at = &ended->next;
            continue;
        }
        *at = ended->next;
        arena_clear(&ended->arena);
        free(ended);
    }
}

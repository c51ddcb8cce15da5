/*
 * ray_view.c: applies replies and reports the changes.
 *
 * A reply is read completely before anything is reported, so a truncated one changes nothing. Data
 * that the core points to is freed only after its replacement was reported.
 */
#include "app/head/ray/ray_view.h"

#include "app/head/ray/ray_view_internal.h"
#include "base/encode.h"

#include <stdio.h>

/* Ray computes idle time again for every reply; smaller differences are noise. */
enum { IDLE_SLACK_MS = 250, SCRATCH_MOST = 256 * 1024 };

struct sighting {
    struct ray_node_summary glance;
    struct ray_view_node *node;
};

struct taking {
    struct ray_view *mirror;
    struct sighting *sightings;
    size_t count, capacity;
    struct ray_state state;
    int64_t asked_at_ms;
};

/* ---- lookup ---- */

struct node_question {
    const struct ray_view *mirror;
    const char *id;
};

struct seat_question {
    const struct ray_view *mirror;
    uint64_t instance;
};

static bool ray_view_has_id(const void *context, size_t position)
{
    const struct node_question *question = context;
    return memcmp(question->mirror->nodes[position]->id, question->id, RAY_ID_BYTES) == 0;
}

static bool has_instance(const void *context, size_t position)
{
    const struct seat_question *question = context;
    return question->mirror->seats[position].instance == question->instance;
}

/* Ids are random. */
static uint64_t id_hash(const void *id)
{
    uint64_t hash;
    memcpy(&hash, id, sizeof(hash));
    return hash;
}

struct ray_view_machine *ray_view_machine_find(const struct ray_view *mirror, uint64_t instance)
{
    struct seat_question question = {mirror, instance};
    size_t at = table_find(&mirror->by_instance, instance, has_instance, &question);
    return at != TABLE_NONE ? &mirror->seats[at] : NULL;
}

static struct ray_view_machine *seat_of(struct ray_view *mirror, uint64_t instance)
{
    struct ray_view_machine *seat = ray_view_machine_find(mirror, instance);
    if (seat) {
        return seat;
    }
    HEAP_ROOM(mirror->seats, mirror->seat_count, mirror->seat_capacity);
    seat = &mirror->seats[mirror->seat_count];
    *seat = (struct ray_view_machine){
        .instance = instance, .told_status = RAY_ABSENT, .told_idle_since = NOT_IDLE};
    table_add(&mirror->by_instance, &mirror->index_memory, instance, mirror->seat_count++);
    return seat;
}

static struct ray_view_node *node_of(struct ray_view *mirror, struct str id)
{
    struct node_question question = {mirror, id.ptr};
    size_t at = table_find(&mirror->by_id, id_hash(id.ptr), ray_view_has_id, &question);
    if (at != TABLE_NONE) {
        return mirror->nodes[at];
    }
    struct ray_view_node *node = HEAP_NEW(struct ray_view_node);
    memcpy(node->id, id.ptr, RAY_ID_BYTES);
    node->status = RAY_NODE_DEAD; /* until it is seen */
    node->idle_since = NOT_IDLE;
    node->order = ++mirror->orders;
    HEAP_ROOM(mirror->nodes, mirror->node_count, mirror->node_capacity);
    mirror->nodes[mirror->node_count] = node;
    table_add(&mirror->by_id, &mirror->index_memory, id_hash(node->id), mirror->node_count++);
    return node;
}

static void index_again(struct ray_view *mirror)
{
    arena_clear(&mirror->index_memory);
    arena_init(&mirror->index_memory);
    mirror->by_id = (struct table){0};
    mirror->by_instance = (struct table){0};
    for (size_t i = 0; i < mirror->node_count; i++) {
        table_add(&mirror->by_id, &mirror->index_memory, id_hash(mirror->nodes[i]->id), i);
    }
    for (size_t i = 0; i < mirror->seat_count; i++) {
        table_add(&mirror->by_instance, &mirror->index_memory, mirror->seats[i].instance, i);
    }
}

/* ---- opening and closing ---- */

struct ray_view *ray_view_open(struct names *names, const struct ray_view_hooks *hooks)
{
    struct ray_view *mirror = HEAP_NEW(struct ray_view);
    mirror->hooks = *hooks;
    ray_view_names_init(&mirror->names, names);
    ray_view_load_init(&mirror->load);
    arena_init(&mirror->index_memory);
    return mirror;
}

static void drop_nodes(struct ray_view *mirror)
{
    for (size_t i = 0; i < mirror->node_count; i++) {
        ray_view_node_free(mirror->nodes[i]);
    }
    mirror->node_count = 0;
    mirror->seat_count = 0;
    index_again(mirror);
}

void ray_view_close(struct ray_view *mirror)
{
    if (!mirror) {
        return;
    }
    drop_nodes(mirror);
    ray_view_load_clear(&mirror->load);
    ray_view_names_clear(&mirror->names);
    arena_clear(&mirror->index_memory);
    free(mirror->nodes);
    free(mirror->seats);
    free(mirror);
}

/* ---- reading; nothing is reported yet ---- */

static void note_glance(void *context, const struct ray_node_summary *glance)
{
    struct taking *taking = context;
    HEAP_ROOM(taking->sightings, taking->count, taking->capacity);
    taking->sightings[taking->count++] = (struct sighting){.glance = *glance};
}

/* Finds or adds the node of each sighting. A reply should name a node once; if it does not, the
 * first time counts, so that the same reply always means the same. */
static void ray_view_match(struct taking *taking)
{
    struct ray_view *mirror = taking->mirror;
    size_t kept = 0;
    mirror->updates++;
    for (size_t i = 0; i < taking->count; i++) {
        struct ray_view_node *node = node_of(mirror, taking->sightings[i].glance.id);
        if (node->noted_in != mirror->updates) {
            node->noted_in = mirror->updates;
            taking->sightings[kept] = taking->sightings[i];
            taking->sightings[kept++].node = node;
        }
    }
    taking->count = kept;
}

static bool read_nodes(struct taking *taking, bool is_store_asked, struct arena *scratch,
                       struct err *err)
{
    struct ray_view *mirror = taking->mirror;
    ray_view_match(taking);
    for (size_t i = 0; i < taking->count; i++) {
        const struct ray_node_summary *glance = &taking->sightings[i].glance;
        struct ray_view_node *node = taking->sightings[i].node;
        bool is_read = node->facts || glance->status == RAY_NODE_DEAD;
        if (is_read && node->mark == glance->mark && node->read_in == mirror->names.version) {
            continue;
        }
        if (!ray_view_node_read(node, glance, &mirror->names, is_store_asked, scratch, err)) {
            return false;
        }
        if (scratch->used_bytes > SCRATCH_MOST) {
            arena_clear(scratch);
        }
    }
    return true;
}

/* Discards what was read, including nodes seen for the first time. */
static void take_back(struct ray_view *mirror)
{
    size_t kept = 0;
    for (size_t i = 0; i < mirror->node_count; i++) {
        struct ray_view_node *node = mirror->nodes[i];
        free(node->fresh);
        node->fresh = NULL;
        if (node->seen_in == 0) {
            ray_view_node_free(node);
        } else {
            mirror->nodes[kept++] = node;
        }
    }
    mirror->node_count = kept;
    index_again(mirror);
}

/* ---- applying ---- */

static int64_t idle_since(const struct taking *taking, const struct sighting *sighting)
{
    const struct ray_view_node *node = sighting->node;
    int64_t idle_ms = sighting->glance.idle_ms > 0 ? sighting->glance.idle_ms : 0;
    int64_t since = idle_ms < taking->asked_at_ms ? taking->asked_at_ms - idle_ms : 0;
    if (sighting->glance.status != RAY_NODE_IDLE) {
        return NOT_IDLE;
    }
    bool is_near = node->idle_since != NOT_IDLE && since - node->idle_since <= IDLE_SLACK_MS &&
                   node->idle_since - since <= IDLE_SLACK_MS;
    return is_near ? node->idle_since : since;
}

static void note_head(struct ray_view *mirror, const struct ray_view_node *node)
{
    if (node->is_head && ray_view_is_alive(node)) {
        encode_hex_to(mirror->head, node->id, RAY_ID_BYTES);
    }
}

static void ray_view_take_over(struct taking *taking, const struct sighting *sighting)
{
    struct ray_view *mirror = taking->mirror;
    const struct ray_node_summary *glance = &sighting->glance;
    struct ray_view_node *node = sighting->node;
    bool was_alive = ray_view_is_alive(node);
    node->idle_since = idle_since(taking, sighting);
    node->status = (uint8_t)glance->status;
    node->mark = glance->mark;
    node->read_in = mirror->names.version;
    node->seen_in = mirror->replies;
    mirror->mark += was_alive != ray_view_is_alive(node);
    mirror->alive += ray_view_is_alive(node);
    note_head(mirror, node);
    if (node->instance == INSTANCE_NONE && glance->instance_id.len > 0) {
        node->instance = mirror->hooks.instance_of(mirror->hooks.context, glance->instance_id);
    }
}

static int rank(const struct ray_view_node *node)
{
    switch ((enum ray_node_status)node->status) {
    case RAY_NODE_DEAD:
        return 0;
    case RAY_NODE_DRAINING:
        return 1;
    case RAY_NODE_UNSPECIFIED:
    case RAY_NODE_RUNNING:
    case RAY_NODE_IDLE:
        break;
    }
    return 2;
}

/* If Ray was started several times on a machine, the latest living node is used. */
static bool ray_view_is_better(const struct ray_view_node *node, const struct ray_view_node *than)
{
    return !than || rank(node) > rank(than) ||
           (rank(node) == rank(than) && node->order > than->order);
}

static void ray_view_choose(struct ray_view *mirror)
{
    for (size_t i = 0; i < mirror->seat_count; i++) {
        mirror->seats[i].best = NULL;
    }
    for (size_t i = 0; i < mirror->node_count; i++) {
        struct ray_view_node *node = mirror->nodes[i];
        if (node->instance != INSTANCE_NONE && node->seen_in == mirror->replies) {
            struct ray_view_machine *seat = seat_of(mirror, node->instance);
            seat->best = ray_view_is_better(node, seat->best) ? node : seat->best;
        }
    }
}

/* ---- reporting ---- */

static enum ray_status status_of(const struct ray_view *mirror, const struct ray_view_machine *seat)
{
    if (!seat->best || mirror->hooks.is_hidden(mirror->hooks.context, seat->instance)) {
        return RAY_ABSENT;
    }
    int life = rank(seat->best);
    return life == 0 ? RAY_DEAD : life == 1 ? RAY_DRAINING : RAY_ALIVE;
}

static void tell_seat(struct ray_view *mirror, struct ray_view_machine *seat)
{
    struct ray_view_node *node = seat->best;
    struct ray_node news = {
        .instance = seat->instance, .status = status_of(mirror, seat), .idle_since = NOT_IDLE};
    bool has_facts = news.status == RAY_ALIVE || news.status == RAY_DRAINING;
    if (has_facts) {
        const struct ray_view_facts *facts = node->fresh ? node->fresh : node->facts;
        news.idle_since = node->idle_since;
        news.capacities = facts->capacities;
        news.capacity_count = facts->capacity_count;
        news.labels = (struct label_set){facts->labels, facts->label_count};
    }
    bool is_news = seat->is_owed || news.status != seat->told_status ||
                   news.idle_since != seat->told_idle_since ||
                   (has_facts && (node->fresh || node != seat->told));
    seat->is_owed = false;
    seat->told = has_facts ? node : NULL;
    seat->told_status = (uint8_t)news.status;
    seat->told_idle_since = news.idle_since;
    if (is_news) {
        mirror->hooks.node(mirror->hooks.context, &news);
    }
}

/* Frees data that was replaced and is not referenced any more. */
static void ray_view_settle(const struct taking *taking)
{
    for (size_t i = 0; i < taking->count; i++) {
        struct ray_view_node *node = taking->sightings[i].node;
        if (node->fresh || !ray_view_is_alive(node)) {
            free(node->facts);
            node->facts = node->fresh;
            node->fresh = NULL;
        }
        if (!ray_view_is_alive(node)) {
            free(node->activity);
            node->activity = NULL;
        }
    }
}

static void sweep(struct ray_view *mirror)
{
    size_t nodes = 0;
    size_t seats = 0;
    for (size_t i = 0; i < mirror->seat_count; i++) {
        if (mirror->seats[i].best) {
            mirror->seats[seats++] = mirror->seats[i];
        }
    }
    for (size_t i = 0; i < mirror->node_count; i++) {
        struct ray_view_node *node = mirror->nodes[i];
        if (node->seen_in == mirror->replies) {
            mirror->nodes[nodes++] = node;
        } else {
            mirror->mark += ray_view_is_alive(node);
            ray_view_node_free(node);
        }
    }
    bool is_less = nodes < mirror->node_count || seats < mirror->seat_count;
    mirror->node_count = nodes;
    mirror->seat_count = seats;
    if (is_less) {
        index_again(mirror);
    }
}

static void tell_load(struct ray_view *mirror, struct ray_view_load *fresh, uint64_t load_mark)
{
    mirror->hooks.load(mirror->hooks.context, &fresh->told);
    ray_view_load_clear(&mirror->load);
    mirror->load = *fresh;
    mirror->load_mark = load_mark;
    mirror->is_load_told = true;
    mirror->is_load_owed = false;
}

/* ---- a reply ---- */

static bool ray_view_read_all(struct taking *taking, struct str bytes, int64_t wall_ms,
                              struct ray_view_load *fresh, bool *ret_has_load,
                              struct arena *scratch, struct err *err)
{
    struct ray_view *mirror = taking->mirror;
    if (!ray_state_pass(bytes, note_glance, taking, &taking->state, err)) {
        return false;
    }
    bool asked_store = mirror->load.asks_store;
    *ret_has_load = !mirror->is_load_told || mirror->is_load_owed ||
                    taking->state.load_mark != mirror->load_mark;
    if (*ret_has_load) {
        if (mirror->hooks.training) {
            fresh->training_count = mirror->hooks.training(mirror->hooks.context, scratch,
                                                           &fresh->training);
        }
        if (!ray_view_load_read(fresh, bytes, &mirror->load, &mirror->names, wall_ms, scratch,
                                err)) {
            return false;
        }
        /* Free object_store_memory was not reported while it was not requested. */
        mirror->names.version += fresh->asks_store && !asked_store;
        asked_store = fresh->asks_store;
    }
    return read_nodes(taking, asked_store, scratch, err);
}

bool ray_view_update(struct ray_view *mirror, struct str bytes, int64_t asked_at_ms,
                     int64_t wall_ms, struct err *err)
{
    struct taking taking = {.mirror = mirror, .asked_at_ms = asked_at_ms};
    struct ray_view_load fresh;
    struct arena scratch;
    bool has_load = false;
    arena_init(&scratch);
    ray_view_load_init(&fresh);
    taking.capacity = mirror->node_count + 64;
    taking.sightings = heap_zeroed(taking.capacity * sizeof(*taking.sightings));
    bool is_read = ray_view_read_all(&taking, bytes, wall_ms, &fresh, &has_load, &scratch, err);
    if (!is_read) {
        take_back(mirror);
        ray_view_load_clear(&fresh);
    } else {
        mirror->replies++;
        mirror->version = taking.state.version;
        snprintf(mirror->session, sizeof(mirror->session), "%.*s", STR_ARG(taking.state.session));
        mirror->asked_at_ms = asked_at_ms;
        mirror->alive = 0;
        mirror->head[0] = '\0';
        for (size_t i = 0; i < taking.count; i++) {
            ray_view_take_over(&taking, &taking.sightings[i]);
        }
        ray_view_choose(mirror);
        for (size_t i = 0; i < mirror->seat_count; i++) {
            tell_seat(mirror, &mirror->seats[i]);
        }
        if (has_load) {
            tell_load(mirror, &fresh, taking.state.load_mark);
        }
        ray_view_settle(&taking);
        sweep(mirror);
    }
    free(taking.sightings);
    arena_clear(&scratch);
    return is_read;
}

/* A new core may number machines differently, so instances are looked up again. It may also be the
 * same core, so machines that are not found again are reported absent. */
void ray_view_resend_all(struct ray_view *mirror)
{
    mirror->is_load_told = false;
    for (size_t i = 0; i < mirror->node_count; i++) {
        mirror->nodes[i]->instance = INSTANCE_NONE;
    }
    for (size_t i = 0; i < mirror->seat_count; i++) {
        mirror->seats[i].is_owed = true;
        mirror->seats[i].best = NULL;
    }
}

void ray_view_resend_load(struct ray_view *mirror)
{
    mirror->is_load_owed = true;
}

void ray_view_forget(struct ray_view *mirror)
{
    static const struct ray_load nothing = {0};
    for (size_t i = 0; i < mirror->seat_count; i++) {
        mirror->seats[i].best = NULL;
        tell_seat(mirror, &mirror->seats[i]);
    }
    if (mirror->is_load_told) {
        mirror->hooks.load(mirror->hooks.context, &nothing);
    }
    ray_view_load_clear(&mirror->load);
    ray_view_load_init(&mirror->load);
    drop_nodes(mirror);
    mirror->is_load_told = false;
    mirror->version = 0;
    mirror->alive = 0;
    mirror->head[0] = '\0';
    mirror->mark++;
}

/* ---- queries ---- */

int64_t ray_view_version(const struct ray_view *mirror)
{
    return mirror->version;
}

size_t ray_view_alive(const struct ray_view *mirror)
{
    return mirror->alive;
}

struct str ray_view_head(const struct ray_view *mirror)
{
    return str_from(mirror->head);
}

struct str ray_view_session(const struct ray_view *mirror)
{
    return str_from(mirror->session);
}

uint64_t ray_view_mark(const struct ray_view *mirror)
{
    return mirror->mark;
}

struct str ray_view_node_id(const struct ray_view *mirror, uint64_t instance)
{
    const struct ray_view_machine *seat = ray_view_machine_find(mirror, instance);
    if (!seat || !seat->best || !ray_view_is_alive(seat->best)) {
        return STR("");
    }
    return (struct str){(const char *)seat->best->id, RAY_ID_BYTES};
}

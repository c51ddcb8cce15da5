/*
 * ray_mirror.c: one reply after the other, and what is new in it.
 *
 * A reply is read as a whole before anything of it is told: one that ends in the middle changes
 * nothing. What the core points to is freed only after it was told something else in its place.
 */
#include "app/head/ray/ray_mirror.h"

#include "app/head/ray/ray_mirror_parts.h"
#include "base/encode.h"

#include <stdio.h>

/* Ray counts idle time anew with every report: differences up to this are its inaccuracy. */
enum { IDLE_SLACK_MS = 250, SCRATCH_MOST = 256 * 1024 };

struct sighting {
    struct ray_glance glance;
    struct mirror_node *node;
};

struct taking {
    struct ray_mirror *mirror;
    struct sighting *sightings;
    size_t count, capacity;
    struct ray_state state;
    int64_t asked_at_ms;
};

static void grow(void **items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) {
        return;
    }
    size_t more = *capacity > 0 ? 2 * *capacity : 64;
    void *grown = heap_zeroed(more * size);
    if (count > 0) {
        memcpy(grown, *items, count * size);
    }
    free(*items);
    *items = grown;
    *capacity = more;
}

/* ---- finding ---- */

struct node_question {
    const struct ray_mirror *mirror;
    const char *id;
};

struct seat_question {
    const struct ray_mirror *mirror;
    uint64_t instance;
};

static bool has_id(const void *context, size_t position)
{
    const struct node_question *question = context;
    return memcmp(question->mirror->nodes[position]->id, question->id, RAY_ID_BYTES) == 0;
}

static bool has_instance(const void *context, size_t position)
{
    const struct seat_question *question = context;
    return question->mirror->seats[position].instance == question->instance;
}

/* Ids are random as they are. */
static uint64_t id_hash(const void *id)
{
    uint64_t hash;
    memcpy(&hash, id, sizeof(hash));
    return hash;
}

struct mirror_seat *mirror_seat_find(const struct ray_mirror *mirror, uint64_t instance)
{
    struct seat_question question = {mirror, instance};
    size_t at = table_find(&mirror->by_instance, instance, has_instance, &question);
    return at != TABLE_NONE ? &mirror->seats[at] : NULL;
}

static struct mirror_seat *seat_of(struct ray_mirror *mirror, uint64_t instance)
{
    struct mirror_seat *seat = mirror_seat_find(mirror, instance);
    if (seat) {
        return seat;
    }
    void *seats = mirror->seats;
    grow(&seats, mirror->seat_count, &mirror->seat_capacity, sizeof(*mirror->seats));
    mirror->seats = seats;
    seat = &mirror->seats[mirror->seat_count];
    *seat = (struct mirror_seat){
        .instance = instance, .told_status = RAY_ABSENT, .told_idle_since = NOT_IDLE};
    table_add(&mirror->by_instance, &mirror->index_memory, instance, mirror->seat_count++);
    return seat;
}

static struct mirror_node *node_of(struct ray_mirror *mirror, struct str id)
{
    struct node_question question = {mirror, id.ptr};
    size_t at = table_find(&mirror->by_id, id_hash(id.ptr), has_id, &question);
    if (at != TABLE_NONE) {
        return mirror->nodes[at];
    }
    struct mirror_node *node = HEAP_NEW(struct mirror_node);
    memcpy(node->id, id.ptr, RAY_ID_BYTES);
    node->status = RAY_NODE_DEAD; /* until it is seen */
    node->idle_since = NOT_IDLE;
    node->order = ++mirror->orders;
    void *nodes = mirror->nodes;
    grow(&nodes, mirror->node_count, &mirror->node_capacity, sizeof(struct mirror_node *));
    mirror->nodes = nodes;
    mirror->nodes[mirror->node_count] = node;
    table_add(&mirror->by_id, &mirror->index_memory, id_hash(node->id), mirror->node_count++);
    return node;
}

static void index_again(struct ray_mirror *mirror)
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

struct ray_mirror *ray_mirror_open(struct names *names, const struct ray_mirror_hooks *hooks)
{
    struct ray_mirror *mirror = HEAP_NEW(struct ray_mirror);
    mirror->hooks = *hooks;
    mirror_names_init(&mirror->names, names);
    mirror_load_init(&mirror->load);
    arena_init(&mirror->index_memory);
    return mirror;
}

static void drop_nodes(struct ray_mirror *mirror)
{
    for (size_t i = 0; i < mirror->node_count; i++) {
        mirror_node_free(mirror->nodes[i]);
    }
    mirror->node_count = 0;
    mirror->seat_count = 0;
    index_again(mirror);
}

void ray_mirror_close(struct ray_mirror *mirror)
{
    if (!mirror) {
        return;
    }
    drop_nodes(mirror);
    mirror_load_clear(&mirror->load);
    mirror_names_clear(&mirror->names);
    arena_clear(&mirror->index_memory);
    free(mirror->nodes);
    free(mirror->seats);
    free(mirror);
}

/* ---- reading: nothing is told yet ---- */

static void note_glance(void *context, const struct ray_glance *glance)
{
    struct taking *taking = context;
    void *sightings = taking->sightings;
    grow(&sightings, taking->count, &taking->capacity, sizeof(*taking->sightings));
    taking->sightings = sightings;
    taking->sightings[taking->count++] = (struct sighting){.glance = *glance};
}

static bool read_nodes(struct taking *taking, bool is_store_asked, struct arena *scratch,
                       struct err *err)
{
    struct ray_mirror *mirror = taking->mirror;
    for (size_t i = 0; i < taking->count; i++) {
        const struct ray_glance *glance = &taking->sightings[i].glance;
        struct mirror_node *node = node_of(mirror, glance->id);
        taking->sightings[i].node = node;
        bool is_read = node->facts || glance->status == RAY_NODE_DEAD;
        if (is_read && node->mark == glance->mark && node->read_in == mirror->names.version) {
            continue;
        }
        if (!mirror_node_read(node, glance, &mirror->names, is_store_asked, scratch, err)) {
            return false;
        }
        if (scratch->used_bytes > SCRATCH_MOST) {
            arena_clear(scratch);
        }
    }
    return true;
}

/* What was read is as good as not seen; nodes that nobody knew are unknown again. */
static void take_back(struct ray_mirror *mirror)
{
    size_t kept = 0;
    for (size_t i = 0; i < mirror->node_count; i++) {
        struct mirror_node *node = mirror->nodes[i];
        free(node->fresh);
        node->fresh = NULL;
        if (node->seen_in == 0) {
            mirror_node_free(node);
        } else {
            mirror->nodes[kept++] = node;
        }
    }
    mirror->node_count = kept;
    index_again(mirror);
}

/* ---- taking over ---- */

static int64_t idle_since(const struct taking *taking, const struct sighting *sighting)
{
    const struct mirror_node *node = sighting->node;
    int64_t idle_ms = sighting->glance.idle_ms > 0 ? sighting->glance.idle_ms : 0;
    int64_t since = idle_ms < taking->asked_at_ms ? taking->asked_at_ms - idle_ms : 0;
    if (sighting->glance.status != RAY_NODE_IDLE) {
        return NOT_IDLE;
    }
    bool is_near = node->idle_since != NOT_IDLE && since - node->idle_since <= IDLE_SLACK_MS &&
                   node->idle_since - since <= IDLE_SLACK_MS;
    return is_near ? node->idle_since : since;
}

static void note_head(struct ray_mirror *mirror, const struct mirror_node *node)
{
    if (node->is_head && mirror_is_alive(node)) {
        encode_hex_to(mirror->head, node->id, RAY_ID_BYTES);
    }
}

static void take_over(struct taking *taking, const struct sighting *sighting)
{
    struct ray_mirror *mirror = taking->mirror;
    const struct ray_glance *glance = &sighting->glance;
    struct mirror_node *node = sighting->node;
    bool was_alive = mirror_is_alive(node);
    node->idle_since = idle_since(taking, sighting);
    node->status = (uint8_t)glance->status;
    node->mark = glance->mark;
    node->read_in = mirror->names.version;
    node->seen_in = mirror->replies;
    mirror->mark += was_alive != mirror_is_alive(node);
    mirror->alive += mirror_is_alive(node);
    note_head(mirror, node);
    if (node->instance == INSTANCE_NONE && glance->instance_id.len > 0) {
        node->instance = mirror->hooks.instance_of(mirror->hooks.context, glance->instance_id);
    }
}

static int rank(const struct mirror_node *node)
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

/* A machine on which Ray was started several times: the life of today counts. */
static bool is_better(const struct mirror_node *node, const struct mirror_node *than)
{
    return !than || rank(node) > rank(than) ||
           (rank(node) == rank(than) && node->order > than->order);
}

static void choose(struct ray_mirror *mirror)
{
    for (size_t i = 0; i < mirror->seat_count; i++) {
        mirror->seats[i].best = NULL;
    }
    for (size_t i = 0; i < mirror->node_count; i++) {
        struct mirror_node *node = mirror->nodes[i];
        if (node->instance != INSTANCE_NONE && node->seen_in == mirror->replies) {
            struct mirror_seat *seat = seat_of(mirror, node->instance);
            seat->best = is_better(node, seat->best) ? node : seat->best;
        }
    }
}

/* ---- telling ---- */

static enum ray_status status_of(const struct ray_mirror *mirror, const struct mirror_seat *seat)
{
    if (!seat->best || mirror->hooks.is_hidden(mirror->hooks.context, seat->instance)) {
        return RAY_ABSENT;
    }
    int life = rank(seat->best);
    return life == 0 ? RAY_DEAD : life == 1 ? RAY_DRAINING : RAY_ALIVE;
}

static void tell_seat(struct ray_mirror *mirror, struct mirror_seat *seat)
{
    struct mirror_node *node = seat->best;
    struct ray_node news = {
        .instance = seat->instance, .status = status_of(mirror, seat), .idle_since = NOT_IDLE};
    bool has_facts = news.status == RAY_ALIVE || news.status == RAY_DRAINING;
    if (has_facts) {
        const struct mirror_facts *facts = node->fresh ? node->fresh : node->facts;
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

/* Nothing points to what was replaced any more. */
static void settle(const struct taking *taking)
{
    for (size_t i = 0; i < taking->count; i++) {
        struct mirror_node *node = taking->sightings[i].node;
        if (node->fresh || !mirror_is_alive(node)) {
            free(node->facts);
            node->facts = node->fresh;
            node->fresh = NULL;
        }
        if (!mirror_is_alive(node)) {
            free(node->activity);
            node->activity = NULL;
        }
    }
}

static void sweep(struct ray_mirror *mirror)
{
    size_t nodes = 0;
    size_t seats = 0;
    for (size_t i = 0; i < mirror->seat_count; i++) {
        if (mirror->seats[i].best) {
            mirror->seats[seats++] = mirror->seats[i];
        }
    }
    for (size_t i = 0; i < mirror->node_count; i++) {
        struct mirror_node *node = mirror->nodes[i];
        if (node->seen_in == mirror->replies) {
            mirror->nodes[nodes++] = node;
        } else {
            mirror->mark += mirror_is_alive(node);
            mirror_node_free(node);
        }
    }
    bool is_less = nodes < mirror->node_count || seats < mirror->seat_count;
    mirror->node_count = nodes;
    mirror->seat_count = seats;
    if (is_less) {
        index_again(mirror);
    }
}

static void tell_load(struct ray_mirror *mirror, struct mirror_load *fresh, uint64_t load_mark)
{
    mirror->hooks.load(mirror->hooks.context, &fresh->told);
    mirror_load_clear(&mirror->load);
    mirror->load = *fresh;
    mirror->load_mark = load_mark;
    mirror->is_load_told = true;
}

/* ---- a reply ---- */

static bool read_all(struct taking *taking, struct str bytes, int64_t wall_ms,
                     struct mirror_load *fresh, bool *ret_has_load, struct arena *scratch,
                     struct err *err)
{
    struct ray_mirror *mirror = taking->mirror;
    if (!ray_state_pass(bytes, note_glance, taking, &taking->state, err)) {
        return false;
    }
    bool asked_store = mirror->load.asks_store;
    *ret_has_load = !mirror->is_load_told || taking->state.load_mark != mirror->load_mark;
    if (*ret_has_load) {
        if (!mirror_load_read(fresh, bytes, &mirror->load, &mirror->names, wall_ms, scratch, err)) {
            return false;
        }
        /* What was not told while nobody asked for it. */
        mirror->names.version += fresh->asks_store && !asked_store;
        asked_store = fresh->asks_store;
    }
    return read_nodes(taking, asked_store, scratch, err);
}

bool ray_mirror_take(struct ray_mirror *mirror, struct str bytes, int64_t asked_at_ms,
                     int64_t wall_ms, struct err *err)
{
    struct taking taking = {.mirror = mirror, .asked_at_ms = asked_at_ms};
    struct mirror_load fresh;
    struct arena scratch;
    bool has_load = false;
    arena_init(&scratch);
    mirror_load_init(&fresh);
    taking.capacity = mirror->node_count + 64;
    taking.sightings = heap_zeroed(taking.capacity * sizeof(*taking.sightings));
    bool is_read = read_all(&taking, bytes, wall_ms, &fresh, &has_load, &scratch, err);
    if (!is_read) {
        take_back(mirror);
        mirror_load_clear(&fresh);
    } else {
        mirror->replies++;
        mirror->version = taking.state.version;
        snprintf(mirror->session, sizeof(mirror->session), "%.*s", STR_ARG(taking.state.session));
        mirror->asked_at_ms = asked_at_ms;
        mirror->alive = 0;
        mirror->head[0] = '\0';
        for (size_t i = 0; i < taking.count; i++) {
            take_over(&taking, &taking.sightings[i]);
        }
        choose(mirror);
        for (size_t i = 0; i < mirror->seat_count; i++) {
            tell_seat(mirror, &mirror->seats[i]);
        }
        if (has_load) {
            tell_load(mirror, &fresh, taking.state.load_mark);
        }
        settle(&taking);
        sweep(mirror);
    }
    free(taking.sightings);
    arena_clear(&scratch);
    return is_read;
}

/*
 * Its machines may have other numbers, so nobody's is known; of those that were told, whoever is
 * not there under its number is told as absent: it may be the same core after all.
 */
void ray_mirror_forget_told(struct ray_mirror *mirror)
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

void ray_mirror_forget(struct ray_mirror *mirror)
{
    static const struct ray_load nothing = {0};
    for (size_t i = 0; i < mirror->seat_count; i++) {
        mirror->seats[i].best = NULL;
        tell_seat(mirror, &mirror->seats[i]);
    }
    if (mirror->is_load_told) {
        mirror->hooks.load(mirror->hooks.context, &nothing);
    }
    mirror_load_clear(&mirror->load);
    mirror_load_init(&mirror->load);
    drop_nodes(mirror);
    mirror->is_load_told = false;
    mirror->version = 0;
    mirror->alive = 0;
    mirror->head[0] = '\0';
    mirror->mark++;
}

/* ---- looking ---- */

int64_t ray_mirror_version(const struct ray_mirror *mirror)
{
    return mirror->version;
}

size_t ray_mirror_alive(const struct ray_mirror *mirror)
{
    return mirror->alive;
}

struct str ray_mirror_head(const struct ray_mirror *mirror)
{
    return str_from(mirror->head);
}

struct str ray_mirror_session(const struct ray_mirror *mirror)
{
    return str_from(mirror->session);
}

uint64_t ray_mirror_mark(const struct ray_mirror *mirror)
{
    return mirror->mark;
}

struct str ray_mirror_node_id(const struct ray_mirror *mirror, uint64_t instance)
{
    const struct mirror_seat *seat = mirror_seat_find(mirror, instance);
    if (!seat || !seat->best || !mirror_is_alive(seat->best)) {
        return STR("");
    }
    return (struct str){(const char *)seat->best->id, RAY_ID_BYTES};
}

/* roster.c: an array, two indexes, and one block of memory per machine. */
#include "app/control/roster.h"

#include "io/heap.h"

/* ---- a copy in one block ---- */

static size_t text_bytes(const struct machine *machine)
{
    size_t bytes = machine->id.len + machine->type.len + machine->zone.len +
                   machine->private_ip.len + machine->public_ip.len + machine->why.len +
                   machine->token.len;
    for (size_t i = 0; i < machine->tag_count; i++) {
        bytes += machine->tags[i].key.len + machine->tags[i].value.len;
    }
    return bytes;
}

static struct str keep_text(char **at, struct str text)
{
    char *start = *at;
    if (text.len > 0) {
        memcpy(start, text.ptr, text.len);
    }
    *at += text.len;
    return (struct str){start, text.len};
}

static struct machine *keep_machine(const struct machine *machine)
{
    struct machine_tag *tags;
    size_t tag_bytes = machine->tag_count * sizeof(*tags);
    struct machine *copy = heap_zeroed(sizeof(*copy) + tag_bytes + text_bytes(machine) + 1);
    char *at = (char *)(copy + 1) + tag_bytes;
    tags = (struct machine_tag *)(copy + 1);
    *copy = *machine;
    copy->id = keep_text(&at, machine->id);
    copy->type = keep_text(&at, machine->type);
    copy->zone = keep_text(&at, machine->zone);
    copy->private_ip = keep_text(&at, machine->private_ip);
    copy->public_ip = keep_text(&at, machine->public_ip);
    copy->why = keep_text(&at, machine->why);
    copy->token = keep_text(&at, machine->token);
    for (size_t i = 0; i < machine->tag_count; i++) {
        tags[i].key = keep_text(&at, machine->tags[i].key);
        tags[i].value = keep_text(&at, machine->tags[i].value);
    }
    copy->tags = tags;
    return copy;
}

static bool same_tags(const struct machine *a, const struct machine *b)
{
    bool is_same = a->tag_count == b->tag_count;
    for (size_t i = 0; is_same && i < a->tag_count; i++) {
        is_same = str_eq(a->tags[i].key, b->tags[i].key) &&
                  str_eq(a->tags[i].value, b->tags[i].value);
    }
    return is_same;
}

static bool looks_same(const struct machine *a, const struct machine *b)
{
    return a->state == b->state && str_eq(a->id, b->id) && str_eq(a->private_ip, b->private_ip) &&
           str_eq(a->public_ip, b->public_ip);
}

/* ---- finding ---- */

struct question {
    const struct roster *roster;
    uint64_t instance;
    struct str id;
};

static bool has_id(const void *context, size_t position)
{
    const struct question *question = context;
    return str_eq(question->roster->items[position].machine->id, question->id);
}

static bool has_number(const void *context, size_t position)
{
    const struct question *question = context;
    return question->roster->items[position].instance == question->instance;
}

struct known *roster_find(const struct roster *roster, uint64_t instance)
{
    struct question question = {.roster = roster, .instance = instance};
    size_t at = table_find(&roster->by_instance, instance, has_number, &question);
    return at != TABLE_NONE ? &roster->items[at] : NULL;
}

struct known *roster_find_id(const struct roster *roster, struct str id)
{
    struct question question = {.roster = roster, .id = id};
    size_t at = table_find(&roster->by_id, str_hash(id), has_id, &question);
    return at != TABLE_NONE ? &roster->items[at] : NULL;
}

/* ---- changing ---- */

void roster_init(struct roster *roster)
{
    *roster = (struct roster){0};
    arena_init(&roster->index_memory);
}

void roster_clear(struct roster *roster)
{
    for (size_t i = 0; i < roster->count; i++) {
        free(roster->items[i].machine);
    }
    free(roster->items);
    arena_clear(&roster->index_memory);
    roster_init(roster);
}

static void index_one(struct roster *roster, size_t position)
{
    const struct known *known = &roster->items[position];
    table_add(&roster->by_instance, &roster->index_memory, known->instance, position);
    table_add(&roster->by_id, &roster->index_memory, str_hash(known->machine->id), position);
}

static void add(struct roster *roster, struct known known)
{
    if (roster->count == roster->capacity) {
        size_t capacity = roster->capacity > 0 ? 2 * roster->capacity : 16;
        struct known *items = heap_zeroed(capacity * sizeof(*items));
        if (roster->count > 0) {
            memcpy(items, roster->items, roster->count * sizeof(*items));
        }
        free(roster->items);
        roster->items = items;
        roster->capacity = capacity;
    }
    roster->items[roster->count] = known;
    index_one(roster, roster->count++);
}

bool roster_put(struct roster *roster, uint64_t instance, const struct machine *machine,
                bool is_head, int64_t now)
{
    struct known *known = roster_find(roster, instance);
    if (!known) {
        add(roster, (struct known){.instance = instance,
                                   .machine = keep_machine(machine),
                                   .since = now,
                                   .is_head = is_head});
        return true;
    }
    bool is_same = looks_same(known->machine, machine);
    if (is_same && same_tags(known->machine, machine)) {
        return false;
    }
    bool is_other = !str_eq(known->machine->id, machine->id);
    struct machine *copy = keep_machine(machine);
    free(known->machine);
    known->machine = copy;
    if (is_other) { /* a new head under the number of the old one */
        known->since = now;
        table_add(&roster->by_id, &roster->index_memory, str_hash(copy->id),
                  (size_t)(known - roster->items));
    }
    return !is_same;
}

void roster_drop(struct roster *roster, known_fn *is_over, void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < roster->count; i++) {
        if (is_over(context, &roster->items[i])) {
            free(roster->items[i].machine);
        } else {
            roster->items[kept++] = roster->items[i];
        }
    }
    if (kept == roster->count) {
        return;
    }
    roster->count = kept;
    roster->by_id = roster->by_instance = (struct table){0};
    arena_clear(&roster->index_memory);
    arena_init(&roster->index_memory);
    for (size_t i = 0; i < kept; i++) {
        index_one(roster, i);
    }
}

/* machine_table.c: an array with two indexes, and one heap block per machine. */
#include "app/control/machine_table.h"

#include "base/require.h"
#include "io/xalloc.h"

/* ---- copies ---- */

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

static struct str machine_table_keep_text(char **at, struct str text)
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
    copy->id = machine_table_keep_text(&at, machine->id);
    copy->type = machine_table_keep_text(&at, machine->type);
    copy->zone = machine_table_keep_text(&at, machine->zone);
    copy->private_ip = machine_table_keep_text(&at, machine->private_ip);
    copy->public_ip = machine_table_keep_text(&at, machine->public_ip);
    copy->why = machine_table_keep_text(&at, machine->why);
    copy->token = machine_table_keep_text(&at, machine->token);
    for (size_t i = 0; i < machine->tag_count; i++) {
        tags[i].key = machine_table_keep_text(&at, machine->tags[i].key);
        tags[i].value = machine_table_keep_text(&at, machine->tags[i].value);
    }
    require(at == (char *)(copy + 1) + tag_bytes + text_bytes(machine), "the texts fill the copy");
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

/* ---- lookup ---- */

struct machine_table_question {
    const struct machine_table *machine_table;
    uint64_t instance;
    struct str id;
};

static bool machine_table_has_id(const void *context, size_t position)
{
    const struct machine_table_question *question = context;
    return str_eq(question->machine_table->items[position].machine->id, question->id);
}

static bool has_number(const void *context, size_t position)
{
    const struct machine_table_question *question = context;
    return question->machine_table->items[position].instance == question->instance;
}

struct known *machine_table_find(const struct machine_table *machine_table, uint64_t instance)
{
    struct machine_table_question question = {.machine_table = machine_table, .instance = instance};
    size_t at = table_find(&machine_table->by_instance, instance, has_number, &question);
    require(at == TABLE_NONE || at < machine_table->count, "the index entry points into the array");
    return at != TABLE_NONE ? &machine_table->items[at] : NULL;
}

struct known *machine_table_find_id(const struct machine_table *machine_table, struct str id)
{
    struct machine_table_question question = {.machine_table = machine_table, .id = id};
    size_t at = table_find(&machine_table->by_id, str_hash(id), machine_table_has_id, &question);
    require(at == TABLE_NONE || at < machine_table->count, "the index entry points into the array");
    return at != TABLE_NONE ? &machine_table->items[at] : NULL;
}

/* ---- changes ---- */

void machine_table_init(struct machine_table *machine_table)
{
    *machine_table = (struct machine_table){0};
    arena_init(&machine_table->index_memory);
}

void machine_table_clear(struct machine_table *machine_table)
{
    for (size_t i = 0; i < machine_table->count; i++) {
        free(machine_table->items[i].machine);
    }
    free(machine_table->items);
    arena_clear(&machine_table->index_memory);
    machine_table_init(machine_table);
}

static void index_one(struct machine_table *machine_table, size_t position)
{
    const struct known *known = &machine_table->items[position];
    require(position < machine_table->count, "only machines of the array are in the index");
    table_add(&machine_table->by_instance, &machine_table->index_memory, known->instance, position);
    table_add(&machine_table->by_id, &machine_table->index_memory, str_hash(known->machine->id),
              position);
}

static void machine_table_add(struct machine_table *machine_table, struct known known)
{
    HEAP_ROOM(machine_table->items, machine_table->count, machine_table->capacity);
    require(machine_table->count < machine_table->capacity, "there is room for a machine");
    machine_table->items[machine_table->count] = known;
    index_one(machine_table, machine_table->count++);
}

bool machine_table_put(struct machine_table *machine_table, uint64_t instance,
                       const struct machine *machine, bool is_head, int64_t now)
{
    struct known *known = machine_table_find(machine_table, instance);
    if (!known) {
        machine_table_add(machine_table, (struct known){.instance = instance,
                                                        .machine = keep_machine(machine),
                                                        .since = now,
                                                        .is_head = is_head});
        return true;
    }
    require(known->is_head == is_head, "a number is the head's for good, or never");
    require(known->since <= now, "a machine was first seen before now");
    bool is_same = looks_same(known->machine, machine);
    if (is_same && same_tags(known->machine, machine)) {
        return false;
    }
    bool is_other = !str_eq(known->machine->id, machine->id);
    struct machine *copy = keep_machine(machine);
    free(known->machine);
    known->machine = copy;
    if (is_other) { /* a new head under the old head's number */
        known->since = now;
        table_add(&machine_table->by_id, &machine_table->index_memory, str_hash(copy->id),
                  (size_t)(known - machine_table->items));
    }
    return !is_same;
}

void machine_table_drop(struct machine_table *machine_table, machine_entry_fn *is_over,
                        void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < machine_table->count; i++) {
        if (is_over(context, &machine_table->items[i])) {
            free(machine_table->items[i].machine);
        } else {
            machine_table->items[kept++] = machine_table->items[i];
        }
    }
    if (kept == machine_table->count) {
        return;
    }
    require(kept < machine_table->count, "machines were dropped");
    machine_table->count = kept;
    machine_table->by_id = machine_table->by_instance = (struct table){0};
    arena_clear(&machine_table->index_memory);
    arena_init(&machine_table->index_memory);
    for (size_t i = 0; i < kept; i++) {
        index_one(machine_table, i);
    }
}

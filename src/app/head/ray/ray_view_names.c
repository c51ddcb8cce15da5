/* ray_view_names.c: decides which of Ray's texts become names, and reuses names of ids. */
#include "app/head/ray/ray_view_names.h"

#include "base/require.h"
#include "core/resource.h"
#include "io/xalloc.h"

#include <ctype.h>
#include <math.h>

enum {
    LOAD_NAMES_MOST = 4096, /* further texts of loads get slots */
    NODE_NAMES_MOST = 256,  /* further resources of nodes are ignored until requested */
    GROUP_ID_DIGITS = 36,
};

/* 100 TB of memory; sums of several still fit. */
#define AMOUNT_MOST INT64_C(1000000000000000000)

int64_t ray_view_amount(double amount)
{
    double scaled = floor(amount * RESOURCE_UNIT + 0.5);
    if (!(scaled > 0)) {
        return 0;
    }
    return scaled < (double)AMOUNT_MOST ? (int64_t)scaled : AMOUNT_MOST;
}

/* ---- requested names ---- */

/* True if it was not requested before. */
static bool want(struct ray_view_names *names, uint32_t name)
{
    if (name >= names->wanted_count) {
        size_t count = names->all->count * 2;
        bool *grown = heap_zeroed(count * sizeof(*grown));
        if (names->wanted_count > 0) {
            memcpy(grown, names->is_wanted, names->wanted_count * sizeof(*grown));
        }
        free(names->is_wanted);
        names->is_wanted = grown;
        names->wanted_count = count;
    }
    require(name < names->wanted_count, "every name has its flag");
    bool is_new = !names->is_wanted[name];
    names->is_wanted[name] = true;
    return is_new;
}

void ray_view_names_init(struct ray_view_names *names, struct names *all)
{
    *names = (struct ray_view_names){.all = all};
    arena_init(&names->slot_memory);
    names->empty = intern_add(all, STR(""));
    names->other = intern_add(all, STR("_other"));
    names->own_node = intern_add(all, STR("node:_own"));
    names->together = intern_add(all, STR("its group"));
    for (uint32_t i = 0; i < all->count; i++) {
        (void)want(names, i);
    }
}

void ray_view_names_clear(struct ray_view_names *names)
{
    for (size_t i = 0; i < names->slot_count; i++) {
        free(names->slots[i].text);
    }
    free(names->slots);
    free(names->is_wanted);
    arena_clear(&names->slot_memory);
}

/* ---- slots ---- */

struct slot_question {
    const struct ray_view_names *names;
    struct str text;
};

static struct str slot_text(const struct ray_view_slot *slot)
{
    return (struct str){slot->text, slot->len};
}

static bool has_text(const void *context, size_t position)
{
    const struct slot_question *question = context;
    return str_eq(slot_text(&question->names->slots[position]), question->text);
}

static struct ray_view_slot *slot_find(const struct ray_view_names *names, struct str text)
{
    struct slot_question question = {names, text};
    size_t at = names->slot_count > 0
                    ? table_find(&names->slot_index, str_hash(text), has_text, &question)
                    : TABLE_NONE;
    require(at == TABLE_NONE || at < names->slot_count, "the index has positions of the array");
    return at != TABLE_NONE ? &names->slots[at] : NULL;
}

static void slot_touch(struct ray_view_names *names, struct str text)
{
    struct ray_view_slot *slot = slot_find(names, text);
    if (slot) {
        slot->used_in = names->round;
    }
}

static struct ray_view_slot *slot_new(struct ray_view_names *names, enum ray_view_slot_kind kind)
{
    HEAP_ROOM(names->slots, names->slot_count, names->slot_capacity);
    require(names->slot_count < names->slot_capacity, "there is room for a slot");
    char text[32];
    int len = snprintf(text, sizeof(text), "%s %zu", kind == SLOT_GROUP ? "group" : "id",
                       names->slot_count);
    struct ray_view_slot *slot = &names->slots[names->slot_count++];
    slot->name = intern_add(names->all, (struct str){text, (size_t)len});
    slot->kind = kind;
    (void)want(names, slot->name);
    return slot;
}

/* A slot that this load does not use. Its text is replaced; the index is rebuilt at the end. */
static struct ray_view_slot *slot_take(struct ray_view_names *names, enum ray_view_slot_kind kind)
{
    size_t *next = &names->next_free[kind];
    while (*next < names->slot_count &&
           (names->slots[*next].used_in == names->round || names->slots[*next].kind != kind)) {
        (*next)++;
    }
    return *next < names->slot_count ? &names->slots[*next] : slot_new(names, kind);
}

uint32_t ray_view_names_of_id(struct ray_view_names *names, struct str text,
                              enum ray_view_slot_kind kind)
{
    struct ray_view_slot *slot = slot_find(names, text);
    if (!slot) {
        slot = slot_take(names, kind);
        free(slot->text);
        slot->text = heap_zeroed(text.len + 1);
        if (text.len > 0) {
            memcpy(slot->text, text.ptr, text.len);
        }
        slot->len = text.len;
        table_add(&names->slot_index, &names->slot_memory, str_hash(text),
                  (size_t)(slot - names->slots));
        names->version++;
    }
    slot->used_in = names->round;
    return slot->name;
}

/* ---- loads ---- */

static void touch_request(struct ray_view_names *names, const struct ray_request *request)
{
    for (size_t i = 0; i < request->amount_count; i++) {
        slot_touch(names, request->amounts[i].name);
    }
    for (size_t i = 0; i < request->placement_count; i++) {
        slot_touch(names, request->placements[i].label.key);
        slot_touch(names, request->placements[i].label.value);
    }
    for (size_t i = 0; i < request->selector_count; i++) {
        const struct ray_selector *selector = &request->selectors[i];
        for (size_t j = 0; j < selector->rule_count; j++) {
            slot_touch(names, selector->rules[j].key);
            for (size_t k = 0; k < selector->rules[j].value_count; k++) {
                slot_touch(names, selector->rules[j].values[k]);
            }
        }
    }
}

/* Marks the slots in use before others are reused. */
void ray_view_names_begin(struct ray_view_names *names, const struct ray_load_read *load)
{
    names->round++;
    memset(names->next_free, 0, sizeof(names->next_free));
    if (names->slot_count == 0) {
        return;
    }
    for (size_t i = 0; i < load->demand_count; i++) {
        touch_request(names, &load->demands[i].request);
    }
    for (size_t i = 0; i < load->constraint_count; i++) {
        touch_request(names, &load->constraint[i].request);
    }
    for (size_t i = 0; i < load->gang_count; i++) {
        for (size_t j = 0; j < load->gangs[i].request_count; j++) {
            touch_request(names, &load->gangs[i].requests[j]);
        }
    }
}

uint32_t ray_view_names_of_load(struct ray_view_names *names, struct str text)
{
    uint32_t name = intern_find(names->all, text);
    if (name == NAME_NONE && names->load_count >= LOAD_NAMES_MOST) {
        return ray_view_names_of_id(names, text, SLOT_OTHER);
    }
    if (name == NAME_NONE) {
        name = intern_add(names->all, text);
        names->load_count++;
    }
    names->version += want(names, name);
    return name;
}

bool ray_view_names_is_id_key(struct str key)
{
    return str_is(key, "ray.io/node-id");
}

/* Reused slots are still indexed under their old text: rebuilds the index. */
void ray_view_names_end(struct ray_view_names *names)
{
    if (names->slot_index.used == names->slot_count) {
        return;
    }
    arena_clear(&names->slot_memory);
    arena_init(&names->slot_memory);
    names->slot_index = (struct table){0};
    for (size_t i = 0; i < names->slot_count; i++) {
        table_add(&names->slot_index, &names->slot_memory, str_hash(slot_text(&names->slots[i])),
                  i);
    }
}

/* ---- nodes ---- */

uint32_t ray_view_names_find(const struct ray_view_names *names, struct str text)
{
    uint32_t name = intern_find(names->all, text);
    if (name < names->wanted_count && names->is_wanted[name]) {
        return name;
    }
    const struct ray_view_slot *slot = slot_find(names, text);
    return slot ? slot->name : NAME_NONE;
}

static size_t digits_at_end(struct str text, bool is_hexadecimal)
{
    size_t count = 0;
    while (count < text.len) {
        unsigned char c = (unsigned char)text.ptr[text.len - 1 - count];
        if (is_hexadecimal ? !isxdigit(c) : !isdigit(c)) {
            break;
        }
        count++;
    }
    return count;
}

bool ray_view_names_is_of_group(struct str text)
{
    if (text.len <= GROUP_ID_DIGITS || digits_at_end(text, true) < GROUP_ID_DIGITS) {
        return false;
    }
    struct str head = str_sub(text, 0, text.len - GROUP_ID_DIGITS);
    if (str_ends(head, "_group_")) {
        return true;
    }
    head = str_sub(head, 0, head.len - 1);
    size_t digits = digits_at_end(head, false);
    return text.ptr[text.len - GROUP_ID_DIGITS - 1] == '_' && digits > 0 &&
           str_ends(str_sub(head, 0, head.len - digits), "_group_");
}

/* Every node has a resource "node:<address>". It is usually not requested, but Ray counts it as a
 * free resource when it compares nodes. */
uint32_t ray_view_names_of_resource(struct ray_view_names *names, struct str text)
{
    if (ray_view_names_is_of_group(text)) {
        return NAME_NONE;
    }
    uint32_t name = ray_view_names_find(names, text);
    if (name != NAME_NONE) {
        return name;
    }
    if (str_starts(text, "node:")) {
        return names->own_node;
    }
    name = intern_find(names->all, text);
    if (name == NAME_NONE && names->node_count < NODE_NAMES_MOST) {
        name = intern_add(names->all, text);
        names->node_count++;
    }
    return name;
}

struct str ray_view_names_text(const struct ray_view_names *names, uint32_t name)
{
    struct str text = intern_text(names->all, name);
    struct str number = str_sub(text, text.len - digits_at_end(text, false), text.len);
    uint32_t slot;
    if (str_to_u32(number, &slot) && slot < names->slot_count && names->slots[slot].name == name) {
        return slot_text(&names->slots[slot]);
    }
    return text;
}

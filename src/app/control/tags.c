/*
 * tags.c: sets tags of machines, batched so that many machines need few calls.
 *
 * Tags are for people and for Ray's own tools, so nothing waits for them, and a call that fails
 * twice is dropped. A status that a node only passes through is written only if it persists:
 * otherwise each node would need a call for every status.
 */
#include "app/control/controller_internal.h"

#include "io/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct pending_tag {
    uint64_t instance;
    struct str key, value; /* heap */
    int64_t due_at;
    bool is_passing;
};

/* Machines that get the same tags. */
struct tag_group {
    struct str *ids;
    size_t id_count;
    struct machine_tag *tags;
    size_t tag_count;
    bool is_second; /* second attempt */
    struct arena memory;
};

void tag_group_free(struct tag_group *group)
{
    if (group) {
        arena_clear(&group->memory);
        free(group);
    }
}

/* ---- pending tags ---- */

static struct str tags_save(struct str text)
{
    char *copy = heap_zeroed(text.len + 1);
    if (text.len > 0) {
        memcpy(copy, text.ptr, text.len);
    }
    return (struct str){copy, text.len};
}

static void free_wish(struct pending_tag *wish)
{
    free((char *)(uintptr_t)wish->key.ptr);
    free((char *)(uintptr_t)wish->value.ptr);
}

static void tags_start_timer(struct controller *controller)
{
    int64_t now = controller_now(controller);
    int64_t due_at = INT64_MAX;
    for (size_t i = 0; i < controller->wish_count; i++) {
        int64_t due = controller->wishes[i].due_at;
        due_at = due < due_at ? due : due_at;
    }
    if (due_at < INT64_MAX) {
        loop_timer_start(controller->tag_timer, due_at > now ? due_at - now : 0);
    }
}

static struct pending_tag *tags_find_request(struct controller *controller, uint64_t instance,
                                             struct str key)
{
    for (size_t i = 0; i < controller->wish_count; i++) {
        struct pending_tag *wish = &controller->wishes[i];
        if (wish->instance == instance && str_eq(wish->key, key)) {
            return wish;
        }
    }
    return NULL;
}

void controller_tag(struct controller *controller, uint64_t instance, struct str key,
                    struct str value, bool is_passing)
{
    int64_t due_at = controller_now(controller) + (is_passing ? PASSING_TAGS_MS : TAGS_MS);
    struct pending_tag *wish = tags_find_request(controller, instance, key);
    if (wish) {
        free((char *)(uintptr_t)wish->value.ptr);
        wish->value = tags_save(value);
        wish->due_at = due_at < wish->due_at ? due_at : wish->due_at;
        wish->is_passing = is_passing;
    } else {
        void *items = controller->wishes;
        heap_grow(&items, controller->wish_count, &controller->wish_capacity,
                  sizeof(*controller->wishes));
        controller->wishes = items;
        controller->wishes[controller->wish_count++] = (struct pending_tag){
            instance, tags_save(key), tags_save(value), due_at, is_passing};
    }
    tags_start_timer(controller);
}

static int compare_wishes(const void *left, const void *right)
{
    const struct pending_tag *a = left;
    const struct pending_tag *b = right;
    if (a->instance != b->instance) {
        return a->instance < b->instance ? -1 : 1;
    }
    return str_cmp(a->key, b->key);
}

static bool same_set(const struct pending_tag *a, const struct pending_tag *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!str_eq(a[i].key, b[i].key) || !str_eq(a[i].value, b[i].value)) {
            return false;
        }
    }
    return true;
}

/* ---- calls ---- */

static void tags_send(struct controller *controller, struct tag_group *group);

static void tags_on_tag(void *context, const struct provider_answer *answer)
{
    struct call *call = context;
    struct controller *controller = call_end(call);
    if (!controller) {
        return;
    }
    struct tag_group *group = call->tags;
    call->tags = NULL;
    bool is_done = answer->outcome == OUTCOME_DONE || answer->outcome == OUTCOME_NOT_FOUND;
    if (is_done || group->is_second) {
        tag_group_free(group);
        return;
    }
    group->is_second = true;
    tags_send(controller, group);
}

static void tags_send(struct controller *controller, struct tag_group *group)
{
    struct call *call = call_begin(controller);
    call->tags = group;
    controller->provider->ops->tag(controller->provider, group->ids, group->id_count, group->tags,
                                   group->tag_count, tags_on_tag, call);
}

static struct tag_group *new_group(const struct pending_tag *set, size_t count, size_t most_ids)
{
    struct tag_group *group = HEAP_NEW(struct tag_group);
    arena_init(&group->memory);
    group->ids = ARENA_ARRAY(&group->memory, most_ids, struct str);
    group->tags = ARENA_ARRAY(&group->memory, count, struct machine_tag);
    group->tag_count = count;
    for (size_t i = 0; i < count; i++) {
        group->tags[i] = (struct machine_tag){arena_str(&group->memory, set[i].key),
                                              arena_str(&group->memory, set[i].value)};
    }
    return group;
}

struct tag_set {
    const struct pending_tag *first;
    size_t count;
    bool is_taken;
};

/* Groups consecutive tags of the same machine. */
static size_t gather_sets(const struct controller *controller, size_t wish_count,
                          struct tag_set *sets)
{
    size_t count = 0;
    for (size_t i = 0; i < wish_count; i++) {
        const struct pending_tag *wish = &controller->wishes[i];
        if (count > 0 && sets[count - 1].first->instance == wish->instance) {
            sets[count - 1].count++;
        } else {
            sets[count++] = (struct tag_set){.first = wish, .count = 1};
        }
    }
    return count;
}

static void send_like(struct controller *controller, struct tag_set *sets, size_t count)
{
    const struct tag_set *model = &sets[0];
    struct tag_group *group = new_group(model->first, model->count, count);
    for (size_t i = 0; i < count; i++) {
        const struct known *known = machine_table_find(&controller->machine_table,
                                                       sets[i].first->instance);
        if (sets[i].is_taken || sets[i].count != model->count ||
            !same_set(sets[i].first, model->first, model->count)) {
            continue;
        }
        sets[i].is_taken = true;
        if (known && known->machine->state != MACHINE_GONE) {
            group->ids[group->id_count++] = arena_str(&group->memory, known->machine->id);
        }
    }
    if (group->id_count > 0) {
        tags_send(controller, group);
    } else {
        tag_group_free(group);
    }
}

/* Moves the tags to send now to the front: permanent ones, and passing ones due within TAGS_MS. */
static size_t tags_choose(struct controller *controller, int64_t now)
{
    size_t chosen = 0;
    for (size_t i = 0; i < controller->wish_count; i++) {
        struct pending_tag wish = controller->wishes[i];
        if (!wish.is_passing || wish.due_at - TAGS_MS <= now) {
            controller->wishes[i] = controller->wishes[chosen];
            controller->wishes[chosen++] = wish;
        }
    }
    return chosen;
}

static void flush(struct controller *controller, int64_t now)
{
    size_t chosen = tags_choose(controller, now);
    if (chosen == 0) {
        return;
    }
    struct tag_set *sets = ARENA_ARRAY(&controller->scratch, chosen, struct tag_set);
    qsort(controller->wishes, chosen, sizeof(*controller->wishes), compare_wishes);
    size_t count = gather_sets(controller, chosen, sets);
    for (size_t i = 0; i < count; i++) {
        if (!sets[i].is_taken) {
            send_like(controller, &sets[i], count - i);
        }
    }
    for (size_t i = 0; i < chosen; i++) {
        free_wish(&controller->wishes[i]);
    }
    controller->wish_count -= chosen;
    memmove(controller->wishes, controller->wishes + chosen,
            controller->wish_count * sizeof(*controller->wishes));
}

static void tags_on_timer(void *context)
{
    struct controller *controller = context;
    flush(controller, controller_now(controller));
    tags_start_timer(controller);
}

void tags_init(struct controller *controller)
{
    controller->tag_timer = loop_timer_new(controller->loop, tags_on_timer, controller);
}

void tags_flush(struct controller *controller)
{
    loop_timer_stop(controller->tag_timer);
    flush(controller, INT64_MAX);
}

void tags_clear(struct controller *controller)
{
    for (size_t i = 0; i < controller->wish_count; i++) {
        free_wish(&controller->wishes[i]);
    }
    free(controller->wishes);
    loop_timer_free(controller->tag_timer);
}

/*
 * tags.c: sets tags of machines, batched so that many machines need few calls.
 *
 * Tags are for people and for Ray's own tools, so nothing waits for them, and a call that fails
 * twice is dropped. A status that a node only passes through is written only if it persists:
 * otherwise each node would need a call for every status.
 */
#include "app/control/tags.h"

#include "app/control/timing.h"
#include "base/require.h"
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
    struct tags *owner;
    struct arena memory;
};

static void tag_group_free(void *extra)
{
    struct tag_group *group = extra;
    arena_clear(&group->memory);
    free(group);
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

static void free_tag(struct pending_tag *wanted)
{
    free((char *)(uintptr_t)wanted->key.ptr);
    free((char *)(uintptr_t)wanted->value.ptr);
}

static void tags_start_timer(struct tags *tags)
{
    int64_t now = loop_now_ms(tags->loop);
    int64_t due_at = INT64_MAX;
    for (size_t i = 0; i < tags->wanted_count; i++) {
        int64_t due = tags->wanted[i].due_at;
        due_at = due < due_at ? due : due_at;
    }
    if (due_at < INT64_MAX) {
        loop_timer_start(tags->timer, due_at > now ? due_at - now : 0);
    }
}

static struct pending_tag *tags_find_wanted(struct tags *tags, uint64_t instance, struct str key)
{
    for (size_t i = 0; i < tags->wanted_count; i++) {
        struct pending_tag *wanted = &tags->wanted[i];
        if (wanted->instance == instance && str_eq(wanted->key, key)) {
            return wanted;
        }
    }
    return NULL;
}

void tags_add(struct tags *tags, uint64_t instance, struct str key, struct str value,
              bool is_passing)
{
    int64_t due_at = loop_now_ms(tags->loop) + (is_passing ? PASSING_TAGS_MS : TAGS_MS);
    struct pending_tag *wanted = tags_find_wanted(tags, instance, key);
    if (wanted) {
        free((char *)(uintptr_t)wanted->value.ptr);
        wanted->value = tags_save(value);
        wanted->due_at = due_at < wanted->due_at ? due_at : wanted->due_at;
        require(wanted->due_at <= due_at, "a newer value is not written later than the older one");
        wanted->is_passing = is_passing;
    } else {
        HEAP_ROOM(tags->wanted, tags->wanted_count, tags->wanted_capacity);
        require(tags->wanted_count < tags->wanted_capacity, "there is room for a tag");
        tags->wanted[tags->wanted_count++] = (struct pending_tag){
            instance, tags_save(key), tags_save(value), due_at, is_passing};
    }
    tags_start_timer(tags);
}

static int compare_tags(const void *left, const void *right)
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

static void tags_send(struct tag_group *group);

static void tags_on_tag(void *context, const struct provider_answer *answer)
{
    struct call *call = context;
    if (!call_end(call)) {
        return;
    }
    struct tag_group *group = call->extra;
    call->extra = NULL;
    bool is_done = answer->outcome == OUTCOME_DONE || answer->outcome == OUTCOME_NOT_FOUND;
    if (is_done || group->is_second) {
        tag_group_free(group);
        return;
    }
    group->is_second = true;
    tags_send(group);
}

static void tags_send(struct tag_group *group)
{
    require(group->id_count > 0 && group->tag_count > 0, "a call sets tags of machines");
    struct provider *provider = group->owner->provider;
    struct call *call = call_begin(group->owner->calls);
    call->extra = group;
    call->extra_free = tag_group_free;
    (provider->ops->note ? provider->ops->note : provider->ops->tag)(
        provider, group->ids, group->id_count, group->tags, group->tag_count, tags_on_tag, call);
}

static struct tag_group *new_group(struct tags *owner, const struct pending_tag *set, size_t count,
                                   size_t most_ids)
{
    struct tag_group *group = HEAP_NEW(struct tag_group);
    arena_init(&group->memory);
    group->owner = owner;
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
static size_t gather_sets(const struct tags *tags, size_t wanted_count, struct tag_set *sets)
{
    size_t count = 0;
    for (size_t i = 0; i < wanted_count; i++) {
        const struct pending_tag *wanted = &tags->wanted[i];
        if (count > 0 && sets[count - 1].first->instance == wanted->instance) {
            sets[count - 1].count++;
        } else {
            sets[count++] = (struct tag_set){.first = wanted, .count = 1};
        }
    }
    return count;
}

static void send_like(struct tags *tags, struct tag_set *sets, size_t count)
{
    const struct tag_set *model = &sets[0];
    require(count > 0 && !model->is_taken, "the first set is still to be sent");
    struct tag_group *group = new_group(tags, model->first, model->count, count);
    for (size_t i = 0; i < count; i++) {
        const struct known *known = machine_table_find(tags->machines, sets[i].first->instance);
        if (sets[i].is_taken || sets[i].count != model->count ||
            !same_set(sets[i].first, model->first, model->count)) {
            continue;
        }
        sets[i].is_taken = true;
        if (known && known->machine->state != MACHINE_GONE) {
            group->ids[group->id_count++] = arena_str(&group->memory, known->machine->id);
        }
    }
    require(model->is_taken, "a set is like itself");
    require(group->id_count <= count, "a machine has one set of tags");
    if (group->id_count > 0) {
        tags_send(group);
    } else {
        tag_group_free(group);
    }
}

/* Moves the tags to send now to the front: permanent ones, and passing ones due within TAGS_MS. */
static size_t tags_choose(struct tags *tags, int64_t now)
{
    size_t chosen = 0;
    for (size_t i = 0; i < tags->wanted_count; i++) {
        struct pending_tag wanted = tags->wanted[i];
        if (!wanted.is_passing || wanted.due_at - TAGS_MS <= now) {
            tags->wanted[i] = tags->wanted[chosen];
            tags->wanted[chosen++] = wanted;
        }
    }
    return chosen;
}

static void flush(struct tags *tags, int64_t now)
{
    size_t chosen = tags_choose(tags, now);
    if (chosen == 0) {
        return;
    }
    struct tag_set *sets = ARENA_ARRAY(tags->scratch, chosen, struct tag_set);
    qsort(tags->wanted, chosen, sizeof(*tags->wanted), compare_tags);
    size_t count = gather_sets(tags, chosen, sets);
    require(count > 0 && count <= chosen, "each set has at least one tag");
    for (size_t i = 0; i < count; i++) {
        if (!sets[i].is_taken) {
            send_like(tags, &sets[i], count - i);
        }
    }
    require(chosen <= tags->wanted_count, "the chosen tags are among the pending ones");
    for (size_t i = 0; i < chosen; i++) {
        free_tag(&tags->wanted[i]);
    }
    tags->wanted_count -= chosen;
    memmove(tags->wanted, tags->wanted + chosen, tags->wanted_count * sizeof(*tags->wanted));
}

static void tags_on_timer(void *context)
{
    struct tags *tags = context;
    flush(tags, loop_now_ms(tags->loop));
    tags_start_timer(tags);
}

void tags_init(struct tags *tags)
{
    tags->timer = loop_timer_new(tags->loop, tags_on_timer, tags);
}

void tags_flush(struct tags *tags)
{
    loop_timer_stop(tags->timer);
    flush(tags, INT64_MAX);
}

void tags_clear(struct tags *tags)
{
    for (size_t i = 0; i < tags->wanted_count; i++) {
        free_tag(&tags->wanted[i]);
    }
    free(tags->wanted);
    loop_timer_free(tags->timer);
}

/*
 * desk_follow.c: what is told without being asked for.
 *
 * Followers hear of changes when somebody says that there are some. Those who want all are served
 * by looking: now and then everything is compared with what they were told last. That costs
 * something on large clusters, so the time between two looks grows with what they take.
 */
#include "app/head/channel/desk_parts.h"

#include "core/event.h"
#include "io/clock.h"
#include "io/heap.h"

enum {
    LOOK_MS = 1000,
    LOOK_SOON_MS = 100, /* something is known to have changed */
    LOOK_SHARE = 50,    /* of the time is spent on looking, at most */
    SEEN_STEP_MS = 5000 /* that Ray is seen is told so often */
};

/* ---- one guest ---- */

static void say_view(void *context, const struct node_view *view)
{
    desk_say(context, &(struct ctl_line){.kind = CTL_NODE, .node = *view});
}

static void say_demands(struct guest *guest)
{
    struct desk *desk = guest->desk;
    struct insight insight = {0};
    desk->hooks.insight(desk->hooks.context, &desk->arena, &insight);
    for (size_t i = 0; i < insight.demand_count && i < DESK_DEMANDS_MAX; i++) {
        desk_say(guest, &(struct ctl_line){.kind = CTL_DEMAND, .demand = insight.demands[i]});
    }
}

void desk_say_all(struct guest *guest, bool wants_all)
{
    struct desk *desk = guest->desk;
    struct ctl_line line = {.kind = CTL_STATUS};
    desk->hooks.status(desk->hooks.context, &desk->arena, &line.status);
    desk_say(guest, &line);
    desk->hooks.each(desk->hooks.context, &desk->arena, say_view, guest);
    if (wants_all) {
        say_demands(guest);
    }
}

static void say_event(void *context, const struct insight_event *event)
{
    struct guest *guest = context;
    desk_say(guest, &(struct ctl_line){.kind = CTL_EVENT, .event = *event});
    guest->events_after = event->number;
}

bool desk_say_events(struct guest *guest, struct err *err)
{
    struct desk *desk = guest->desk;
    return desk->hooks.events(desk->hooks.context, guest->events_after, say_event, guest, err);
}

/* ---- what was told to those who want all ---- */

static uint64_t hash_of(const struct told *told)
{
    uint64_t hash = str_hash_from(str_hash(told->name), told->labels);
    return hash * 31 + (told->is_node ? 7 : (uint64_t)told->source);
}

struct told_search {
    const struct told_list *list;
    const struct told *told;
};

static bool is_same(const void *context, size_t position)
{
    const struct told_search *search = context;
    const struct told *a = &search->list->items[position];
    const struct told *b = search->told;
    return a->is_node == b->is_node && a->source == b->source && str_eq(a->name, b->name) &&
           str_eq(a->labels, b->labels);
}

static struct told *find_told(struct told_list *list, const struct told *told)
{
    struct told_search search = {list, told};
    size_t at = table_find(&list->table, hash_of(told), is_same, &search);
    return at == TABLE_NONE ? NULL : &list->items[at];
}

static void add_told(struct told_list *list, const struct told *told)
{
    struct arena *arena = &list->arena;
    arena_grow(arena, (void **)&list->items, list->count, &list->capacity, sizeof(*list->items));
    struct told *kept = &list->items[list->count];
    *kept = *told;
    kept->name = arena_str(arena, told->name);
    kept->labels = arena_str(arena, told->labels);
    table_add(&list->table, arena, hash_of(kept), list->count++);
}

static void forget_told(struct told_list *list)
{
    arena_clear(&list->arena);
    list->items = NULL;
    list->count = list->capacity = 0;
    list->table = (struct table){0};
}

/* ---- looking ---- */

static void say_to_all(struct desk *desk, struct str bytes, bool to_plain, bool to_wide)
{
    for (struct guest *guest = desk->guests; guest; guest = guest->next) {
        if (guest->follows && (guest->wants_all ? to_wide : to_plain)) {
            local_link_write(guest->link, bytes);
        }
    }
}

/* Told again when it is not what it was. */
static void look_at(struct desk *desk, struct told *told, const struct ctl_line *line)
{
    AUTO_BUF struct buf out;
    struct told *before = find_told(&desk->told[1 - desk->told_now], told);
    buf_init(&out, DESK_OUT_BYTES_MAX);
    ctl_line_write(line, &out);
    told->mark = str_hash(buf_str(&out));
    if (find_told(&desk->told[desk->told_now], told)) {
        return; /* two of one name: the first counts */
    }
    add_told(&desk->told[desk->told_now], told);
    if (before) {
        before->is_still_there = true;
    }
    if ((!before || before->mark != told->mark) && !out.is_full) {
        say_to_all(desk, buf_str(&out), false, true);
    }
}

static void look_at_node(void *context, const struct node_view *view)
{
    struct told told = {.is_node = true, .name = view->name};
    look_at(context, &told, &(struct ctl_line){.kind = CTL_NODE, .node = *view});
}

static void look_at_demands(struct desk *desk)
{
    struct insight insight = {0};
    desk->hooks.insight(desk->hooks.context, &desk->arena, &insight);
    for (size_t i = 0; i < insight.demand_count && i < DESK_DEMANDS_MAX; i++) {
        const struct insight_demand *demand = &insight.demands[i];
        struct told told = {
            .source = demand->source, .name = demand->shape, .labels = demand->labels};
        look_at(desk, &told, &(struct ctl_line){.kind = CTL_DEMAND, .demand = *demand});
    }
}

static void say_gone(struct desk *desk, const struct told *told)
{
    struct ctl_line line = {.kind = told->is_node ? CTL_NODE : CTL_DEMAND};
    AUTO_BUF struct buf out;
    buf_init(&out, DESK_OUT_BYTES_MAX);
    if (told->is_node) {
        line.node = (struct node_view){.name = told->name, .phase = PHASE_GONE, .price = -1};
    } else {
        line.demand = (struct insight_demand){
            .source = told->source, .shape = told->name, .labels = told->labels};
    }
    ctl_line_write(&line, &out);
    say_to_all(desk, buf_str(&out), false, true);
}

static void look_at_all(struct desk *desk)
{
    struct told_list *before = &desk->told[desk->told_now];
    desk->told_now = 1 - desk->told_now;
    forget_told(&desk->told[desk->told_now]);
    desk->hooks.each(desk->hooks.context, &desk->arena, look_at_node, desk);
    look_at_demands(desk);
    for (size_t i = 0; i < before->count; i++) {
        if (!before->items[i].is_still_there) {
            say_gone(desk, &before->items[i]);
        }
    }
}

static bool has_follower(const struct desk *desk)
{
    for (const struct guest *guest = desk->guests; guest; guest = guest->next) {
        if (guest->follows || guest->follows_events) {
            return true;
        }
    }
    return false;
}

static bool has_wide(const struct desk *desk)
{
    for (const struct guest *guest = desk->guests; guest; guest = guest->next) {
        if (guest->wants_all) {
            return true;
        }
    }
    return false;
}

/* Not sooner than what it costs allows. */
static void look_within(struct desk *desk, int64_t delay_ms)
{
    int64_t now = loop_now_ms(desk->loop);
    int64_t least = desk->looked_ms + desk->costs_ms * LOOK_SHARE;
    int64_t at = now + delay_ms > least ? now + delay_ms : least;
    if (desk->look_at_ms == 0 || at < desk->look_at_ms) {
        desk->look_at_ms = at;
        loop_timer_start(desk->look, at - now);
    }
}

/* ---- all followers ---- */

/* That Ray was seen again is no news; it is told now and then. */
static void tell_status(struct desk *desk)
{
    struct ctl_line line = {.kind = CTL_STATUS};
    AUTO_BUF struct buf out;
    AUTO_BUF struct buf lasting;
    buf_init(&out, DESK_OUT_BYTES_MAX);
    buf_init(&lasting, DESK_OUT_BYTES_MAX);
    desk->hooks.status(desk->hooks.context, &desk->arena, &line.status);
    ctl_line_write(&line, &out);
    line.status.now_ms = 0;
    line.status.seen_ms -= line.status.seen_ms % SEEN_STEP_MS;
    ctl_line_write(&line, &lasting);
    if (str_eq(buf_str(&lasting), buf_str(&desk->last_status))) {
        return;
    }
    desk->last_status.len = 0;
    buf_add(&desk->last_status, buf_str(&lasting));
    say_to_all(desk, buf_str(&out), true, true);
}

static void tell_node(struct desk *desk, uint64_t instance)
{
    struct ctl_line line = {.kind = CTL_NODE};
    AUTO_BUF struct buf out;
    buf_init(&out, DESK_OUT_BYTES_MAX);
    if (desk->hooks.one(desk->hooks.context, instance, &desk->arena, &line.node)) {
        ctl_line_write(&line, &out);
        say_to_all(desk, buf_str(&out), true, false);
    }
}

static void tell(void *context)
{
    struct desk *desk = context;
    size_t count = desk->changed_count;
    desk->changed_count = 0;
    if (!has_follower(desk)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        tell_node(desk, desk->changed[i]);
    }
    tell_status(desk);
    look_within(desk, LOOK_SOON_MS);
    arena_clear(&desk->arena);
}

static void tell_events(struct desk *desk)
{
    struct err ignored; /* it is tried again at the next look */
    for (struct guest *guest = desk->guests; guest; guest = guest->next) {
        if (guest->follows_events && !desk_say_events(guest, &ignored)) {
            return;
        }
    }
}

static void look(void *context)
{
    struct desk *desk = context;
    int64_t began = clock_monotonic_ms(loop_clock(desk->loop));
    desk->look_at_ms = 0;
    tell_events(desk);
    if (has_wide(desk)) {
        look_at_all(desk);
        tell_status(desk);
    }
    desk->looked_ms = clock_monotonic_ms(loop_clock(desk->loop));
    desk->costs_ms = desk->looked_ms - began;
    if (has_follower(desk)) {
        look_within(desk, LOOK_MS);
    }
    arena_clear(&desk->arena);
}

void desk_begin_follow(struct guest *guest, bool wants_all)
{
    struct desk *desk = guest->desk;
    if (wants_all) {
        look_at_all(desk); /* what it is told now is what will be compared with */
    }
    desk_say_all(guest, wants_all);
    guest->follows = true;
    guest->wants_all = wants_all;
    if (wants_all) {
        look_within(desk, LOOK_MS);
    }
}

void desk_begin_events(struct guest *guest)
{
    guest->follows_events = true;
    look_within(guest->desk, LOOK_MS);
}

/* ---- changes ---- */

static void note_changed(struct desk *desk, uint64_t instance)
{
    for (size_t i = 0; i < desk->changed_count; i++) {
        if (desk->changed[i] == instance) {
            return;
        }
    }
    if (desk->changed_count == desk->changed_capacity) {
        size_t more = desk->changed_capacity > 0 ? 2 * desk->changed_capacity : 64;
        uint64_t *items = realloc(desk->changed, more * sizeof(*items));
        if (!items) {
            panic("out of memory (%zu changes)", more);
        }
        desk->changed = items;
        desk->changed_capacity = more;
    }
    desk->changed[desk->changed_count++] = instance;
}

void desk_changed(struct desk *desk, uint64_t instance)
{
    if (instance != INSTANCE_NONE) {
        note_changed(desk, instance);
    }
    loop_later(desk->loop, &desk->telling);
}

void desk_tell_trouble(struct desk *desk, struct str text)
{
    for (struct guest *guest = desk->guests; guest; guest = guest->next) {
        if (guest->follows) {
            desk_say_text(guest, CTL_ERROR, text, STR(""));
        }
    }
}

/* ---- opening and closing ---- */

void desk_follow_open(struct desk *desk)
{
    buf_init(&desk->last_status, CTL_LINE_BYTES_MAX);
    arena_init(&desk->told[0].arena);
    arena_init(&desk->told[1].arena);
    desk->telling = (struct loop_task){.run = tell, .context = desk};
    desk->look = loop_timer_new(desk->loop, look, desk);
}

void desk_follow_close(struct desk *desk)
{
    loop_later_cancel(desk->loop, &desk->telling);
    loop_timer_free(desk->look);
    buf_clear(&desk->last_status);
    arena_clear(&desk->told[0].arena);
    arena_clear(&desk->told[1].arena);
    free(desk->changed);
}

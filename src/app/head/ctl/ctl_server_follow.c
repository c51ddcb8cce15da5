/*
 * ctl_server_follow.c: sends changes to followers.
 *
 * Plain followers are notified when a change is reported. For full followers, everything is
 * periodically compared with what was sent last. That is expensive for large clusters, so the
 * interval grows with the duration of the comparison.
 */
#include "app/head/ctl/ctl_server_internal.h"

#include "core/event.h"
#include "io/clock.h"
#include "io/xalloc.h"

enum {
    LOOK_MS = 1000,
    LOOK_SOON_MS = 100, /* delay after a known change */
    LOOK_SHARE = 50,    /* at most 1/50 of the time is spent on comparing */
    LOOK_PAUSE_MOST_MS = 5000,
    SEEN_STEP_MS = 5000 /* resolution of seen_ms in updates */
};

/* ---- one client ---- */

static void say_view(void *context, const struct node_view *view)
{
    ctl_conn_send(context, &(struct ctl_line){.kind = CTL_NODE, .node = *view});
}

static void say_demands(struct ctl_conn *conn)
{
    struct ctl_server *server = conn->server;
    struct cluster_status cluster_status = {0};
    server->hooks.cluster_status(server->hooks.context, &server->arena, &cluster_status);
    for (size_t i = 0; i < cluster_status.demand_count && i < DESK_DEMANDS_MAX; i++) {
        ctl_conn_send(conn,
                      &(struct ctl_line){.kind = CTL_DEMAND, .demand = cluster_status.demands[i]});
    }
}

void ctl_conn_send_all(struct ctl_conn *conn, bool wants_full)
{
    struct ctl_server *server = conn->server;
    struct ctl_line line = {.kind = CTL_STATUS};
    server->hooks.status(server->hooks.context, &server->arena, &line.status);
    ctl_conn_send(conn, &line);
    server->hooks.each(server->hooks.context, &server->arena, say_view, conn);
    if (wants_full) {
        say_demands(conn);
    }
}

static void ctl_server_follow_send_event(void *context, const struct cluster_event *event)
{
    struct ctl_conn *conn = context;
    ctl_conn_send(conn, &(struct ctl_line){.kind = CTL_EVENT, .event = *event});
    conn->events_after = event->number;
}

bool ctl_conn_send_events(struct ctl_conn *conn, struct err *err)
{
    struct ctl_server *server = conn->server;
    return server->hooks.events(server->hooks.context, conn->events_after,
                                ctl_server_follow_send_event, conn, err);
}

/* ---- snapshots for full followers ---- */

static uint64_t ctl_server_follow_hash_of(const struct snapshot_item *snapshot_item)
{
    uint64_t hash = str_hash_from(str_hash(snapshot_item->name), snapshot_item->labels);
    hash = str_hash_from(hash, snapshot_item->job);
    return hash * 31 + (snapshot_item->is_node ? 7 : (uint64_t)snapshot_item->source);
}

struct told_search {
    const struct ctl_snapshot *list;
    const struct snapshot_item *snapshot_item;
};

static bool ctl_server_follow_is_same(const void *context, size_t position)
{
    const struct told_search *search = context;
    const struct snapshot_item *a = &search->list->items[position];
    const struct snapshot_item *b = search->snapshot_item;
    return a->is_node == b->is_node && a->source == b->source && str_eq(a->name, b->name) &&
           str_eq(a->labels, b->labels) && str_eq(a->job, b->job);
}

static struct snapshot_item *find_told(struct ctl_snapshot *list,
                                       const struct snapshot_item *snapshot_item)
{
    struct told_search search = {list, snapshot_item};
    size_t at = table_find(&list->table, ctl_server_follow_hash_of(snapshot_item),
                           ctl_server_follow_is_same, &search);
    return at == TABLE_NONE ? NULL : &list->items[at];
}

static void add_told(struct ctl_snapshot *list, const struct snapshot_item *snapshot_item)
{
    struct arena *arena = &list->arena;
    ARENA_GROW(arena, list->items, list->count, list->capacity);
    struct snapshot_item *kept = &list->items[list->count];
    *kept = *snapshot_item;
    kept->name = arena_str(arena, snapshot_item->name);
    kept->labels = arena_str(arena, snapshot_item->labels);
    kept->job = arena_str(arena, snapshot_item->job);
    table_add(&list->table, arena, ctl_server_follow_hash_of(kept), list->count++);
}

static void forget_told(struct ctl_snapshot *list)
{
    arena_clear(&list->arena);
    list->items = NULL;
    list->count = list->capacity = 0;
    list->table = (struct table){0};
}

/* ---- comparison ---- */

static void say_to_all(struct ctl_server *server, struct str bytes, bool to_plain, bool to_wide)
{
    for (struct ctl_conn *conn = server->conns; conn; conn = conn->next) {
        if (conn->follows && (conn->wants_full ? to_wide : to_plain)) {
            line_link_write(conn->link, bytes);
        }
    }
}

/* Sends it again if it has changed. */
static void ctl_server_follow_do_inspect(struct ctl_server *server,
                                         struct snapshot_item *snapshot_item,
                                         const struct ctl_line *line)
{
    AUTO_BUF struct buf out;
    struct snapshot_item *before = find_told(&server->snapshot_item[1 - server->told_now],
                                             snapshot_item);
    buf_init(&out, DESK_OUT_BYTES_MAX);
    ctl_line_write(line, &out);
    snapshot_item->mark = str_hash(buf_str(&out));
    if (find_told(&server->snapshot_item[server->told_now], snapshot_item)) {
        return; /* duplicate name: the first is used */
    }
    add_told(&server->snapshot_item[server->told_now], snapshot_item);
    if (before) {
        before->is_still_there = true;
    }
    if ((!before || before->mark != snapshot_item->mark) && !out.is_full) {
        say_to_all(server, buf_str(&out), false, true);
    }
}

static void look_at_node(void *context, const struct node_view *view)
{
    struct snapshot_item snapshot_item = {.is_node = true, .name = view->name};
    ctl_server_follow_do_inspect(context, &snapshot_item,
                                 &(struct ctl_line){.kind = CTL_NODE, .node = *view});
}

static void look_at_demands(struct ctl_server *server)
{
    struct cluster_status cluster_status = {0};
    server->hooks.cluster_status(server->hooks.context, &server->arena, &cluster_status);
    for (size_t i = 0; i < cluster_status.demand_count && i < DESK_DEMANDS_MAX; i++) {
        const struct pending_demand *demand = &cluster_status.demands[i];
        struct snapshot_item snapshot_item = {.source = demand->source,
                                              .name = demand->shape,
                                              .labels = demand->labels,
                                              .job = demand->job};
        ctl_server_follow_do_inspect(server, &snapshot_item,
                                     &(struct ctl_line){.kind = CTL_DEMAND, .demand = *demand});
    }
}

static void say_gone(struct ctl_server *server, const struct snapshot_item *snapshot_item)
{
    struct ctl_line line = {.kind = snapshot_item->is_node ? CTL_NODE : CTL_DEMAND};
    AUTO_BUF struct buf out;
    buf_init(&out, DESK_OUT_BYTES_MAX);
    if (snapshot_item->is_node) {
        line.node = (struct node_view){
            .name = snapshot_item->name, .phase = PHASE_TERMINATED, .price = -1};
    } else {
        line.demand = (struct pending_demand){.source = snapshot_item->source,
                                              .shape = snapshot_item->name,
                                              .labels = snapshot_item->labels,
                                              .job = snapshot_item->job};
    }
    ctl_line_write(&line, &out);
    say_to_all(server, buf_str(&out), false, true);
}

static void look_at_all(struct ctl_server *server)
{
    struct ctl_snapshot *before = &server->snapshot_item[server->told_now];
    server->told_now = 1 - server->told_now;
    forget_told(&server->snapshot_item[server->told_now]);
    server->hooks.each(server->hooks.context, &server->arena, look_at_node, server);
    look_at_demands(server);
    for (size_t i = 0; i < before->count; i++) {
        if (!before->items[i].is_still_there) {
            say_gone(server, &before->items[i]);
        }
    }
}

static bool has_follower(const struct ctl_server *server)
{
    for (const struct ctl_conn *conn = server->conns; conn; conn = conn->next) {
        if (conn->follows || conn->follows_events) {
            return true;
        }
    }
    return false;
}

static bool has_wide(const struct ctl_server *server)
{
    for (const struct ctl_conn *conn = server->conns; conn; conn = conn->next) {
        if (conn->wants_full) {
            return true;
        }
    }
    return false;
}

/* Limits the share of time spent on comparisons. The time also passes while others use the
 * processor, so the pause has a limit. */
static void look_within(struct ctl_server *server, int64_t delay_ms)
{
    int64_t now = loop_now_ms(server->loop);
    int64_t pause_ms = server->costs_ms * LOOK_SHARE;
    int64_t least = server->looked_ms +
                    (pause_ms < LOOK_PAUSE_MOST_MS ? pause_ms : LOOK_PAUSE_MOST_MS);
    int64_t at = now + delay_ms > least ? now + delay_ms : least;
    if (server->look_at_ms == 0 || at < server->look_at_ms) {
        server->look_at_ms = at;
        loop_timer_start(server->look, at - now);
    }
}

/* ---- all followers ---- */

/* A newer seen_ms alone is sent only every SEEN_STEP_MS. */
static void tell_status(struct ctl_server *server)
{
    struct ctl_line line = {.kind = CTL_STATUS};
    AUTO_BUF struct buf out;
    AUTO_BUF struct buf lasting;
    buf_init(&out, DESK_OUT_BYTES_MAX);
    buf_init(&lasting, DESK_OUT_BYTES_MAX);
    server->hooks.status(server->hooks.context, &server->arena, &line.status);
    ctl_line_write(&line, &out);
    line.status.now_ms = 0;
    line.status.seen_ms -= line.status.seen_ms % SEEN_STEP_MS;
    ctl_line_write(&line, &lasting);
    if (str_eq(buf_str(&lasting), buf_str(&server->last_status))) {
        return;
    }
    server->last_status.len = 0;
    buf_add(&server->last_status, buf_str(&lasting));
    say_to_all(server, buf_str(&out), true, true);
}

static void tell_node(struct ctl_server *server, uint64_t instance)
{
    struct ctl_line line = {.kind = CTL_NODE};
    AUTO_BUF struct buf out;
    buf_init(&out, DESK_OUT_BYTES_MAX);
    if (server->hooks.one(server->hooks.context, instance, &server->arena, &line.node)) {
        ctl_line_write(&line, &out);
        say_to_all(server, buf_str(&out), true, false);
    }
}

static void ctl_server_follow_report(void *context)
{
    struct ctl_server *server = context;
    size_t count = server->changed_count;
    server->changed_count = 0;
    if (!has_follower(server)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        tell_node(server, server->changed[i]);
    }
    tell_status(server);
    look_within(server, LOOK_SOON_MS);
    arena_clear(&server->arena);
}

static void tell_events(struct ctl_server *server)
{
    struct err ignored; /* retried at the next run */
    for (struct ctl_conn *conn = server->conns; conn; conn = conn->next) {
        if (conn->follows_events && !ctl_conn_send_events(conn, &ignored)) {
            return;
        }
    }
}

static void ctl_server_follow_inspect(void *context)
{
    struct ctl_server *server = context;
    int64_t began = clock_monotonic_ms(loop_clock(server->loop));
    server->look_at_ms = 0;
    tell_events(server);
    if (has_wide(server)) {
        look_at_all(server);
        tell_status(server);
    }
    server->looked_ms = clock_monotonic_ms(loop_clock(server->loop));
    server->costs_ms = server->looked_ms - began;
    if (has_follower(server)) {
        look_within(server, LOOK_MS);
    }
    arena_clear(&server->arena);
}

void ctl_conn_follow(struct ctl_conn *conn, bool wants_full)
{
    struct ctl_server *server = conn->server;
    if (wants_full) {
        look_at_all(server); /* the snapshot must match what is sent now */
    }
    ctl_conn_send_all(conn, wants_full);
    conn->follows = true;
    conn->wants_full = wants_full;
    if (wants_full) {
        look_within(server, LOOK_MS);
    }
}

void ctl_conn_follow_events(struct ctl_conn *conn)
{
    conn->follows_events = true;
    look_within(conn->server, LOOK_MS);
}

/* ---- changes ---- */

static void note_changed(struct ctl_server *server, uint64_t instance)
{
    for (size_t i = 0; i < server->changed_count; i++) {
        if (server->changed[i] == instance) {
            return;
        }
    }
    HEAP_ROOM(server->changed, server->changed_count, server->changed_capacity);
    server->changed[server->changed_count++] = instance;
}

void ctl_server_notify(struct ctl_server *server, uint64_t instance)
{
    if (instance != INSTANCE_NONE) {
        note_changed(server, instance);
    }
    loop_defer(server->loop, &server->notifying);
}

void ctl_server_broadcast_error(struct ctl_server *server, struct str text)
{
    for (struct ctl_conn *conn = server->conns; conn; conn = conn->next) {
        if (conn->follows) {
            ctl_conn_send_text(conn, CTL_ERROR, text, STR(""));
        }
    }
}

/* ---- opening and closing ---- */

void ctl_server_follow_open(struct ctl_server *server)
{
    buf_init(&server->last_status, CTL_LINE_BYTES_MAX);
    arena_init(&server->snapshot_item[0].arena);
    arena_init(&server->snapshot_item[1].arena);
    server->notifying = (struct loop_task){.run = ctl_server_follow_report, .context = server};
    server->look = loop_timer_new(server->loop, ctl_server_follow_inspect, server);
}

void ctl_server_follow_close(struct ctl_server *server)
{
    loop_later_cancel(server->loop, &server->notifying);
    loop_timer_free(server->look);
    buf_clear(&server->last_status);
    arena_clear(&server->snapshot_item[0].arena);
    arena_clear(&server->snapshot_item[1].arena);
    free(server->changed);
}

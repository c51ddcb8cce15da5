/*
 * desk_parts.h: the desk from inside; shared by the files that make it up.
 *
 *     desk.c         guests and their requests
 *     desk_say.c     a line for one guest
 *     desk_follow.c  what is told without being asked for
 *     desk_log.c     logs, once or as they grow
 */
#pragma once

#include "app/head/channel/desk.h"
#include "base/table.h"
#include "io/local_socket.h"
#include "io/watch.h"

enum { DESK_OUT_BYTES_MAX = 2 * CTL_LINE_BYTES_MAX, DESK_DEMANDS_MAX = 5000 };

struct guest {
    struct guest *next, *before;
    struct desk *desk;
    struct local_link *link;
    bool follows;
    bool wants_all; /* demands, and what runs on the nodes */
    bool follows_events;
    int64_t events_after;    /* the last that it was told */
    bool has_ended;          /* it asks no more, but waits for that answer */
    const char *waits_for;   /* an answer that comes later */
    struct watch *log_watch; /* it follows a log */
    char *log_path;
    size_t log_offset; /* that it has seen */
};

/* A node or a kind of request that whoever wants all was told of. */
struct told {
    bool is_node;
    enum insight_source source;
    struct str name; /* of a node, or the shape */
    struct str labels;
    uint64_t mark; /* of the line */
    bool is_still_there;
};

struct told_list {
    struct arena arena;
    struct told *items;
    size_t count, capacity;
    struct table table;
};

struct desk {
    struct loop *loop;
    struct arena arena; /* of one answer */
    char *folder;
    struct desk_hooks hooks;
    struct local_server *server;
    struct guest *guests;
    size_t guest_count;
    struct loop_task telling;
    uint64_t *changed; /* on the heap */
    size_t changed_count, changed_capacity;
    struct buf last_status;      /* as it was told last */
    struct loop_timer *look;     /* for those who want all, and for events */
    int64_t look_at_ms;          /* monotonic, when it will; 0: it rests */
    int64_t looked_ms, costs_ms; /* monotonic, when it did, and how long that took */
    struct told_list told[2];    /* as of the last look, and of the one before */
    size_t told_now;
};

/* ---- desk_say.c ---- */

void desk_say(struct guest *guest, const struct ctl_line *line);
void desk_say_text(struct guest *guest, enum ctl_line_kind kind, struct str text, struct str about);
char *desk_copy(struct str text); /* on the heap */

/* ---- desk_follow.c ---- */

/* Everything as it is now, demands for those who want them. */
void desk_say_all(struct guest *guest, bool wants_all);
void desk_begin_follow(struct guest *guest, bool wants_all);
/* False, with err: they cannot be read. */
bool desk_say_events(struct guest *guest, struct err *err) MUST_USE;
void desk_begin_events(struct guest *guest);
void desk_follow_open(struct desk *desk);
void desk_follow_close(struct desk *desk);

/* ---- desk_log.c ---- */

void desk_say_log(struct guest *guest, const struct ctl_request *request);

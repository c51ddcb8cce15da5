/*
 * ctl_server_internal.h: struct ctl_server, shared by the files that implement it.
 *
 *     ctl_server.c         clients and their requests
 *     ctl_server_follow.c  sends changes to followers
 *     ctl_server_log.c     sends logs, once or as they grow
 */
#pragma once

#include "app/head/ctl/ctl_server.h"
#include "base/table.h"
#include "io/file_watch.h"
#include "io/line_socket.h"

enum { DESK_OUT_BYTES_MAX = 2 * CTL_LINE_BYTES_MAX, DESK_DEMANDS_MAX = 5000 };

struct ctl_conn {
    struct ctl_conn *next, *before;
    struct ctl_server *server;
    struct line_link *link;
    bool follows;
    bool wants_full; /* demands and usage of nodes */
    bool follows_events;
    int64_t events_after;         /* the last one that was sent */
    bool has_ended;               /* closed its side, but waits for an answer */
    const char *waits_for;        /* a request that is answered later */
    char *about;                  /* while it waits for an explanation */
    struct file_watch *log_watch; /* set while it follows a log */
    char *log_path;
    size_t log_offset;   /* sent so far */
    bool follows_log;    /* also send new lines of the log */
    bool is_sending_log; /* the next piece is sent when the client has read the last */
};

/* A node or kind of request as last sent to full followers. */
struct snapshot_item {
    bool is_node;
    enum demand_source source;
    struct str name; /* name of a node, or the shape of a demand */
    struct str labels;
    struct str job; /* of a demand */
    uint64_t mark;  /* hash of the line */
    bool is_still_there;
};

struct ctl_snapshot {
    struct arena arena;
    struct snapshot_item *items;
    size_t count, capacity;
    struct table table;
};

struct ctl_server {
    struct loop *loop;
    struct arena arena; /* memory for one answer */
    char *folder;
    struct ctl_server_hooks hooks;
    struct line_server *socket;
    struct ctl_conn *conns;
    size_t conn_count;
    struct loop_task notifying;
    uint64_t *changed; /* heap */
    size_t changed_count, changed_capacity;
    struct buf last_status;               /* the status that was sent last */
    struct loop_timer *look;              /* timer for full followers and events */
    int64_t look_at_ms;                   /* monotonic; next run, or 0 */
    int64_t looked_ms, costs_ms;          /* monotonic; last run and its duration */
    struct ctl_snapshot snapshot_item[2]; /* the current and the previous one */
    size_t told_now;
};

/* ---- ctl_server.c ---- */

void ctl_conn_send(struct ctl_conn *conn, const struct ctl_line *line);
void ctl_conn_send_text(struct ctl_conn *conn, enum ctl_line_kind kind, struct str text,
                        struct str about);
char *ctl_server_copy(struct str text); /* heap */

/* ---- ctl_server_follow.c ---- */

/* The complete state, with demands if wanted. */
void ctl_conn_send_all(struct ctl_conn *conn, bool wants_full);
void ctl_conn_follow(struct ctl_conn *conn, bool wants_full);
/* False if they cannot be read. */
bool ctl_conn_send_events(struct ctl_conn *conn, struct err *err) MUST_USE;
void ctl_conn_follow_events(struct ctl_conn *conn);
void ctl_server_follow_open(struct ctl_server *server);
void ctl_server_follow_close(struct ctl_server *server);

/* ---- ctl_server_log.c ---- */

void ctl_conn_send_log(struct ctl_conn *conn, const struct ctl_request *request);
void ctl_conn_continue_log(struct ctl_conn *conn);

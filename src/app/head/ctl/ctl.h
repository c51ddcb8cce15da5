/*
 * ctl.h: the control protocol between the commands and the head's service: lines of JSON.
 *
 * The service listens on ~/.shoal/cluster/ctl.sock (0600). `shoal ctl` on the head connects its
 * standard input and output to it, so commands on the laptop use `ssh head ~/.shoal/bin/shoal ctl`.
 * The service sends the first line:
 *
 *     {"shoal": "0.1.0", "protocol": 1, "min_protocol": 1, "cluster": "demo", "uid": "...",
 *      "epoch": 3}
 *
 * and then answers requests. It speaks the protocols from "min_protocol" to "protocol". Requests:
 *
 *     {"request": "status"}      -> {"status": {...}}, {"node": {...}} for each node,
 *                                   {"end": "status"}
 *     {"request": "follow"}      the same without the end, then every change as it happens
 *     {"request": "status", "all": true}, {"request": "follow", "all": true}
 *                                with {"demand": {...}} for each kind of pending request. One that
 *                                is no longer pending is sent without a count. Nodes are also sent
 *                                when the work on them changes, not only with their next step.
 *     {"request": "ray-status"}  -> {"text": "..."}, the output of `ray status`,
 *                                   {"end": "ray-status"}
 *     {"request": "explain", "subject": "worker-3"}
 *                                -> {"explain": {"question": "...", "answer": ["..."],
 *                                   "fix": "..."}}..., {"end": "explain"}; without "subject":
 *                                   everything that needs an explanation
 *     {"request": "events", "after": 17, "follow": true}
 *                                -> {"event": {...}}..., {"end": "events"}
 *     {"request": "request-resources", "bundles": [{"amounts": {"CPU": 4}, "count": 2}]}
 *                                -> {"done": "request-resources"}, or with a warning
 *                                   {"text": "..."}, {"end": "request-resources"}
 *     {"request": "train-demand", "job": "NAME", "session": "session_...",
 *      "bundles": [{"amounts": {"CPU": 1}, "count": 2}]}
 *                                a training job lacks room for these replicas
 *                                -> {"done": "train-demand"}, or {"text": "why none are launched"},
 *                                   {"end": "train-demand"}. "session" is the name of Ray's
 *                                   session; that of another Ray cluster is an error. The request
 *                                   replaces the last one of the job; without bundles it is
 *                                   withdrawn. It must be repeated within 60 s, on any connection.
 *                                   "leaving" in a bundle: replicas on nodes that are about to be
 *                                   interrupted, whose replacements are in "count", or run.
 *     {"request": "update"}      reads the new handover.json -> {"done": "update"}
 *     {"request": "release"}     releases the lease and stops -> as "status", then
 *                                {"done": "release"}
 *     {"request": "terminate"}   terminates all workers -> {"done": "terminate"}, then shuts down
 *                                this machine
 *     {"request": "log", "node": "worker-2", "follow": true}
 *                                -> {"log": "line"}..., {"end": "log"}; a connection follows one
 *                                   log at a time: a second request replaces the first
 *
 * An error is {"error": "...", "request": "..."}; an unknown request is an error. An error without
 * "request" goes to all followers: for example, the cloud refuses a launch.
 *
 * Different versions are compatible: unknown keys and lines are ignored, and kinds of lines added
 * after the first protocol are only sent on request.
 */
#pragma once

#include "app/model/cluster_status.h"
#include "app/model/node_view.h"
#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "io/child.h"
#include "ray/gcs.h"

/* Also sent by a shell on the head, when a command with --stop has ended. */
#define CTL_REQUEST_TERMINATE "terminate"

enum { CTL_PROTOCOL = 1, CTL_PROTOCOL_LEAST = 1, CTL_LINE_BYTES_MAX = 1 << 20 };

enum autoscaler_state {
    AUTOSCALER_UNKNOWN, /* a newer version has more states */
    AUTOSCALER_ACTIVE,  /* the service holds the lease */
    AUTOSCALER_STANDBY, /* another controller or Ray's own autoscaler manages the workers */
    AUTOSCALER_CRASH_LOOPING,
    AUTOSCALER_STATE_COUNT,
};

/* The cluster as a whole, without its nodes. */
struct ctl_status {
    struct str ray_version; /* empty if Ray does not answer */
    struct str ray_address; /* "10.0.0.4:6379" */
    bool is_ray_gone;       /* nothing accepts connections there */
    enum autoscaler_state autoscaler;
    struct str autoscaler_message; /* why it is not active or cannot act; may be empty */
    struct str goal;               /* "run", "down" */
    size_t stopped;                /* kept workers, whose disks are billed */
    size_t joined;                 /* nodes that are alive in Ray */
    size_t wanted;                 /* required nodes, including the head */
    bool is_settled;               /* all desired nodes have joined or failed permanently */
    bool is_ray_scaling;  /* Ray's own autoscaler keeps the workers; autoscaler_message says why */
    int64_t serial;       /* serial of the handover in force */
    int64_t now_ms;       /* the head's wall clock, for computing ages; 0 if missing */
    int64_t seen_ms;      /* wall clock; 0 if Ray was never seen */
    int64_t price;        /* micro-dollars per hour of all nodes; -1 if any is unknown */
    int64_t price_limit;  /* max_hourly_cost; -1 if unset */
    struct str launching; /* why nothing is launched; empty if permitted */
    struct str ending;    /* why nothing is terminated; empty if permitted */
    struct str waits_for; /* what is not settled yet, such as "worker-1 (joining)"; may be empty */
    bool waits_for_lease; /* `waits_for` is the lease: until then the service launches nothing */
    struct str held;      /* why fewer workers run than min_workers; may be empty */
    struct str idle_stop; /* what keeps the cluster running, or when it stops; empty: never stops */
    int64_t jobs;         /* connected drivers; -1 if unknown */
    int64_t waiting;      /* pending requests */
    int64_t unmet;        /* of these, requests that no possible launch can serve */
    size_t demand_count;  /* kinds of pending requests */
};

/* A question about the cluster and its answer. */
struct ctl_answer {
    struct str question;
    const struct str *lines;
    size_t line_count;
    struct str fix; /* what to change; may be empty */
};

enum ctl_line_kind {
    CTL_GREETING,
    CTL_STATUS,
    CTL_NODE,
    CTL_LOG,
    CTL_DONE,
    CTL_END,
    CTL_ERROR,
    CTL_DEMAND,
    CTL_EVENT,
    CTL_EXPLAIN,
    CTL_TEXT,
    CTL_OTHER, /* a line of a newer version; ignored */
};

struct ctl_line {
    enum ctl_line_kind kind;
    struct ctl_status status;
    struct node_view node;
    struct pending_demand demand; /* without `bytes` */
    struct cluster_event event;
    struct ctl_answer answer;
    struct str text;  /* a log line, text, error, or the name of the request */
    struct str about; /* the request of an error; may be empty */
    struct {
        struct str version, cluster, uid;
        uint64_t epoch;
        int64_t protocol, least;
    } greeting;
};

/* One line; used by service and commands. */
void ctl_line_write(const struct ctl_line *line, struct buf *out); /* with newline */
bool ctl_line_read(struct str text, struct arena *arena, struct ctl_line *ret_line,
                   struct err *err) MUST_USE;

extern const struct field_table ctl_status_table;

struct ctl_request {
    struct str what;
    struct str node; /* "log" */
    bool follows;    /* "log", "events" */
    bool wants_full; /* "status", "follow": include demands */
    int64_t after;   /* "events": number of the last known event */
    struct str about;
    const struct gcs_bundle *bundles; /* "request-resources", "train-demand"; none: withdrawn */
    size_t bundle_count;
    struct str job, session; /* "train-demand" */
};

void ctl_request_write(const struct ctl_request *request, struct buf *out); /* with newline */
bool ctl_request_read(struct str text, struct arena *arena, struct ctl_request *ret_request,
                      struct err *err) MUST_USE;

/* Is the server's protocol compatible with ours? Otherwise the error says what to do. */
bool ctl_greeting_check(const struct ctl_line *line, struct err *err) MUST_USE;

/* ---- client ---- */

struct ctl_client;

struct ctl_client_hooks {
    void *context;
    void (*line)(void *context, const struct ctl_line *line);
    /* Called once, when the connection has ended or could not be made. With ERR_UNAVAILABLE a retry
     * may succeed, for example after a restart of the service. */
    void (*done)(void *context, const struct err *err);
};

/* `argv` runs `shoal ctl` on the head, over ssh (ssh_argv()) or directly. An incompatible protocol
 * closes the connection with an error that says what to do. */
struct ctl_client *ctl_client_open(struct child_pool *children, const char *const *argv,
                                   const struct ctl_client_hooks *hooks);
void ctl_client_ask(struct ctl_client *client, const char *what); /* "status", "follow", ... */
void ctl_client_send(struct ctl_client *client, const struct ctl_request *request);
void ctl_client_ask_log(struct ctl_client *client, struct str node, bool follows);
void ctl_client_close(struct ctl_client *client); /* NULL is fine; may be called from a hook */

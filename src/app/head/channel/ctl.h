/*
 * ctl.h: the one control channel of a cluster: lines of JSON with the head's service.
 *
 * The service listens on ~/.shoal/cluster/ctl.sock (0600); `shoal ctl` on the head connects its
 * standard input and output to it, so that every verb on the laptop speaks through
 * `ssh head ~/.shoal/bin/shoal ctl`. The service speaks first:
 *
 *     {"shoal": "0.1.0", "protocol": 1, "least": 1, "cluster": "demo", "uid": "...", "epoch": 3}
 *
 * and then answers requests. "protocol" is the newest it speaks, "least" the oldest. Requests:
 *
 *     {"do": "status"}       -> {"status": {...}}, {"node": {...}} for each, {"end": "status"}
 *     {"do": "follow"}       the same without the end, then whatever changes, as it happens
 *     {"do": "status", "all": true}, {"do": "follow", "all": true}
 *                            with {"demand": {...}} for each kind of request that waits; one that
 *                            waits no more is told with no count. And nodes are told again when
 *                            what runs on them changes, not only when their step does.
 *     {"do": "ray-status"}   -> {"text": "..."}, what `ray status` prints, {"end": "ray-status"}
 *     {"do": "explain", "about": "worker-3"} -> {"explain": {"question": "...", "answer": ["..."],
 *                            "fix": "..."}}..., {"end": "explain"}; without "about": whatever needs
 *                            an explanation
 *     {"do": "events", "after": 17, "follow": true} -> {"event": {...}}..., {"end": "events"}
 *     {"do": "request-resources", "wishes": [{"amounts": {"CPU": 4}, "count": 2}]}
 *                            -> {"done": "request-resources"}
 *     {"do": "update"}       a new handover.json is there -> {"done": "update"} once it is taken in
 *     {"do": "stand-down"}   lease released, nothing done any more -> {"done": "stand-down"}
 *     {"do": "end"}          all workers end -> {"done": "end"}, then this machine is switched off
 *     {"do": "log", "node": "worker-2", "follow": true} -> {"log": "line"}..., {"end": "log"}
 *
 * What goes wrong is {"error": "...", "do": "..."}; a request that is not known is answered so. An
 * error without "do" is what a follower should know: a launch that the cloud refuses.
 *
 * Ends of different versions understand each other: keys and lines that are not known are skipped,
 * and kinds of lines that came after the first protocol are only told to those who ask for them.
 */
#pragma once

#include "app/head/insight.h"
#include "app/view.h"
#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "io/child.h"
#include "ray/gcs.h"

enum { CTL_PROTOCOL = 1, CTL_PROTOCOL_LEAST = 1, CTL_LINE_BYTES_MAX = 1 << 20 };

/* The cluster as a whole, beside its nodes. */
struct ctl_status {
    struct str ray_version; /* empty: Ray does not answer */
    struct str ray_address; /* "10.0.0.4:6379" */
    struct str stance;      /* "acting", "standing by: ...", in words */
    struct str goal;        /* "run", "down" */
    size_t joined;          /* nodes that Ray lists as alive */
    size_t wanted;          /* that there should be, head included */
    bool is_settled;        /* all that are wanted have joined, or have failed for good */
    bool is_rays;           /* Ray's own autoscaler keeps the workers; `stance` says why */
    int64_t serial;         /* of the handover that is in force */
    int64_t now_ms;         /* the head's wall clock: ages are counted from it; 0: not told */
    int64_t seen_ms;        /* wall clock: Ray was last seen; 0: never */
    int64_t price;          /* micro-dollars an hour of all nodes; -1: not all are known */
    int64_t price_limit;    /* max_hourly_cost; -1: none */
    struct str launching;   /* why nothing is launched; empty: it may be */
    struct str ending;      /* why nothing ends */
    int64_t waiting;        /* requests that wait */
    int64_t unmet;          /* of them: nothing that could be launched takes them */
    size_t demand_count;    /* kinds of them */
};

/* One question about the cluster, answered. */
struct ctl_answer {
    struct str question;
    const struct str *lines;
    size_t line_count;
    struct str fix; /* what would change it; empty: nothing needs to */
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
    CTL_OTHER, /* of a newer version: passed over */
};

struct ctl_line {
    enum ctl_line_kind kind;
    struct ctl_status status;
    struct node_view node;
    struct insight_demand demand; /* without `bytes` */
    struct insight_event event;
    struct ctl_answer answer;
    struct str text;  /* of a log line, a text, an error, what is done or ended */
    struct str about; /* errors: the request; empty: none in particular */
    struct {
        struct str version, cluster, uid;
        uint64_t epoch;
        int64_t protocol, least;
    } greeting;
};

/* Both directions of a line, for service and verbs. */
void ctl_line_write(const struct ctl_line *line, struct buf *out); /* with its newline */
bool ctl_line_read(struct str text, struct arena *arena, struct ctl_line *ret_line,
                   struct err *err) MUST_USE;

/* "tasks", "group", "constraint"; "launch", "join", ...: the words on the wire. */
const char *ctl_source_word(enum insight_source source);
const char *ctl_event_word(enum insight_event_kind kind);

struct ctl_request {
    struct str what;
    struct str node; /* "log" */
    bool follows;    /* "log", "events" */
    bool wants_all;  /* "status", "follow": demands too */
    int64_t after;   /* "events": the last one that is known */
    struct str about;
    const struct gcs_wish *wishes; /* "request-resources"; none: there is no wish any more */
    size_t wish_count;
};

void ctl_request_write(const struct ctl_request *request, struct buf *out); /* with its newline */
bool ctl_request_read(struct str text, struct arena *arena, struct ctl_request *ret_request,
                      struct err *err) MUST_USE;

/* Does whoever greets so speak a protocol that we speak? Else says what to do about it. */
bool ctl_greeting_check(const struct ctl_line *line, struct err *err) MUST_USE;

/* ---- a verb's end ---- */

struct ctl_client;

struct ctl_client_hooks {
    void *context;
    void (*line)(void *context, const struct ctl_line *line);
    /* Once: the connection has ended, or could not be made. ERR_UNAVAILABLE: another try may go
     * better, such as after the service was started again. */
    void (*done)(void *context, const struct err *err);
};

/* `argv` starts ssh with `shoal ctl` on the head (ssh_words()), or `shoal ctl` itself there. A
 * greeting of a protocol that is not ours ends it with what to do about it. */
struct ctl_client *ctl_client_open(struct child_pool *children, const char *const *argv,
                                   const struct ctl_client_hooks *hooks);
void ctl_client_ask(struct ctl_client *client, const char *what); /* "status", "follow", ... */
void ctl_client_send(struct ctl_client *client, const struct ctl_request *request);
void ctl_client_ask_log(struct ctl_client *client, struct str node, bool follows);
void ctl_client_close(struct ctl_client *client); /* NULL is fine; also from a hook */

/* ---- on the head: `shoal ctl` ---- */

/*
 * Connects descriptors 0 and 1 with the service's socket until one side ends; the exit status.
 * Nobody listens: says so in one line of this protocol. `wait_ms` is how long a service that was
 * just started may take to listen, and one that was killed with its supervisor is started; 0: it
 * must be there.
 */
int ctl_relay(const char *folder, int64_t wait_ms);

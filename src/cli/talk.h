/* talk.h: a conversation with the service on a cluster's head, from a verb's point of view. */
#pragma once

#include "app/head/channel/ctl.h"
#include "cli/target.h"

/* ---- any conversation ---- */

struct talk_question {
    struct ctl_request request;
    bool is_optional; /* an error is an answer too: a head of an older version does not know it */
};

struct talk_setup {
    struct cloud_session *session;
    const struct ssh_place *place; /* over ssh to the head (connected); NULL: on this machine */
    struct arena *arena;
    const struct talk_question *questions; /* asked one after the other */
    size_t question_count;
    void *context;
    /* Every line but errors that end it. Valid during the call. */
    void (*line)(void *context, const struct ctl_line *line);
    /* All were answered. What it returns is how long until they are asked again, in milliseconds;
     * negative: that was all. NULL: it was. */
    int64_t (*answered)(void *context);
};

/* Until everything is answered; of what never ends, until Ctrl-C (ERR_CANCELLED). */
bool talk(const struct talk_setup *setup, struct err *err) MUST_USE;

/* The command behind it, for whoever holds a conversation of another kind. */
bool talk_words(const struct ssh_place *place, struct arena *arena, const char *const **ret_argv,
                struct err *err) MUST_USE;

/* ---- usual ones ---- */

/* Everything the service said in answer to "status". Texts live in the command's arena. */
struct talk_status {
    bool has_status;
    struct ctl_status status;
    struct str cluster, version;
    struct node_view *nodes;
    size_t node_count, node_capacity;
    struct insight_demand *demands;
    size_t demand_count, demand_capacity;
    struct str ray_text; /* what `ray status` prints; empty: it was not asked for, or not told */
};

/* A line of the answer, if it is one. */
void talk_status_take(struct talk_status *status, struct arena *arena, const struct ctl_line *line);

bool talk_status(struct cloud_session *session, const struct ssh_place *place, struct arena *arena,
                 struct talk_status *ret_status, struct err *err) MUST_USE;

/* A node's log, line by line on `out`; with `follows`, until Ctrl-C or the end of its set-up. */
bool talk_log(struct cloud_session *session, const struct ssh_place *place, struct arena *arena,
              struct str node, bool follows, FILE *out, struct err *err) MUST_USE;

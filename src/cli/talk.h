/* talk.h: a conversation with the service on a cluster's head, from a verb's point of view. */
#pragma once

#include "app/head/ctl.h"
#include "cli/target.h"

/* Everything the service said in answer to "status". Texts live in the command's arena. */
struct talk_status {
    bool has_status;
    struct ctl_status status;
    struct str cluster, version;
    struct node_view *nodes;
    size_t node_count, node_capacity;
};

/* Over ssh to the head of the cluster (connected); `place` NULL: to the service of this machine. */
bool talk_status(struct cloud_session *session, const struct ssh_place *place, struct arena *arena,
                 struct talk_status *ret_status, struct err *err) MUST_USE;

/* A node's log, line by line on `out`; with `follows`, until Ctrl-C or the end of its set-up. */
bool talk_log(struct cloud_session *session, const struct ssh_place *place, struct arena *arena,
              struct str node, bool follows, FILE *out, struct err *err) MUST_USE;

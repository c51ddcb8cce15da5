/*
 * launcher.h: `up` and `down` from the laptop: the same loop that the head runs, with what only the
 * laptop does: checks, what surrounds the machines, the head, the handover, and the end of it all.
 */
#pragma once

#include "app/cloud_session.h"
#include "app/head/channel/ctl.h"
#include "app/view.h"
#include "base/attr.h"
#include "config/config.h"
#include "provider/provider.h"
#include "remote/ssh.h"

/* What the user is shown as it happens. Everything is valid during the call only. */
struct launcher_hooks {
    void *context;
    void (*account)(void *context, struct str account); /* "123456789012 (profile work)" */
    void (*findings)(void *context, const struct finding *findings, size_t count);
    void (*thing)(void *context, const struct provider_thing *thing, bool is_made);
    void (*node)(void *context, const struct node_view *view);
    void (*status)(void *context, const struct ctl_status *status);
    void (*note)(void *context, struct str text); /* "the head's service took over" */
};

struct launcher_setup {
    struct cloud_session *session;
    const struct config *config;
    struct str profile;      /* empty: none from the command line */
    const char *config_path; /* full, for messages */
    bool no_restart, restart_only;
    bool has_usage_stats;
    bool keeps_stopped;   /* cache_stopped_nodes: true stands in the file itself */
    bool is_workers_only; /* down */
    struct launcher_hooks hooks;
};

struct launcher_result {
    size_t node_count, failed_count;
    size_t missing_count; /* wanted, and neither there nor failed: the cloud gives no more now */
    double cpus;
    bool was_up_to_date;
    struct str ray_version, head_address;
    int64_t took_ms;
    const struct provider_thing *left; /* down: what could not be removed */
    size_t left_count;
    size_t stopped_count; /* down: machines that only stand still, and what surrounds them stays */
};

/* Each runs the session's loop until it is done. False: err says what, and what is left running was
 * told as notes. */
bool launcher_up(const struct launcher_setup *setup, struct arena *arena,
                 struct launcher_result *ret_result, struct err *err) MUST_USE;
bool launcher_down(const struct launcher_setup *setup, struct arena *arena,
                   struct launcher_result *ret_result, struct err *err) MUST_USE;

/* ---- for verbs that only need to reach the head ---- */

struct launcher_head {
    struct str id;
    struct str address; /* the one to ssh to from here */
    struct str private_ip, public_ip;
    bool is_up_to_date;           /* ray-node-status */
    const struct str *worker_ips; /* likewise from here */
    size_t worker_count;
};

/* Asks the cloud. ERR_NOT_FOUND: there is none. */
bool launcher_find_head(const struct launcher_setup *setup, struct arena *arena,
                        struct launcher_head *ret_head, struct err *err) MUST_USE;

/* How ssh reaches it: user, key, pinned host key, proxies; a shared connection if there is one. */
bool launcher_head_place(const struct launcher_setup *setup, const struct launcher_head *head,
                         struct arena *arena, struct ssh_place *ret_place,
                         struct err *err) MUST_USE;

/*
 * launcher.h: `up` and `down` on the laptop. They run the same control loop as the head, and add
 * the laptop's part: preflight, network and IAM resources, the head, the handover, and deletion.
 */
#pragma once

#include "app/cloud_session.h"
#include "app/head/ctl/ctl.h"
#include "app/launch/up_plan.h"
#include "app/model/node_view.h"
#include "base/attr.h"
#include "config/config.h"
#include "provider/provider.h"
#include "remote/ssh.h"

/* Progress callbacks. Arguments are valid during the call only. */
struct launcher_hooks {
    void *context;
    void (*account)(void *context, struct str account); /* "123456789012 (profile work)" */
    void (*findings)(void *context, const struct finding *findings, size_t count);
    void (*thing)(void *context, const struct provider_resource *thing, bool is_made);
    void (*node)(void *context, const struct node_view *view);
    void (*status)(void *context, const struct ctl_status *status);
    void (*note)(void *context, struct str text); /* "the head's service took over" */
};

struct launcher_setup {
    struct cloud_session *session;
    const struct config *config;
    struct str profile;      /* --profile; empty if not given */
    const char *config_path; /* full; NULL: there is none */
    bool no_restart, restart_only;
    bool has_usage_stats;
    bool may_separate;    /* for up: another owner's cluster of this name is known, and stays */
    bool keeps_stopped;   /* the file itself sets cache_stopped_nodes: true */
    bool is_workers_only; /* for down */
    bool keeps_min;       /* for down: min_workers workers of each type stay */
    bool is_leftover;     /* for down: the cluster has no instance; nothing is terminated */
    bool is_expired;      /* for down: only if the cluster is stopped and has expired */
    /* For down: selects one of several clusters of this name; empty if not given. */
    struct str uid;
    struct launcher_hooks hooks;
};

struct launcher_result {
    size_t node_count, failed_count;
    size_t missing_count;   /* wanted, but neither present nor failed */
    struct str missing_why; /* reason given by the head's service; empty if none */
    double cpus;
    bool was_up_to_date;
    struct str ray_version, head_address;
    int64_t took_ms;
    /* ---- down ---- */
    bool is_absent; /* the cluster does not exist and has no resources */
    /* If absent: region in which this machine knows a cluster of this name, or empty. */
    struct str other_region;
    size_t terminated_count;              /* instances terminated by this run */
    size_t stopped_count;                 /* instances stopped, with their disks */
    size_t kept_count;                    /* workers that `keeps_min` left running */
    const struct provider_resource *left; /* resources that were not removed */
    size_t left_count;
    bool is_proven; /* nothing of the cluster is left */
};

/* Each runs the session's loop until it is finished. On failure `err` has the cause; anything still
 * running was reported through `note`. */
bool launcher_up(const struct launcher_setup *setup, struct arena *arena,
                 struct launcher_result *ret_result, struct err *err) MUST_USE;
bool launcher_down(const struct launcher_setup *setup, struct arena *arena,
                   struct launcher_result *ret_result, struct err *err) MUST_USE;

/* Live instances created by Shoal with the cluster's name: id, type, state, market. */
struct launcher_seen {
    const struct machine *machines;
    size_t count;
    int64_t price;  /* micro-dollars per hour of those that run, as far as known */
    bool is_priced; /* all of it is known */
};

/* Lists the instances for the confirmation prompt; without the head for --workers-only. */
bool launcher_see(const struct launcher_setup *setup, struct arena *arena,
                  struct launcher_seen *ret_seen, struct err *err) MUST_USE;

/* Computes what launcher_up() would do, from one listing. Creates and changes nothing. With the
 * hook `findings` it first runs the preflight of launcher_up() and fails as launcher_up() would; if
 * the hook is NULL, the preflight is left to the launcher_up() that follows. */
bool launcher_plan(const struct launcher_setup *setup, struct arena *arena,
                   struct up_plan *ret_plan, struct err *err) MUST_USE;

/* Asks the cloud whose cluster it is, if it is not known (cluster_folder.h). */
bool launcher_know_owner(const struct launcher_setup *setup, struct arena *arena,
                         struct err *err) MUST_USE;

/* ---- for commands that only connect to the head ---- */

struct launcher_head {
    struct str id;
    struct str address; /* reachable by ssh from this machine */
    struct str private_ip, public_ip;
    bool is_up_to_date;           /* ray-node-status */
    struct str host_key;          /* published by the machine that set it up; may be empty */
    struct str started_from;      /* "user@host", which has the cluster's key; may be empty */
    const struct str *worker_ips; /* reachable from this machine */
    size_t worker_count;
};

/* Queries the cloud. ERR_NOT_FOUND: there is no head. */
bool launcher_find_head(const struct launcher_setup *setup, struct arena *arena,
                        struct launcher_head *ret_head, struct err *err) MUST_USE;

/*
 * If ssh on the head does not answer: allows this machine's present address in the cluster's
 * security group, waits until the head answers, and sets `ret_added` to the address; empty if
 * nothing was changed. Fails only after Ctrl-C: without permission for this, ssh itself reports
 * what is wrong.
 */
bool launcher_admit(const struct launcher_setup *setup, const struct launcher_head *head,
                    struct arena *arena, struct str *ret_added, struct err *err) MUST_USE;

/* The ssh target of the head: user, key, pinned host key, proxies, and the shared connection if
 * there is one. */
bool launcher_head_place(const struct launcher_setup *setup, const struct launcher_head *head,
                         struct arena *arena, struct ssh_target *ret_place,
                         struct err *err) MUST_USE;

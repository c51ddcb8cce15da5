/*
 * account.h: all resources of an account that belong to clusters, launched by Shoal (tagged with
 * the cluster's uid) or by Ray (tagged with its name only).
 *
 * Each cloud collects them (aws/account/account.h, gcp/account/gcp_account.h); assigning them to
 * clusters is pure and done here. A project of Google Cloud is an account.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "provider/expiry.h"
#include "provider/provider.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACCOUNT_NO_TIME INT64_MIN

/* ---- found resources ---- */

/* A cluster whose lease object is younger than this may still get its first machine, unless the
 * lease object says otherwise. */
enum { ACCOUNT_MAKING_SECONDS = 600 };

struct account_owner {
    struct str region;  /* empty: global, such as a role */
    struct str name;    /* name of the cluster; may be empty if there is a uid */
    struct str uid;     /* empty: launched by Ray */
    struct str project; /* of Google Cloud; empty: on AWS */
};

struct account_machine {
    struct account_owner owner;
    struct str id;
    struct str type;
    struct str zone;
    int64_t launched_at; /* seconds since 1970, or ACCOUNT_NO_TIME */
    enum machine_state state;
    enum market market;
    bool is_head;
    bool has_failed;    /* its last setup */
    bool has_public_ip; /* IPv4 */
    bool is_unpriced;   /* paid for in advance, or in a cloud without known prices */
    int64_t expires_at; /* if it is stopped; EXPIRY_NEVER: never (expiry.h) */
};

struct account_volume {
    struct account_owner owner; /* owner from its own tags; all empty if it has none */
    struct str id;
    struct str machine; /* attached to; empty: none */
    struct str zone;    /* empty: unknown */
    struct str kind;    /* "gp3" */
    int64_t gb;
    int64_t made_at;
    bool is_by_size; /* billed by size alone, without extra IOPS or throughput */
};

enum account_thing_kind {
    THING_GROUP,
    THING_KEY,
    THING_TEMPLATE,
    THING_ROLE,
    THING_PROFILE,
    THING_RULE,   /* of a firewall */
    THING_RECORD, /* the lease, in an instance template */
    THING_KIND_COUNT
};

struct account_thing {
    struct account_owner owner;
    enum account_thing_kind kind;
    struct str id;
    int64_t made_at;
    int64_t held_until; /* a process works on the cluster until then; ACCOUNT_NO_TIME: unknown */
    struct str home;    /* region of the cluster, if the resource itself has none; may be empty */
};

/* A listing that failed: resources may be missing from the result. */
struct account_gap {
    struct str region; /* empty: no particular region */
    struct str what;   /* "instances", "roles" */
    struct str code;   /* error code, to merge equal gaps; may be empty */
    struct err err;
    struct str project; /* of Google Cloud; empty: AWS */
};

struct account_finds {
    struct account_machine *machines;
    struct account_volume *volumes;
    struct account_thing *things;
    size_t machine_count, volume_count, thing_count;
    /* If the machines of a region could not be listed, its other resources are not reported as
     * leftovers. */
    const struct str *blind_regions; /* machines could not be listed */
    size_t blind_count;
    bool sees_everywhere; /* all regions were listed */
    int64_t now;          /* seconds since 1970, by the cloud's clock */
};

/* Collects the resources found in replies, in one arena. */
struct account_basket {
    struct arena *arena;
    struct account_finds finds;
    size_t machine_capacity, volume_capacity, thing_capacity;
};

/* The strings must live as long as the basket. */
void account_add_machine(struct account_basket *basket, const struct account_machine *machine);
void account_add_volume(struct account_basket *basket, const struct account_volume *volume);
void account_add_thing(struct account_basket *basket, const struct account_thing *thing);

/* ---- clusters ---- */

enum account_state {
    ACCOUNT_UP,       /* head running, no machine stopped */
    ACCOUNT_FAILED,   /* head running, but its setup failed */
    ACCOUNT_STARTING, /* the head or the first machine is starting or about to be launched */
    ACCOUNT_PARTLY,   /* some machines run, but the head does not, or others are stopped */
    ACCOUNT_STOPPED,  /* every machine is stopped or stopping; volumes still cost money */
    ACCOUNT_ENDING,   /* every machine is terminating */
    ACCOUNT_LEFTOVER, /* no machine, but other resources */
    ACCOUNT_STATE_COUNT
};

struct account_cluster {
    struct account_owner owner;
    enum account_state state;
    size_t counts[MACHINE_STATE_COUNT]; /* number of machines by state */
    bool has_head;                      /* has a head machine that is not terminating */
    int64_t since; /* oldest launch time; for leftovers, oldest known creation time */
    /* If it is stopped: when `idle_terminate` allows to terminate it; EXPIRY_NEVER: never. */
    int64_t expires_at;
    const struct account_machine *machines; /* instances, without terminated ones */
    const struct account_volume *volumes;
    const struct account_thing *things;
    size_t machine_count, volume_count, thing_count;
};

struct account {
    struct str id;              /* of AWS: "123456789012"; empty: unknown */
    const struct str *regions;  /* of AWS that were searched, sorted */
    const struct str *projects; /* of Google Cloud that were searched */
    const struct account_gap *gaps;
    const struct account_gap *skipped;      /* clouds that were not searched, and why */
    const struct account_cluster *clusters; /* clusters by name and region, leftovers last */
    size_t region_count, project_count, gap_count, skipped_count, cluster_count;
    int64_t now; /* seconds since 1970, by the cloud's clock */
};

/*
 * Groups the found resources by cluster. Drops resources without an owner (no name, no uid, no
 * machine), and those that seem left over only because their machines may be in a region that was
 * not listed. The results point into `finds` and `arena`.
 */
void account_gather(const struct account_finds *finds, struct arena *arena,
                    struct account_cluster **ret_clusters, size_t *ret_count);

/* All parts as one. */
void account_join(const struct account *parts, size_t count, struct arena *arena,
                  struct account *ret_account);

/* Every machine is stopped, for longer than the cluster's file allows. */
bool account_is_expired(const struct account_cluster *cluster, int64_t now);

/* "up", "starting", ... */
const char *account_state_name(enum account_state state);

/* "security group", "firewall rule", ... */
const char *account_thing_name(enum account_thing_kind kind);

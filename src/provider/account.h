/*
 * account.h: everything in an account that belongs to a cluster, whoever launched it: Shoal, whose
 * things carry the cluster's uid, or Ray, whose things carry its name only.
 *
 * Gathering it is the business of each cloud (aws/account.h); putting it together is pure and here.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "provider/provider.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACCOUNT_NO_TIME INT64_MIN

/* ---- what is found ---- */

/* An anchor so young may still get its first machine, when it does not say otherwise itself. */
enum { ACCOUNT_MAKING_SECONDS = 600 };

struct account_owner {
    struct str region; /* empty: it is in none, such as a role */
    struct str name;   /* of the cluster; may be empty beside a uid */
    struct str uid;    /* empty: launched by Ray itself */
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
    bool is_prepaid; /* reserved for a time and paid for already */
};

struct account_volume {
    struct account_owner owner; /* by its own tags; all empty when it has none */
    struct str id;
    struct str machine; /* that it is attached to; empty: none */
    struct str kind;    /* "gp3" */
    int64_t gb;
    int64_t made_at;
    bool is_by_size; /* its size alone is paid for: no speed was bought beside it */
};

enum account_thing_kind {
    THING_GROUP,
    THING_KEY,
    THING_TEMPLATE,
    THING_ROLE,
    THING_PROFILE,
    THING_KIND_COUNT
};

struct account_thing {
    struct account_owner owner;
    enum account_thing_kind kind;
    struct str id;
    int64_t made_at;
    int64_t
        held_until; /* somebody is at work on the cluster until then; ACCOUNT_NO_TIME: not said */
};

/* A listing that failed, so that something may be missing. */
struct account_gap {
    struct str region; /* empty: none in particular */
    struct str what;   /* "machines", "roles" */
    struct str code;   /* the cloud's, for telling equal ones; may be empty */
    struct err err;
};

struct account_finds {
    struct account_machine *machines;
    struct account_volume *volumes;
    struct account_thing *things;
    size_t machine_count, volume_count, thing_count;
    /* Without its machines nothing can be called left over. */
    const struct str *blind_regions; /* whose machines could not be listed */
    size_t blind_count;
    bool sees_everywhere; /* no region was left out */
    int64_t now;          /* seconds since 1970, by the cloud's clock */
};

/* ---- what it means ---- */

enum account_state {
    ACCOUNT_UP,       /* its head runs, and nothing of it is stopped */
    ACCOUNT_STARTING, /* its head, or its first machine, is being started or about to be */
    ACCOUNT_PARTLY,   /* some machines run, but the head does not, or others are stopped */
    ACCOUNT_STOPPED,  /* every machine is stopped or stopping; volumes are still paid for */
    ACCOUNT_ENDING,   /* every machine is on its way out */
    ACCOUNT_LEFTOVER, /* no machine, but things that were made for it */
    ACCOUNT_STATE_COUNT
};

struct account_cluster {
    struct account_owner owner;
    enum account_state state;
    size_t counts[MACHINE_STATE_COUNT]; /* machines by state */
    bool has_head;                      /* a machine that is one and is not on its way out */
    int64_t since; /* oldest launch; of leftovers, oldest making that is known */
    const struct account_machine *machines; /* those that are gone are not among them */
    const struct account_volume *volumes;
    const struct account_thing *things;
    size_t machine_count, volume_count, thing_count;
};

struct account {
    struct str id;             /* "123456789012"; empty: not known */
    const struct str *regions; /* looked at, sorted */
    const struct account_gap *gaps;
    const struct account_cluster *clusters; /* by name and region, leftovers last */
    size_t region_count, gap_count, cluster_count;
};

/*
 * Sorts everything by cluster. What belongs to nobody (no name, no uid, no machine) is dropped, and
 * so is what would look left over only because its machines may be where nobody looked. The results
 * point into `finds` and `arena`.
 */
void account_gather(const struct account_finds *finds, struct arena *arena,
                    struct account_cluster **ret_clusters, size_t *ret_count);

/* "up", "starting", ... */
const char *account_state_name(enum account_state state);

/* "security group", "key pair", ... */
const char *account_thing_name(enum account_thing_kind kind);

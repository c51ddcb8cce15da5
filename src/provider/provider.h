/*
 * provider.h: what a cloud must be able to do. Every cloud stands behind this one interface, and
 * tests/conformance holds each of them to it.
 *
 * A provider is opened for one cluster file. Every operation returns at once; its `done` is called
 * exactly once, later, from the loop, and what it is given is valid during that call. Closing the
 * provider ends what is under way without a call.
 *
 * Rules that the rest of the program leans on:
 *   - an outcome other than OUTCOME_UNKNOWN is certain;
 *   - a listing is complete or it is not given at all;
 *   - nothing that lacks the cluster's uid is ever changed or removed, whatever its name;
 *   - a launch is drafted first: the bytes of the call, to be written down before it is made, so
 *     that making it again, by whoever finds the note, is the same launch to the cloud.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event.h"
#include "core/offering.h"
#include "provider/param.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct provider;

/* ---- what it is opened with ---- */

struct provider_type {
    struct str name;                 /* of the node type */
    const struct param *node_config; /* the cloud's own words, as the file has them */
    bool is_head;
};

/* Must outlive the provider. */
struct provider_cluster {
    struct str name;
    const struct param *provider; /* the sections of the file */
    const struct param *auth;
    const struct provider_type *types;
    size_t type_count;
};

/* ---- what every operation is answered with ---- */

struct provider_answer {
    enum outcome outcome;
    struct err err; /* unless done */
};

typedef void provider_done_fn(void *context, const struct provider_answer *answer);

/* ---- machines ---- */

enum machine_state {
    MACHINE_PENDING,
    MACHINE_RUNNING,
    MACHINE_STOPPING,
    MACHINE_STOPPED,
    MACHINE_ENDING,
    MACHINE_GONE,
    MACHINE_STATE_COUNT
};

struct machine_tag {
    struct str key, value;
};

struct machine {
    struct str id;
    struct str type; /* the cloud's: "m5.large" */
    struct str zone;
    struct str private_ip, public_ip; /* empty: none */
    struct str why;                   /* the cloud's words for the state; often empty */
    struct str token;                 /* of the launch it came from */
    int64_t launched_at;              /* seconds since 1970 */
    enum machine_state state;
    enum market market;
    const struct machine_tag *tags; /* those of Ray and of Shoal */
    size_t tag_count;
};

/* The machines are there only when the answer is OUTCOME_DONE. */
typedef void provider_machines_fn(void *context, const struct provider_answer *answer,
                                  const struct machine *machines, size_t count);

/* The tags of our own that every machine bears from its first moment. */
#define TAG_CLUSTER_UID "shoal-cluster-uid"
#define TAG_LAUNCH "shoal-launch" /* "EPOCH.COUNT", as LAUNCH_ARG writes it */
#define TAG_EPOCH "shoal-epoch"   /* of the lease under which the call was drafted */

enum { LAUNCH_TOKEN_MAX = 64 };

struct launch_request {
    struct str token; /* letters, digits and '-': the same launch whenever it is the same token */
    uint64_t launch;  /* its number; launch_token() makes the token of it */
    size_t type;      /* in provider_cluster */
    struct str zone;  /* one of those that the survey found usable; empty: the first of them */
    enum market market;
    int64_t count;        /* at most; fewer may come, and at least one or a refusal */
    bool rests;           /* switched off from inside it stands still; else it ends */
    struct str user_data; /* not encoded; empty: what the type's own settings say */
    /* Beside those that every machine of the cluster has: its name, uid, launch and epoch. */
    const struct machine_tag *tags;
    size_t tag_count;
};

/* ---- the cluster as a whole ---- */

/* Who may act on a cluster. The first to take it makes the uid; everybody after reads it. Whoever
 * has not renewed before `until` has it no longer, whatever the cloud says later. */
struct cluster_lease {
    struct str uid;    /* 32 hexadecimal digits, made at random, once */
    uint64_t epoch;    /* greater than all before: every taking has its own */
    struct str holder; /* "me@laptop pid 4711 up": who has it, for whoever is refused */
    int64_t since;     /* seconds since 1970 */
    int64_t until;     /* by the cloud's clock */
    /* What the cloud keeps the lease on, by its own name for it: with it goes a handover. */
    struct str anchor;
    struct str account; /* whose cluster it is, for people: "123456789012 (profile work)" */
};

struct take_request {
    struct str holder;
    int64_t lease_ms;
    uint64_t from; /* breaks the lease of that epoch, which its holder then notices; 0: none */
    /* As the holder of `from` knew them, when he has handed it over and acts no more: then it is
     * taken without a look. Else empty. */
    struct str uid, anchor;
    bool is_new; /* nobody is known to have taken it: it is made first, and looked for after */
};

/* OUTCOME_MISMATCH: somebody else has it, and `lease` says who. */
typedef void provider_lease_fn(void *context, const struct provider_answer *answer,
                               const struct cluster_lease *lease);

/* Something that was made, found or left: a key, a group, a role. */
struct provider_thing {
    struct str kind; /* "security group" */
    struct str id;
    struct str note; /* "has 2 members", "made 40d ago"; may be empty */
    bool is_gone;    /* remove() has removed it */
};

typedef void provider_things_fn(void *context, const struct provider_answer *answer,
                                const struct provider_thing *things, size_t count);

/* ---- what is found out before anything is made ---- */

enum finding_level { FINDING_FINE, FINDING_WARNING, FINDING_ERROR };

/* One row under a finding: a subnet and why it was refused. */
struct finding_row {
    struct str name, where;
    struct str why;
    struct str remedy; /* what to write where; empty: nothing would help */
    struct str path;   /* the key of the remedy in the cluster file, dots between; may be empty */
};

struct finding {
    enum finding_level level;
    struct str subject; /* "credentials", "image", "subnets", ... */
    struct str text;    /* one sentence without its end */
    struct str path;    /* the key it is about: "available_node_types.gpu.node_config.ImageId" */
    struct str remedy;
    const struct finding_row *rows;
    size_t row_count;
};

/* For people also who it is that asks; a launch only has to know that when it is refused. */
enum survey_scope { SURVEY_FOR_LAUNCH, SURVEY_FOR_PEOPLE };

typedef void provider_survey_fn(void *context, const struct provider_answer *answer,
                                const struct finding *findings, size_t count);

/* ---- the operations ---- */

struct provider_ops {
    const char *name; /* as the file's provider.type says */

    /* Reads everything that launching needs and changes nothing. */
    void (*survey)(struct provider *provider, enum survey_scope scope, provider_survey_fn *done,
                   void *context);

    /* The zones in which machines of that type can be had, in the order in which they are tried; at
     * most `most`. None: no survey was made, or there is nothing to choose from. The texts live
     * until the next survey. */
    size_t (*zones)(struct provider *provider, size_t type, struct str *ret_zones, size_t most);

    /* Makes this process the one that may act, for a while. */
    void (*take)(struct provider *provider, const struct take_request *request,
                 provider_lease_fn *done, void *context);
    /* OUTCOME_MISMATCH: it was taken from us. */
    void (*renew)(struct provider *provider, int64_t lease_ms, provider_lease_fn *done,
                  void *context);
    void (*release)(struct provider *provider, provider_done_fn *done, void *context);

    /*
     * Makes what is missing around the machines: key, group, role. Safe to repeat. Without a key it
     * only finds what is there, and makes and changes nothing: for a head, which may not do more.
     */
    void (*prepare)(struct provider *provider, struct str ssh_public_key, provider_things_fn *done,
                    void *context);
    /*
     * Removes what prepare() and take() made, in the right order, and tells what prepare() had made
     * and is gone, and what is left. Machines must have been ended before: as long as one is there
     * nothing is removed but it is told.
     */
    void (*remove)(struct provider *provider, provider_things_fn *done, void *context);

    /* Every machine of the cluster, the gone ones too as long as the cloud tells of them. A cluster
     * that nobody has taken yet has none. */
    void (*list)(struct provider *provider, provider_machines_fn *done, void *context);
    /* The bytes of the call, in `arena`. Needs survey() and prepare(). */
    bool (*draft)(struct provider *provider, const struct launch_request *request,
                  struct arena *arena, struct str *ret_call, struct err *err);
    /*
     * Makes the call. One that was made before gives the machines of then in the state of now, so
     * some may be gone; done with no machine at all means that all of them are gone and forgotten.
     */
    void (*launch)(struct provider *provider, struct str call, provider_machines_fn *done,
                   void *context);
    /*
     * These four act on all machines that can be acted on. OUTCOME_NOT_FOUND: on all but those that
     * the cloud does not know, or not as the cluster's: long gone, or too new to be seen. What has
     * ended already counts as done.
     */
    void (*terminate)(struct provider *provider, const struct str *ids, size_t count,
                      provider_done_fn *done, void *context);
    void (*stop)(struct provider *provider, const struct str *ids, size_t count,
                 provider_done_fn *done, void *context);
    void (*start)(struct provider *provider, const struct str *ids, size_t count,
                  provider_done_fn *done, void *context);
    void (*tag)(struct provider *provider, const struct str *ids, size_t count,
                const struct machine_tag *tags, size_t tag_count, provider_done_fn *done,
                void *context);

    void (*close)(struct provider *provider);
};

/* What an implementation begins with. */
struct provider {
    const struct provider_ops *ops;
};

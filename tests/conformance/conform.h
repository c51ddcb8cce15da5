/*
 * conform.h: a provider with blocking calls: every operation starts, the loop runs until it is
 * answered, and the answer is kept. Nothing in here depends on the cloud; cloud.c opens one.
 */
#pragma once

#include "base/arena.h"
#include "base/rng.h"
#include "io/child.h"
#include "io/http.h"
#include "io/log.h"
#include "io/loop.h"
#include "io/redact.h"
#include "provider/provider.h"

/* Types of the cluster that is tried. */
enum { TYPE_HEAD, TYPE_WORKER, TYPE_SCARCE, TYPE_COUNT };

struct options {
    const char *cloud;
    const char *cluster;
    const char *image;
    const char *zones[2];
    const char *key;     /* file with the public key */
    const char *journal; /* of launches */
    const char *foreign; /* id of a machine that is not the cluster's */
    const char *holder;
    const char *ssh_from; /* provider.ssh_from; empty: not said */
    const char *source;   /* an instance template of GCE; empty: none */
    const char *open_to;  /* a rule of the file for that place; empty: none */
    int64_t count;
    int64_t most; /* instances of a launch */
    uint64_t seed;
    bool is_private; /* provider.use_internal_ips */
    bool is_plain;   /* no zones, no spot market, no stopping */
};

/* ---- a cloud ---- */

struct cloud {
    struct arena arena;
    struct loop *loop;
    struct http *http;
    struct child_pool *children;
    struct redact *redact;
    struct log log;
    struct provider_cluster cluster;
};

void cloud_open(struct cloud *cloud, const struct options *options);
void cloud_close(struct cloud *cloud);
/* As if this machine had slept that long: the cloud and others did not. */
void cloud_jump(int64_t ms);

/* Own machines (own_hosts.c): no zones, no spot market, no stopping, a fixed number of hosts. */
bool cloud_is_own(const struct options *options);
void own_hosts_add(struct param *settings, struct arena *arena);
struct provider *own_hosts_provider(struct cloud *cloud, const struct options *options);
/* Calls cloud_jump() when so many more scripts have been started on hosts, before the answer of the
 * last one; 0: never. */
void own_hosts_jump_after(int64_t scripts, int64_t ms);
bool own_hosts_have_jumped(void);

/* A plug-in (plugin.c). */
bool cloud_is_plugin(const struct options *options);
void plugin_add(struct param *settings, struct arena *arena);
struct provider *plugin_provider(struct cloud *cloud, const struct options *options);

/* Google (gce.c). */
bool cloud_is_gce(const struct options *options);
void gce_add(struct param *settings, const struct options *options, struct arena *arena);
struct param *gce_node_config(size_t type, const struct options *options, struct arena *arena);
struct provider *gce_provider(struct cloud *cloud, const struct options *options);

/* One more provider for the same cluster, as another process would have it. */
struct provider *cloud_provider(struct cloud *cloud, const struct options *options);

/* ---- what was answered ---- */

struct told {
    bool is_done; /* the callback came */
    unsigned calls;
    struct cloud *cloud;
    enum outcome outcome;
    struct err err;
    struct machine *machines;
    size_t count;                     /* of machines or things */
    struct provider_resource *things; /* without those that are gone */
    struct cluster_lease lease;
    bool has_lease;
};

/* The callbacks of operations that were started by hand, with a `told` as context. */
void tell_done(void *context, const struct provider_answer *answer);
void tell_machines(void *context, const struct provider_answer *answer,
                   const struct machine *machines, size_t count);
void tell_lease(void *context, const struct provider_answer *answer,
                const struct cluster_lease *lease);
void tell_things(void *context, const struct provider_answer *answer,
                 const struct provider_resource *things, size_t count);
void tell_preflight(void *context, const struct provider_answer *answer,
                    const struct finding *findings, size_t count);

/* Until it is answered. */
void await(struct cloud *cloud, struct told *told);
void sleep_ms(struct cloud *cloud, int64_t ms);

/* Starts, waits, and repeats while the outcome is uncertain or the provider says to wait, as
 * every user of a provider does. */
struct told do_preflight(struct cloud *cloud, struct provider *provider);
struct told do_take(struct cloud *cloud, struct provider *provider, const char *holder,
                    int64_t lease_ms, uint64_t take_from);
struct told do_take_new(struct cloud *cloud, struct provider *provider, const char *holder,
                        int64_t lease_ms);
/* As a process to which the holder of `lease` handed it over. */
struct told do_take_handed(struct cloud *cloud, struct provider *provider, const char *holder,
                           int64_t lease_ms, const struct cluster_lease *lease);
struct told do_renew(struct cloud *cloud, struct provider *provider, int64_t lease_ms);
struct told do_release(struct cloud *cloud, struct provider *provider);
struct told do_prepare(struct cloud *cloud, struct provider *provider, const char *key_file);
struct told do_find(struct cloud *cloud, struct provider *provider); /* prepare() without a key */
struct told do_remove(struct cloud *cloud, struct provider *provider);
struct told do_list(struct cloud *cloud, struct provider *provider);
struct told do_launch(struct cloud *cloud, struct provider *provider, struct str call);
struct told do_change(struct cloud *cloud, struct provider *provider, const char *what,
                      const struct str *ids, size_t count);

/* A draft with usual tags; ends the program when there is none. */
struct str make_draft(struct cloud *cloud, struct provider *provider, size_t type, const char *zone,
                      enum market market, int64_t count, struct str uid, uint64_t launch);

struct str tag_of(const struct machine *machine, const char *key);
bool is_live(const struct machine *machine);

/* ---- what the program can do; each returns its exit status ---- */

int run_rules(const struct options *options);
int run_launches(const struct options *options);
int run_take(const struct options *options);    /* takes, and does not give back */
int run_renew(const struct options *options);   /* takes, and renews again and again */
int run_tag(const struct options *options);     /* tags all machines */
int run_late(const struct options *options);    /* the rules at the end of a lease alone */
int run_uid(const struct options *options);     /* takes, says the uid, gives back */
int run_workers(const struct options *options); /* what a head does, with a head's rights */
int run_prepare(const struct options *options); /* takes, prepares, says what came of it */
int run_remove(const struct options *options);  /* ends all machines and removes everything */

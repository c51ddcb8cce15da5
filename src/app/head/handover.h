/*
 * handover.h: what the laptop gives to the head's service, in one file, in one step.
 *
 * The laptop writes it over the connection that sets the head up (0600); the service takes it into
 * its own journal in one transaction and only then acts. Before that the laptop alone creates and
 * ends machines, after it the service alone: the lease (provider.h) says who. A handover that was
 * taken in is not taken in again; a newer one (a later `up`) brings a new configuration.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "remote/bundle.h"
#include "store/journal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A fact of the service's journal: "end" when the cluster is to end, until a newer handover. */
#define SERVICE_GOAL "goal"
#define HANDOVER_FILE "~/.shoal/cluster/handover.json"
enum { HANDOVER_FORMAT = 1, HANDOVER_BYTES_MAX = 16 << 20 };

struct handover_machine {
    uint64_t instance;
    struct str id;
};

struct handover {
    struct str uid;
    uint64_t epoch;    /* of the laptop's lease, which is the service's to take: it acts no more */
    struct str anchor; /* what that lease is on (provider.h) */
    uint64_t reign;    /* the first since which nobody but the laptop has acted */
    int64_t serial;    /* wall clock of the writing, in ms: newer ones count */
    struct str config; /* the prepared configuration as JSON, as in ~/ray_bootstrap_config.yaml */
    struct str secret; /* hexadecimal */
    struct str key;    /* the private key for the workers, OpenSSH's form */
    struct str head_id, head_private_ip, head_public_ip;
    struct str runtime_hash;  /* of the head's set-up, to know whether an `up` changes anything */
    struct str contents_hash; /* of the mounts alone: workers are set up again when it changes */
    bool restarts_ray;        /* among the head's steps Ray is started anew: workers wait for it */
    struct str type_zones;    /* where machines can be had (app/type_zones.h) */
    const struct step_variable *environment; /* AWS_ENDPOINT_URL and its like; no secrets */
    size_t environment_count;
    const struct handover_machine *machines;
    size_t machine_count;
    const struct journal_intent *intents;
    size_t intent_count;
    const struct journal_launched *launched; /* which machine came from which of them */
    size_t launched_count;
};

void handover_write(const struct handover *handover, struct buf *out);
bool handover_read(struct str json, struct arena *arena, struct handover *ret_handover,
                   struct err *err) MUST_USE;

/* Machines and intents of the journal into a handover. */
bool handover_gather(struct journal *journal, struct arena *arena, struct handover *handover,
                     struct err *err) MUST_USE;
/* And out of one, in one transaction; one that is not newer than the last is not taken. */
bool handover_take(struct journal *journal, const struct handover *handover, bool *ret_is_new,
                   struct err *err) MUST_USE;

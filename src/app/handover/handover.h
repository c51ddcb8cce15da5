/*
 * handover.h: the file with which the laptop hands the cluster to the head's service.
 *
 * The laptop writes handover.json (0600) over the ssh connection that sets the head up. The service
 * copies it to a file named after its serial, and then records serial, machines, intents and goal
 * in its journal, in one transaction. From then on that copy is in force, even after a crash and
 * whatever is written to handover.json later. Before that only the laptop launches and terminates
 * machines, afterwards only the service; the lease (provider.h) enforces this. A handover that is
 * older than the one in force is refused.
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

/* Journal fact: "end" if the cluster is to be terminated, until a newer handover. */
#define SERVICE_GOAL "goal"
#define HANDOVER_NAME "handover.json"
#define HANDOVER_FILE "~/.shoal/cluster/" HANDOVER_NAME
enum { HANDOVER_FORMAT = 1, HANDOVER_BYTES_MAX = 16 << 20 };

struct handover_machine {
    uint64_t instance;
    struct str id;
};

struct handover {
    struct str uid;
    uint64_t epoch;             /* epoch of the laptop's lease, which the service takes over */
    struct str lease_object;    /* the object that carries the lease (provider.h) */
    uint64_t sole_writer_epoch; /* first epoch since which only the laptop held the lease */
    /* When that began, in the laptop's journal time; 0 if no earlier launch can still appear. */
    int64_t sole_writer_since;
    int64_t written_ms;    /* journal time of the laptop; its clock may differ from the head's */
    int64_t serial;        /* increases with every handover: handover_next_serial() */
    struct str config;     /* prepared configuration as JSON, as in ~/ray_bootstrap_config.yaml */
    struct str secret;     /* hexadecimal */
    struct str key;        /* the cluster's private key for the workers, in OpenSSH format */
    struct str public_key; /* its public key, which workers accept from first boot */
    struct str head_id, head_private_ip, head_public_ip;
    struct str runtime_hash;  /* hash of the head's setup; shows whether an `up` changes anything */
    struct str contents_hash; /* of the mounts alone; if it changes, workers are set up again */
    bool restarts_ray;        /* the head's steps restart Ray; workers wait for it */
    struct str type_zones;    /* zones that offer each type (app/type_zones.h) */
    struct str type_images;   /* the image of each type; empty in handovers of older releases */
    struct str type_disks;    /* of each type, for its price (type_zones.h) */
    struct str prices;        /* price_table_write() */
    const struct step_variable *environment; /* AWS_ENDPOINT_URL and the like; no secrets */
    size_t environment_count;
    const struct handover_machine *machines;
    size_t machine_count;
    const struct journal_intent *intents;
    size_t intent_count;
    const struct journal_launched *launched; /* pairs of machine and intent */
    size_t launched_count;
};

/* Fills in the error for a handover that does not exist. Returns false. */
bool handover_missing(const char *path, struct err *err);

void handover_write(const struct handover *handover, struct buf *out);
bool handover_read(struct str json, struct arena *arena, struct handover *ret_handover,
                   struct err *err) MUST_USE;

/* Fills what the journal knows: machines, intents, since when only the laptop held the lease. */
bool handover_gather(struct journal *journal, struct arena *arena, struct handover *handover,
                     struct err *err) MUST_USE;

/* ---- order ---- */

/* A serial greater than all known ones, even if this machine's clock is behind. `there` is the
 * head's serial, `here` the last one sent from here; 0 if none. */
int64_t handover_next_serial(int64_t wall_ms, int64_t there, int64_t here);

/* The newest serial known on this machine; 0 if none. */
int64_t handover_known(const char *folder);
/* FOLDER/handover.SERIAL.json */
const char *handover_copy_path(const char *folder, int64_t serial, struct arena *arena);
/* Removes all copies but that one. */
void handover_remove_copies(const char *folder, int64_t serial);

enum handover_order { HANDOVER_OLDER, HANDOVER_SAME, HANDOVER_NEWER };

/* Compares it with the one in force. */
bool handover_compare(struct journal *journal, const struct handover *handover,
                      enum handover_order *ret_order, struct err *err) MUST_USE;
/* Sets the error for an older handover. Always returns false. */
bool handover_refuse(struct journal *journal, const struct handover *handover, struct err *err);
/* Stores a newer handover in the journal, in one transaction. */
bool handover_take(struct journal *journal, const struct handover *handover,
                   struct err *err) MUST_USE;

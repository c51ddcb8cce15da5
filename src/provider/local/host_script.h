/*
 * host_script.h: the shell scripts that run on a host, and what they print.
 *
 * Each host has a folder, /var/tmp/shoal-host, with one file `record`: a serial number and a line
 * of JSON that says which cluster uses the host. A record is only replaced by a script that holds
 * the folder's lock and names the serial number that it replaces, so that of two clusters one
 * wins. The folder is removed with the record; the next record has other numbers.
 * SHOAL_HOST_FOLDER names another folder, for tests.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "provider/host_record.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { HOST_SCRIPT_BYTES_MAX = 8 * 1024 * 1024, HOST_UID_CHARS = 32, HOST_RAYS_MAX = 8 };

/* ---- scripts ---- */

/* The label of the containers that Shoal starts on own machines. */
#define HOST_CONTAINER_LABEL "shoal-cluster"

/* What is stopped when a host leaves the cluster. */
struct host_stop {
    bool is_head;         /* also the cluster's service */
    struct str container; /* name of the container; empty: none */
    struct str cluster;   /* what the container's label and mounts must name */
    bool is_podman;
};

/* Prints facts about the host and its record. Changes nothing. */
void host_script_probe(struct buf *out);

/* The same for a host in use: its record is marked as used, so that it is not deleted as old. */
void host_script_check(struct buf *out);

/*
 * Replaces the record with serial number `expected` (0: there is none) by `record`, or removes it
 * if `record` is NULL. With `stop`, what the old record's cluster started is stopped first.
 * `watch` is the dead-man switch to start; empty: none. Prints the current record if it has another
 * serial number. A host without a record is left alone if a Ray runs there that `ray stop` would
 * end, unless the caller knows it.
 */
struct host_swap {
    int64_t expected;
    const json_t *record;
    const struct host_stop *stop; /* or NULL */
    struct str watch;
    bool keeps_ray; /* the Ray that runs there is known */
};
void host_script_swap(struct buf *out, const struct host_swap *swap);

/* Stops what runs on the host and leaves its record as it is. Does nothing unless that is the
 * record of the cluster with this uid. */
void host_script_stop(struct buf *out, struct str uid, const struct host_stop *stop);

/* Adds a public key with the mark "shoal-UID" to the user's authorized_keys, or removes the keys
 * with that mark if `key` is empty. Fails without a change if the uid is not valid. */
void host_script_authorize(struct buf *out, struct str key, struct str uid);

/* ---- output ---- */

enum host_end {
    HOST_DONE,
    HOST_CONFLICT,  /* the record has another serial number: see `record` */
    HOST_FAILED,    /* the script says why in `why` */
    HOST_UNREACHED, /* no output: the script did not run, or its output was lost */
    HOST_BROKEN     /* the connection broke: the effect is unknown */
};

/* A process of a Ray that runs on a host without a record. */
struct host_ray {
    int64_t pid;
    struct str name; /* "raylet" */
    struct str id;   /* RAY_CLOUD_INSTANCE_ID: of a node that Shoal started, "10.0.0.2@3.1" */
};

struct host_reply {
    enum host_end end;
    int64_t now;             /* the host's clock, seconds since 1970 */
    int64_t serial;          /* of its record; 0: none */
    json_t *record;          /* NULL: none. Borrowed by readers; released with host_reply_clear() */
    struct str owner;        /* the user who owns the folder, if that is another user */
    json_t *other;           /* that user's record: only for messages, as `record` is NULL then */
    struct str why;          /* what failed */
    struct str architecture; /* "x86_64" */
    struct str host_key;     /* "ssh-ed25519 AAAA..." */
    int64_t cpus, memory, gpus;
    bool has_flock, is_home_shared, was_changed;
    bool has_watch; /* the dead-man switch runs */
    struct host_ray rays[HOST_RAYS_MAX];
    size_t ray_count;    /* may be more than are listed */
    bool is_record_read; /* a line with a record was read, also if it is not JSON */
};

/* `status` and `said` are those of the child that ran the script. Allocates in `arena`. */
void host_reply_read(struct str output, int status, struct str said, struct arena *arena,
                     struct host_reply *ret_reply);
void host_reply_clear(struct host_reply *reply);

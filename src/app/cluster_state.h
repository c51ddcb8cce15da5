/*
 * cluster_state.h: the folder with the local state of one cluster.
 *
 * On the laptop $XDG_STATE_HOME/shoal/aws-us-west-2-NAME (cluster_folder.h), on the head
 * ~/.shoal/cluster:
 *
 *     owner         whose cluster it is; not on the head
 *     journal.db    store/journal.h
 *     secret        host keys are derived from it; 64 hexadecimal digits
 *     key, key.pub  the cluster's own ssh key, which the head uses to log in to workers. A key
 *                   named in the cluster file is used only to reach the head, and stays here
 *     known_hosts/  one file per machine, named by its id, with its expected host key
 *     log/NODE      output of the setup of a node
 *     file          path of the cluster file that `shoal up` read last
 *     head          id and addresses of the head (launch/head_connection.h)
 *     ctl/          sockets of shared ssh connections; in $XDG_RUNTIME_DIR if it is set, or in
 *                   /tmp/shoal-UID if this path would be too long for a socket
 *
 * The folder, and every folder created above it, is private to the user (io/file.h).
 */
#pragma once

#include "app/cluster_folder.h"
#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "config/config.h"
#include "remote/node_request.h"
#include "remote/ssh_key.h"

struct cluster_state {
    const char *folder;
    struct str owner; /* empty: unknown */
    bool is_new;      /* the folder did not exist before */
    /* Path of the private key for the head; NULL for the user's ssh default. */
    const char *key;
    /* Path of the cluster's own key, which workers accept; NULL if not created yet. */
    const char *own_key;
    const char *control;   /* folder for sockets */
    struct str secret;     /* raw bytes; empty if there is none */
    struct str public_key; /* "ssh-ed25519 AAAA... shoal-NAME", of the cluster's own key */
};

/* Finds the folder and its contents, or creates them if `makes` is set. Sends no request. */
bool cluster_state_open(const struct config *config, bool makes, struct arena *arena,
                        struct cluster_state *ret_state, struct err *err) MUST_USE;

/* Sets the error for records that do not say whose they are. Always returns false. */
bool cluster_state_refuse(const struct config *config, const char *folder, struct err *err);

/* The same in a given folder, for the head. */
bool cluster_state_open_at(const char *folder, const struct config *config, bool makes,
                           struct arena *arena, struct cluster_state *ret_state,
                           struct err *err) MUST_USE;

/* The public key with which this machine logs in: of auth.ssh_private_key, or the cluster's own. */
bool cluster_state_login_key(const struct cluster_state *state, const struct config *config,
                             struct arena *arena, struct str *ret_key, struct err *err) MUST_USE;

/* The known_hosts file that pins the machine's host key, and the socket of the shared connection to
 * the machine. */
const char *cluster_state_known_hosts(const struct cluster_state *state, struct str machine,
                                      struct arena *arena);
const char *cluster_state_control(const struct cluster_state *state, struct str machine,
                                  struct arena *arena);
/* The name of a machine's host key in its known_hosts file, for ssh_target.machine. */
struct str cluster_state_key_name(struct str machine);

/* Pins "ssh-ed25519 AAAA..." on disk. With `keeps_old`, the previous key stays valid too, because
 * it is about to be replaced. */
bool cluster_state_pin(const struct cluster_state *state, struct str machine, struct str key_line,
                       bool keeps_old, struct err *err) MUST_USE;
/* Pins the host key that a machine reports in its greeting (node_request.h). Once the machine shows
 * its new key, only that one is valid; before, it is pinned next to the previous one. */
bool cluster_state_pin_greeted(const struct cluster_state *state, struct str machine,
                               const struct node_hello *hello, struct err *err) MUST_USE;
/* Pins the host key that machines of this launch get at their first boot. */
bool cluster_state_pin_launch(const struct cluster_state *state, struct str machine,
                              uint64_t launch, struct err *err) MUST_USE;
bool cluster_state_is_pinned(const struct cluster_state *state, struct str machine);
/* The only key that is pinned for the machine; empty if there is none, or a second one. */
struct str cluster_state_pinned(const struct cluster_state *state, struct str machine,
                                struct arena *arena);
/* Creates the folder, without keys, on a machine that did not start the cluster. */
bool cluster_state_make(const struct cluster_state *state, struct err *err) MUST_USE;

/* ---- the cluster's key on another machine ---- */

/* Adds everything that another machine needs to use and update the cluster: text with secrets. */
bool cluster_state_export(const struct cluster_state *state, const struct config *config,
                          struct buf *out, struct err *err) MUST_USE;
/* Reads whose cluster the text is of, and removes that from it. Fails if it is of another cluster
 * than the file's. */
bool cluster_state_import_owner(const struct config *config, struct arena *arena, struct str *text,
                                struct str *ret_owner, struct err *err) MUST_USE;
/* Takes the rest over, into the folder of that owner. Fails if this machine has another key. */
bool cluster_state_import(const struct cluster_state *state, struct str owner, struct str text,
                          struct err *err) MUST_USE;

/* Remembers the cluster file, so that the cluster can be named instead. */
bool cluster_state_note_file(const struct cluster_state *state, const char *path,
                             struct err *err) MUST_USE;

/* A cluster that was started from this machine. */
struct cluster_known {
    const char *cloud; /* provider.type */
    struct str region;
    struct str owner; /* empty: unknown; not checked */
    const char *file; /* the cluster file; NULL if unknown */
};
/* Those of that name, at most `most` of them; how many. Asks no cloud. */
size_t cluster_state_known(struct str name, struct arena *arena, struct cluster_known *ret_known,
                           size_t most);

/* The names of all clusters that were started from this machine, for completion. A cluster in two
 * regions is listed twice. */
typedef void cluster_state_name_fn(void *context, struct str name);
void cluster_state_names(struct arena *arena, cluster_state_name_fn *take, void *context);

/* The cluster files of all clusters of a cloud that were started from this machine. They may not
 * exist any more. */
typedef void cluster_state_file_fn(void *context, const char *path);
void cluster_state_files(const char *cloud, struct arena *arena, cluster_state_file_fn *take,
                         void *context);

/* Another region in which this machine knows a cluster of that name; empty if none. */
struct str cluster_state_elsewhere(const struct config *config, struct arena *arena);

/* Deletes the whole folder, after `down`. */
bool cluster_state_remove(const struct cluster_state *state, struct err *err) MUST_USE;

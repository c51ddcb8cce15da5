/*
 * cluster_state.h: the folder in which this machine keeps what it knows of one cluster.
 *
 * On the laptop $XDG_STATE_HOME/shoal/aws-us-west-2-NAME, on the head ~/.shoal/cluster:
 *
 *     journal.db    store/journal.h
 *     secret        of which host keys are made; 64 hexadecimal digits
 *     key, key.pub  the cluster's own ssh key, unless the file names one
 *     known_hosts   the machines' keys, under their ids
 *     log/NODE      what the set-up of a node said
 *     control/      sockets of shared ssh connections (in a short place, as sockets demand)
 *
 * All of it is private to the user.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "config/config.h"
#include "remote/ssh_key.h"

struct cluster_state {
    const char *folder;
    const char *known_hosts;
    const char *key;       /* path of the private key that machines let in; NULL: the user's own */
    const char *control;   /* folder for sockets */
    struct str secret;     /* the bytes; empty while there is none */
    struct str public_key; /* "ssh-ed25519 AAAA... shoal-NAME"; empty: the file names a key */
};

/* Finds, and when `makes` is set makes, the folder and what is in it. Asks no cloud. */
bool cluster_state_open(const struct config *config, bool makes, struct arena *arena,
                        struct cluster_state *ret_state, struct err *err) MUST_USE;

/* The same in a given folder: on the head. */
bool cluster_state_open_at(const char *folder, const struct config *config, bool makes,
                           struct arena *arena, struct cluster_state *ret_state,
                           struct err *err) MUST_USE;

/* Pins a machine's host key, replacing what was known of it, on disk. */
bool cluster_state_pin(const struct cluster_state *state, struct str machine,
                       struct str public_key_line, struct err *err) MUST_USE;
bool cluster_state_unpin(const struct cluster_state *state, struct str machine,
                         struct err *err) MUST_USE;

/* Everything goes: after `down`. */
bool cluster_state_remove(const struct cluster_state *state, struct err *err) MUST_USE;

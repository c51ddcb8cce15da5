/*
 * cluster_state.h: the folder in which this machine keeps what it knows of one cluster.
 *
 * On the laptop $XDG_STATE_HOME/shoal/aws-us-west-2-NAME, on the head ~/.shoal/cluster:
 *
 *     journal.db    store/journal.h
 *     secret        of which host keys are made; 64 hexadecimal digits
 *     key, key.pub  the cluster's own ssh key; the file may name another for ssh to use
 *     known_hosts/  a file per machine, named by its id: the key it must show
 *     log/NODE      what the set-up of a node said
 *
 * Sockets of shared ssh connections have a folder of their own in a short place, as they demand.
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
    bool is_new;           /* it was not there before */
    const char *key;       /* path of the private key that machines let in; NULL: the user's own */
    const char *control;   /* folder for sockets */
    struct str secret;     /* the bytes; empty while there is none */
    struct str public_key; /* "ssh-ed25519 AAAA... shoal-NAME" of its own key */
};

/* Finds, and when `makes` is set makes, the folder and what is in it. Asks no cloud. */
bool cluster_state_open(const struct config *config, bool makes, struct arena *arena,
                        struct cluster_state *ret_state, struct err *err) MUST_USE;

/* The same in a given folder: on the head. */
bool cluster_state_open_at(const char *folder, const struct config *config, bool makes,
                           struct arena *arena, struct cluster_state *ret_state,
                           struct err *err) MUST_USE;

/* The file for ssh in which the machine's key is pinned, and the socket of a connection to it that
 * is shared. */
const char *cluster_state_known_hosts(const struct cluster_state *state, struct str machine,
                                      struct arena *arena);
const char *cluster_state_control(const struct cluster_state *state, struct str machine,
                                  struct arena *arena);

/* Pins "ssh-ed25519 AAAA...", on disk. A key that is about to be replaced stays good beside the new
 * one if `keeps_old`. */
bool cluster_state_pin(const struct cluster_state *state, struct str machine, struct str key_line,
                       bool keeps_old, struct err *err) MUST_USE;
/* The key that machines of this launch get at their first boot. */
bool cluster_state_pin_launch(const struct cluster_state *state, struct str machine,
                              uint64_t launch, struct err *err) MUST_USE;
bool cluster_state_is_pinned(const struct cluster_state *state, struct str machine);

/* Everything goes: after `down`. */
bool cluster_state_remove(const struct cluster_state *state, struct err *err) MUST_USE;

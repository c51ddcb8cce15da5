/*
 * ssh.h: the argv of the user's ssh for one machine.
 *
 * The user's own configuration, agents and jump hosts apply. Security-relevant options are set on
 * the command line, which overrides any file: the host key is pinned under the machine's id in the
 * cluster's known_hosts, no key is accepted on first use, no agent is forwarded.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ssh_target {
    struct str user;
    struct str address;
    uint16_t port;           /* 0: from the user's configuration, 22 by default */
    struct str machine;      /* instance id, the name of its host key */
    const char *known_hosts; /* known_hosts file of this cluster */
    /* The user's own known_hosts: its keys are valid too, and a key that neither file has is stored
     * in the cluster's. NULL: only keys in the cluster's file are valid. */
    const char *user_hosts;
    const char *identity;     /* private key file; NULL: the user's own */
    const char *control;      /* ControlPath socket; NULL: connection not shared */
    bool is_client;           /* uses the shared connection if it is open, but never opens it */
    struct str proxy_command; /* may be empty */
    struct str jump;          /* "user@host"; may be empty */
    int64_t connect_s;        /* 0: default of 10 */
    bool is_near;             /* same private network: a key exchange at a tenth of the cost */
};

struct ssh_forward {
    uint16_t local, remote; /* loopback ports on both sides */
};

struct ssh_session {
    bool is_interactive; /* allocates a terminal and allows prompts */
    bool has_no_command; /* port forwarding only */
    bool is_master;      /* the shared connection closes with this session */
    bool is_background;  /* ssh returns when the connection is open */
    bool is_end; /* the shared connection takes no new sessions and closes after the last one */
    const struct ssh_forward *forwards;
    size_t forward_count;
    /* The file to which ssh appends its own messages, for ssh_has_connected(). The connection is
     * then never shared, not even if the user's configuration says so. NULL: standard error. */
    const char *log;
    struct str command; /* one line for the remote login shell; empty: an interactive shell */
};

/* The argv ends with NULL. Fails for addresses and names that ssh could misread. */
bool ssh_argv(const struct ssh_target *place, const struct ssh_session *session,
              struct arena *arena, const char *const **ret_argv, struct err *err) MUST_USE;

/* The value of ProxyCommand that goes through this machine: one line for ssh and its shell. */
bool ssh_for_proxy(const struct ssh_target *through, struct arena *arena, struct str *ret_text,
                   struct err *err) MUST_USE;

/* The value of rsync's -e option: one text, which rsync splits at blanks. */
bool ssh_for_rsync(const struct ssh_target *place, struct arena *arena, struct str *ret_text,
                   struct err *err) MUST_USE;

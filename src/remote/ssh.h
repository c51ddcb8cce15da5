/*
 * ssh.h: the words that start the user's ssh for one machine.
 *
 * The user's own configuration, agents and jump hosts are kept; what safety depends on is said on
 * the command line, which wins over any file: the machine's key is pinned under the machine's id in
 * a file of the cluster's, nothing is learnt on first use, no agent is forwarded.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ssh_place {
    struct str user;
    struct str address;
    uint16_t port;            /* 0: ssh's own choice, 22 unless the user's configuration differs */
    struct str machine;       /* its id: the name its host key is known by */
    const char *known_hosts;  /* the cluster's file */
    const char *identity;     /* private key; NULL: the user's own */
    const char *control;      /* path of the shared connection's socket; NULL: none is shared */
    struct str proxy_command; /* empty: none */
    struct str jump;          /* "user@host", or empty */
    int64_t connect_s;        /* 0: 10 */
    bool is_near;             /* inside one private network: a key exchange that costs a tenth */
};

struct ssh_forward {
    uint16_t local, remote; /* of the loopback at both ends */
};

struct ssh_session {
    bool is_interactive; /* with a terminal, and questions may be asked */
    bool has_no_command; /* forwards only */
    bool is_master;      /* the shared connection lasts as long as this session, no longer */
    const struct ssh_forward *forwards;
    size_t forward_count;
    struct str command; /* one line for the login shell there; empty: the shell itself */
};

/* Ends with NULL. Fails for addresses and names that ssh could take for something else. */
bool ssh_words(const struct ssh_place *place, const struct ssh_session *session,
               struct arena *arena, const char *const **ret_argv, struct err *err) MUST_USE;

/* The value of rsync's -e for that machine: one text, of which rsync makes words at blanks. */
bool ssh_for_rsync(const struct ssh_place *place, struct arena *arena, struct str *ret_text,
                   struct err *err) MUST_USE;

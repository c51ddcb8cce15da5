/* ssh_error.h: classifies the error messages of ssh. */
#pragma once

#include "base/str.h"

/* Ordered: of several messages the one with the greatest value applies. */
enum ssh_error {
    SSH_OTHER,       /* connection lost, or an unknown message: retry */
    SSH_UNREACHABLE, /* no connection: still booting, or a firewall */
    SSH_DENIED,      /* key refused, perhaps only for now */
    SSH_HOST_KEY,    /* host key differs from the pinned one */
    SSH_MISUSED,     /* wrong configuration or key file: retrying is pointless */
};

enum ssh_error ssh_error_of(struct str line);

/*
 * From what an ssh with its own connection logged at level VERBOSE: false if it ended before the
 * login, so that the command has not started. True if nothing proves that.
 */
bool ssh_has_connected(struct str log);

/* From the same log: true only if it proves the login. */
bool ssh_has_logged_in(struct str log);

/* True for lines that do not explain a failure. */
bool ssh_is_chatter(struct str line);

/* The proxy command ended: its own last line says why. */
bool ssh_is_proxys_end(struct str line);

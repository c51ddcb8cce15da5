/* ssh_trouble.h: what ssh complains about, from the lines it writes for people. */
#pragma once

#include "base/str.h"

/* The later ones say more: of several lines the greatest counts. */
enum ssh_trouble {
    SSH_OTHER,       /* the link broke, or ssh has words that are not known here: try again */
    SSH_UNREACHABLE, /* no connection: the machine boots, or a firewall */
    SSH_DENIED,      /* the machine does not take our key, or not yet */
    SSH_HOST_KEY,    /* it shows another key than the one pinned */
    SSH_MISUSED,     /* the user's configuration or key file: ssh will not change its mind */
};

enum ssh_trouble ssh_trouble_of(struct str line);

/* Words that say nothing about why it failed. */
bool ssh_is_chatter(struct str line);

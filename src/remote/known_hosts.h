/*
 * known_hosts.h: which key a machine must show, told to ssh.
 *
 * A machine stands there under the cloud's name for it (an instance id), never under an address,
 * which may belong to another machine tomorrow: ssh is started with HostKeyAlias=NAME.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "remote/ssh_key.h"

#include <stdbool.h>

enum { KNOWN_HOSTS_NAME_BYTES_MAX = 255 };

/* Is it a name of one machine, and nothing that ssh gives another meaning? */
bool known_hosts_is_name(struct str name);

/* One line. Refuses a name that ssh would read as a pattern, a list or a mark. */
bool known_hosts_add(struct buf *out, struct str name, const uint8_t public[SSH_PUBLIC_BYTES],
                     struct err *err) MUST_USE;

/*
 * known_hosts.h: the known_hosts lines that pin each machine's host key.
 *
 * A machine is listed by its instance id, never by address, because addresses are reused. ssh is
 * started with HostKeyAlias=NAME.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "remote/ssh_key.h"

#include <stdbool.h>

enum { KNOWN_HOSTS_NAME_BYTES_MAX = 255 };

/* True for the name of a single machine without characters that are special in known_hosts. */
bool known_hosts_is_name(struct str name);

/* Appends one line. Fails for a name that ssh would read as a pattern, a list or a marker. */
bool known_hosts_add(struct buf *out, struct str name, const uint8_t public[SSH_PUBLIC_BYTES],
                     struct err *err) MUST_USE;

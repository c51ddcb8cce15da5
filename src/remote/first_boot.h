/*
 * first_boot.h: what a machine is told at its first boot, its user-data.
 *
 * Ours is a host key, so that ssh can be strict from the first connection on; it is read by
 * cloud-init, which every common cloud image has. The user's own user-data keeps its form and its
 * effect: both go as parts of one MIME message. Whoever may ask the cloud's API or the machine's
 * metadata service can read user-data, so the key is to be replaced at the first login.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "remote/ssh_key.h"

#include <stdbool.h>

/* EC2's limit, before base64. */
enum { FIRST_BOOT_BYTES_MAX = 16384 };

/* The forms that cloud-init tells apart by how user-data begins. */
enum first_boot_form {
    FIRST_BOOT_EMPTY,
    FIRST_BOOT_PART, /* a script, a cloud-config and the like: one part of a message */
    FIRST_BOOT_MIME,
    FIRST_BOOT_GZIP,
    FIRST_BOOT_UNKNOWN
};
enum first_boot_form first_boot_form_of(struct str user_data);

/*
 * The same inputs give the same bytes. ERR_CONFIG for user-data that cloud-init would not read (it
 * may be meant for something else, which would not find it in a MIME message), for what is
 * compressed (a message in it would not be read in a part), and for more than
 * FIRST_BOOT_BYTES_MAX. `out` must be empty.
 */
bool first_boot_compose(const struct ssh_key *host_key, struct str user_data, struct buf *out,
                        struct err *err) MUST_USE;

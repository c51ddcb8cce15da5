/*
 * first_boot.h: composes the user-data of an instance, which cloud-init applies at first boot.
 *
 * Shoal adds a host key, so that ssh can check it strictly from the first connection on, the public
 * key that the head logs in with, and a script that runs at every boot. The user's own user-data
 * keeps its form and its effect: all parts are sent in one MIME message. User-data is readable
 * through the cloud API and the instance's metadata service, so the host key is replaced at the
 * first login.
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

/* The forms that cloud-init recognizes by the first bytes of user-data. */
enum first_boot_form {
    FIRST_BOOT_EMPTY,
    FIRST_BOOT_PART, /* a script, a cloud-config or similar: one part of a message */
    FIRST_BOOT_MIME,
    FIRST_BOOT_GZIP,
    FIRST_BOOT_UNKNOWN
};
enum first_boot_form first_boot_form_of(struct str user_data);

struct first_boot_setup {
    const struct ssh_key *host_key;
    /* A script that cloud-init runs as root at every boot, before sshd starts; may be empty. */
    struct str boot_hook;
    struct str user_data;      /* the user's own user-data; may be empty */
    struct str user;           /* login user */
    struct str authorized_key; /* "ssh-ed25519 AAAA... comment"; empty: no key is added */
};

/*
 * Deterministic: the same inputs give the same bytes. Fails with ERR_CONFIG for user-data that is
 * not in a format of cloud-init (the program that reads it would not find it inside a MIME
 * message), for compressed user-data (cloud-init does not look for a message inside it), and for a
 * result longer than FIRST_BOOT_BYTES_MAX; with ERR_INTERNAL for an invalid authorized key. `out`
 * must be empty.
 */
bool first_boot_compose(const struct first_boot_setup *setup, struct buf *out,
                        struct err *err) MUST_USE;

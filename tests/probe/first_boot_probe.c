/* first_boot_probe.c: the host key of a launch in every form, and a machine's user-data.
 *
 * usage: first_boot_probe private|public|fingerprint|user-data|known-hosts=NAME SECRET LAUNCH
 *                         [AUTHORIZED-KEY USER]
 *
 * user-data: the user's own is read from standard input. */
#include "base/buf.h"
#include "remote/first_boot.h"
#include "remote/known_hosts.h"
#include "remote/ssh_key.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 1024 * 1024 };

static void read_all(struct buf *out)
{
    char block[4096];
    size_t count;
    while ((count = fread(block, 1, sizeof(block), stdin)) > 0) {
        buf_add(out, (struct str){block, count});
    }
}

static bool answer(const char *what, struct first_boot_setup *boot, struct buf *out,
                   struct err *err)
{
    const struct ssh_key *key = boot->host_key;
    AUTO_BUF struct buf given;
    buf_init(&given, TEXT_BYTES_MAX);
    if (strcmp(what, "private") == 0) {
        ssh_key_add_private(out, key, STR("a comment"));
    } else if (strcmp(what, "public") == 0) {
        ssh_key_add_public(out, key->public, STR("a comment"));
    } else if (strcmp(what, "fingerprint") == 0) {
        ssh_key_add_fingerprint(out, key->public);
    } else if (strncmp(what, "known-hosts=", strlen("known-hosts=")) == 0) {
        return known_hosts_add(out, str_from(what + strlen("known-hosts=")), key->public, err);
    } else {
        read_all(&given);
        boot->user_data = buf_str(&given);
        return first_boot_compose(boot, out, err);
    }
    return true;
}

int main(int argc, char **argv)
{
    struct err err;
    struct ssh_key key;
    struct first_boot_setup boot = {.host_key = &key};
    int64_t launch;
    AUTO_BUF struct buf out;
    buf_init(&out, TEXT_BYTES_MAX);
    if ((argc != 4 && argc != 6) || !str_to_i64(str_from(argv[3]), &launch)) {
        fputs("usage: first_boot_probe WHAT SECRET LAUNCH\n", stderr);
        return 2;
    }
    if (argc == 6) {
        boot.authorized_key = str_from(argv[4]);
        boot.user = str_from(argv[5]);
    }
    if (!ssh_key_of_launch(str_from(argv[2]), (uint64_t)launch, &key, &err) ||
        !answer(argv[1], &boot, &out, &err)) {
        fprintf(stderr, "%s: %s\n", err_kind_name(err.kind), err.text);
        return 1;
    }
    fwrite(out.ptr, 1, out.len, stdout);
    return 0;
}

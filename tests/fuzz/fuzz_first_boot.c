/* fuzz_first_boot.c: any bytes as the user's own user-data. */
#include "fuzz.h"

#include "remote/first_boot.h"

#define SECRET "0123456789abcdef0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str given = {(const char *)data, size};
    struct ssh_key key;
    struct err err;
    AUTO_BUF struct buf out;
    buf_init(&out, (size_t)2 * FIRST_BOOT_BYTES_MAX);
    if (!ssh_key_of_launch(STR(SECRET), size, &key, &err)) {
        fuzz_fail("every launch has a key", STR(""));
    }
    struct first_boot_setup setup = {.host_key = &key, .user_data = given};
    if (size % 2 == 1) {
        setup.boot_hook = STR("#!/bin/sh\n:\n");
        setup.user = STR("ubuntu");
        setup.authorized_key = STR("ssh-ed25519 AAAAC3NzaC1lZDI1 shoal");
    }
    bool is_composed = first_boot_compose(&setup, &out, &err);
    if (is_composed && (out.len == 0 || out.len > FIRST_BOOT_BYTES_MAX)) {
        fuzz_fail("what is composed fits", buf_str(&out));
    }
    if (!is_composed && (out.len > 0 || err.kind != ERR_CONFIG)) {
        fuzz_fail("what is refused leaves nothing", buf_str(&out));
    }
    enum first_boot_form form = first_boot_form_of(given);
    bool is_known = form != FIRST_BOOT_UNKNOWN && form != FIRST_BOOT_GZIP;
    if (!is_composed && is_known && size < FIRST_BOOT_BYTES_MAX / 2) {
        fuzz_fail("what cloud-init knows is taken", given);
    }
    ssh_key_wipe(&key);
    return 0;
}

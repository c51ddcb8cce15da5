/* fake_host.h: a fake machine: the configuration layer needs no real file system. */
#pragma once

#include "config/host.h"

struct fake_file {
    const char *path;
    const char *bytes; /* NULL: a folder */
    uint32_t mode;     /* readable if its owner may read it */
    bool is_link;
    bool is_special; /* a device, a socket */
};

/* Home is /home/me. Files are read in small pieces, folders listed backwards. */
struct fake_host {
    struct host host; /* first, so that one can be found from the other */
    const struct fake_file *files;
    size_t count;
};

void fake_host_init(struct fake_host *fake, const struct fake_file *files, size_t count);

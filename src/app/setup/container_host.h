/* container_host.h: on a machine: finds docker or podman, runs it, and remembers the container. */
#pragma once

#include "app/setup/container.h"
#include "base/attr.h"
#include "base/err.h"

struct container_host {
    struct arena *arena;
    const char *program; /* "docker", "podman" */
    bool uses_group;     /* this process started before the user became a member of `docker` */
};

/*
 * Checks that the program is installed and that its daemon answers; a daemon that is starting gets
 * some time. Otherwise prints an error with the commands that fix it.
 */
bool container_host_open(struct container_host *host) MUST_USE;

/* The first half of that check. */
bool container_host_is_installed(const struct container_host *host) MUST_USE;

/* Runs shell text that begins with the program. `out` and `input` as for tools_run_fed(). */
bool container_host_run(const struct container_host *host, struct str text, struct str input,
                        struct buf *out, int *ret_status);

/* The argv of such a command. */
const char *const *container_host_argv(const struct container_host *host, struct str text);

/* The container that was started or found last on this machine. */
struct container_record {
    struct str id, image, home, options;
    struct str copied; /* which files it has */
    bool uses_group, is_podman;
    bool lacks_gpu; /* it was started without GPUs that the node type has */
};

/* Empty fields if there is none. */
void container_record_read(struct container_record *ret_record, struct arena *arena);
bool container_record_write(const struct container_record *record, struct arena *arena,
                            struct err *err) MUST_USE;

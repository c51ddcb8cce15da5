/*
 * container.h: the container of a node: what the file wants, and the command that starts it.
 *
 * Pure. The commands are the ones of Ray's DockerCommandRunner, so that run_options have the same
 * meaning: they are shell text, not words.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "config/config.h"

#include <stdbool.h>
#include <stdint.h>

/* The variable that passes the specification to `shoal node container`. */
#define CONTAINER_VARIABLE "SHOAL_CONTAINER"
/* On the machine: the id of the container; steps in another container run again (step_run.h). */
#define CONTAINER_PLACE_FILE "~/.shoal/steps/place"

struct container_spec {
    const char *program; /* "docker", "podman" */
    struct str name, image, cluster;
    bool is_own; /* on an own machine, which may have containers of other people */
    bool pulls;  /* also if the machine has the image */
    bool detects_runtime, detects_shm;
    bool has_gpus;               /* the node type declares GPUs */
    struct config_texts options; /* shell text, added to `docker run` */
    struct config_texts mounts;  /* paths in the container, "~/" is its home */
};

/* Do nodes of this type run Ray in a container? */
bool container_is_used(const struct config_node_type *type);
const char *container_program(const struct config_docker *docker);

/* True if Ray runs the command on the machine instead: it calls the container program itself. */
bool container_runs_on_host(const struct config_docker *docker, struct str command);

struct container_spec container_spec_of(const struct config *config,
                                        const struct config_node_type *type, struct arena *arena);

/* As JSON, on one line. */
void container_spec_write(const struct container_spec *spec, struct buf *out);
bool container_spec_read(struct str text, struct arena *arena, struct container_spec *ret_spec,
                         struct err *err) MUST_USE;

/* The path on the machine that is mounted at `remote` in the container: below "~/", because a
 * reboot clears Ray's /tmp/ray_tmp_mount. */
struct str container_host_path(struct str cluster, struct str remote, struct arena *arena);

/* The same if nodes of the type run Ray in a container, otherwise `remote`. */
struct str container_copy_path(const struct config *config, const struct config_node_type *type,
                               struct str remote, struct arena *arena);

/* HOME in the output of `docker inspect -f '{{json .Config.Env}}' IMAGE`; as in Ray, /root if it is
 * not set. */
struct str container_home(struct str env_json, struct arena *arena);

/* Does the machine mount all paths that the file wants, not from Ray's folder, to which we copy
 * nothing? `mounts_json` is the output of `docker inspect -f '{{json .Mounts}}'`; as in Ray, the
 * answer is yes if it cannot be read. */
bool container_has_mounts(const struct container_spec *spec, struct str home,
                          struct str mounts_json, struct str *ret_missing, struct arena *arena);

/* Own machines: did `up` start this container for this cluster? It has a label, unless an older
 * version did: then the machine's record has its id, or it mounts a folder of the cluster.
 * `labels_json` is the output of `docker inspect -f '{{json .Config.Labels}}'`. */
bool container_is_ours(const struct container_spec *spec, struct str labels_json,
                       struct str mounts_json, struct str machine_home, bool is_recorded);

/* The size of /dev/shm, from /proc/meminfo: a tenth more than Ray's default object store. 0 if
 * unknown. */
int64_t container_shm_bytes(struct str meminfo);

/* False if an option already sets the size, or the file turns the detection off. */
bool container_wants_shm(const struct container_spec *spec);

/* The node type has GPUs, and the options leave them to the detection. */
bool container_wants_gpu(const struct container_spec *spec);
bool container_has_option(const struct container_spec *spec, const char *word);

struct container_run {
    struct str home;         /* of the image */
    struct str machine_home; /* of the user of the machine */
    int64_t shm_bytes;       /* 0: not set */
    bool has_gpu;
    bool is_relabelled; /* SELinux: the container may read the mounts */
};

/* "docker run --rm --name ray -d -it ... IMAGE bash" */
struct str container_run_line(const struct container_spec *spec, const struct container_run *run,
                              struct arena *arena);

/*
 * node_jobs.h: the `shoal node` subcommands that are steps of a node's setup.
 *
 * They run in the user's login shell, so they see the same PATH as the user's commands. Each prints
 * its result to standard output, prints errors and their remedy to standard error, and returns the
 * exit status of the process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct node_probe_setup {
    bool is_bare;          /* the file has no commands that could install what is missing */
    const char *need;      /* program that the first command calls; NULL if unknown */
    const char *container; /* "docker" or "podman" if Ray runs in a container; else NULL */
};

/* Inspects the machine, and fails early if the setup is sure to fail. */
int node_probe(const struct node_probe_setup *setup);

struct node_gpu_setup {
    int64_t count;
    bool is_container; /* runs in the node's container */
};

/* Waits until the NVIDIA driver shows so many GPUs; fails after 10 minutes, in a container at
 * once. */
int node_gpu(const struct node_gpu_setup *setup);

struct node_container_setup {
    bool makes_token; /* on the head */
};

/* Makes sure that the container of this node runs, with the specification in CONTAINER_VARIABLE. A
 * running container is not replaced if STEP_KEEP_VARIABLE is set. */
int node_container(const struct node_container_setup *setup);

struct node_inside_setup {
    bool is_once;   /* not if the start commands have run in this container */
    bool is_last;   /* the last start command */
    bool notes_ray; /* copy the version that `node ray` found from the container, run nothing */
};

/* Runs the script on standard input in the container, in place of this process. */
int node_inside(const struct node_inside_setup *setup);

/* Before setup commands that use pip: makes the environment into which `node_ray()` installs Ray,
 * if this machine has no Ray, and no pip that installs packages. Later shells find that pip. */
int node_python(void);

/* Checks that Ray is installed; if not, installs this version into ~/.shoal/ray. */
int node_ray(const char *version);

enum node_env_token { NODE_ENV_NO_TOKEN, NODE_ENV_TOKEN, NODE_ENV_MAKE_TOKEN };

/* Sets Ray's location and authentication for all shells of the user. */
int node_env(enum node_env_token token);

struct node_gate_setup {
    const char *gcs;        /* "10.0.0.4:6379" */
    const char *token_file; /* NULL without authentication */
    int64_t deadline_ms;    /* 0 for the default of 15 minutes */
};

/* Waits for the head's Ray and compares its versions with the local ones. */
int node_gate(const struct node_gate_setup *setup);

/* Prints the shell commands (export, unset) that must be evaluated before the head's start
 * command. */
int node_start(void);

/* On the head: creates the folder for the GCS tables of this cluster on this machine, prints its
 * path, and deletes the stores of other clusters. */
int node_store(void);

/* On the head, after a reboot: starts a runner with the head's start commands. Calling it again
 * with the same name does nothing. Returns 0 if the runner is or was started, NODE_RESUME_BUSY
 * while the machine is being set up. */
enum { NODE_RESUME_BUSY = 3 };
int node_resume(const char *run);

/* Returns 0 if no process is running that `ray stop` would kill. */
int node_idle(void);

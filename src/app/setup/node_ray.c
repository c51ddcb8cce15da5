/* node_ray.c: finds Ray on the node, or installs it. */
#include "app/setup/node_jobs.h"

#include "app/setup/node_tools.h"
#include "app/setup/ray_find.h"
#include "config/embedded_data.h"
#include "ray/version.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

extern const struct embedded_file setup_scripts[];

enum { ASK_MS = 30 * 1000 };

/* Reads the versions from Ray's Python. */
static bool ask_versions(struct arena *arena, struct str path, struct ray_found *ret_found)
{
    AUTO_BUF struct buf said;
    buf_init(&said, 4096);
    struct err err;
    int status;
    return tools_run(ray_find_argv(arena, path), ASK_MS, &said, &status, &err) &&
           ray_find_read(buf_str(&said), arena, ret_found);
}

/* Stores the version for later steps and for the head's service. */
static int node_ray_note(struct arena *arena, struct str version)
{
    struct err err;
    mkdir(tools_home(arena, "~/.shoal"), 0700);
    if (!ray_find_note(arena, version, &err)) {
        fprintf(stderr, "error: %s\n", err.text);
        return 1;
    }
    return 0;
}

static int node_ray_report(struct arena *arena, struct str path, const char *wanted)
{
    struct ray_found found;
    if (!ask_versions(arena, path, &found) || found.ray.len == 0) {
        printf("Ray is installed (%.*s), version unknown\n", STR_ARG(path));
        return node_ray_note(arena, STR(""));
    }
    printf("Ray %.*s with Python %.*s (%.*s)\n", STR_ARG(found.ray), STR_ARG(found.python),
           STR_ARG(path));
    if (!str_is(found.ray, wanted) && strcmp(wanted, RAY_VERSION_TESTED) != 0) {
        printf("warning: the cluster file requests Ray %s; the installed version is used\n",
               wanted);
    }
    if (ray_find_is_old(found.ray)) {
        printf("warning: Ray before " RAY_VERSION_TOKEN " has no token authentication: anyone who "
               "can reach the ports of this machine can "
               "use the cluster\n");
    }
    return node_ray_note(arena, found.ray);
}

/* Without a version, the environment gets pip only. */
static int node_ray_make(struct arena *arena, struct str python, const char *version)
{
    struct err err;
    int status = 1;
    const char *const argv[] = {
        python.ptr, "-c", (const char *)setup_scripts[0].bytes, tools_home(arena, RAY_FIND_VENV),
        version,    NULL};
    fflush(stdout);
    if (tools_run(argv, 0, NULL, &status, &err)) {
        return 0;
    }
    fprintf(stderr, "error: %s%s could not be installed (%s)\n", version[0] ? "Ray " : "pip",
            version, err.text);
    return status > 0 ? status : 1;
}

int node_python(void)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str path;
    struct str version;
    if (ray_find(&arena, &path)) {
        printf("Ray is installed (%.*s)\n", STR_ARG(path));
        return 0;
    }
    if (!tools_find_python(&arena, &path, &version) ||
        !tools_at_least(version, STR(RAY_PYTHON_LEAST))) {
        printf("no Python " RAY_PYTHON_LEAST " or newer: the setup commands use what is there\n");
        return 0;
    }
    mkdir(tools_home(&arena, "~/.shoal"), 0700);
    int status = node_ray_make(&arena, path, "");
    return status == 0 ? node_env(NODE_ENV_NO_TOKEN) : status;
}

static int node_ray_install(struct arena *arena, const char *version)
{
    struct str python;
    struct str python_version;
    if (!tools_find_python(arena, &python, &python_version)) {
        fprintf(stderr,
                "error: neither Ray nor python3 is installed on this machine\n"
                "install python3 in setup_commands: `%s python3`, or use another image\n",
                tools_installer(arena));
        return 1;
    }
    printf("Ray is not on the PATH of this machine's login shell\n");
    int status = node_ray_make(arena, python, version);
    return status != 0 ? status : node_ray_note(arena, str_from(version));
}

int node_ray(const char *version)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str path;
    int status = ray_find(&arena, &path) ? node_ray_report(&arena, path, version)
                                         : node_ray_install(&arena, version);
    fflush(stdout);
    return status;
}

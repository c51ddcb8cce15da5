/* node_probe.c: inspects a node before its setup changes anything. */
#include "app/setup/node_jobs.h"

#include "app/setup/container_host.h"
#include "app/setup/node_tools.h"
#include "app/setup/ray_find.h"
#include "ray/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

static const int64_t MEGABYTE = 1000 * 1000;
enum { FREE_LEAST_MB = 1000 };

static int64_t free_megabytes(void)
{
    struct statvfs status;
    const char *home = getenv("HOME");
    if (statvfs(home ? home : "/", &status) != 0) {
        return INT64_MAX;
    }
    return (int64_t)(status.f_bavail * status.f_frsize) / MEGABYTE;
}

static bool node_probe_exists(struct arena *arena, const char *name)
{
    struct str path;
    return tools_find(arena, name, NULL, &path);
}

/* The package of a program, if its name differs from the program's. */
static const char *package_of(const char *program)
{
    if (strcmp(program, "pip") == 0 || strcmp(program, "pip3") == 0) {
        return "python3-pip";
    }
    return strcmp(program, "python") == 0 ? "python-is-python3" : program;
}

static bool has_space(int64_t free_mb)
{
    if (free_mb >= FREE_LEAST_MB) {
        return true;
    }
    fprintf(stderr,
            "error: only %lld MB are free on the disk of this machine; Ray and its sessions need "
            "at least %d MB\n",
            (long long)free_mb, FREE_LEAST_MB);
    return false;
}

static bool has_needed(struct arena *arena, const char *need)
{
    if (!need || node_probe_exists(arena, need)) {
        return true;
    }
    if (strcmp(need, "docker") == 0) {
        fprintf(stderr, "error: the first setup command needs docker, which is not installed on "
                        "this machine\n"
                        "use an image that has it, or install it in initialization_commands: `curl "
                        "-fsSL https://get.docker.com | sudo sh`\n");
    } else if (strcmp(need, "uv") == 0 || strcmp(need, "conda") == 0) {
        fprintf(stderr,
                "error: the first setup command needs %s, which is not on the PATH of this "
                "machine's login shell\n"
                "use an image that has it, or install it first\n",
                need);
    } else {
        fprintf(stderr,
                "error: the first setup command needs %s, which is not installed on this machine\n"
                "install it first, in initialization_commands: `%s %s`\n",
                need, tools_installer(arena), package_of(need));
    }
    return false;
}

/* If neither Ray nor a command that may install it is present, Shoal installs Ray, which requires
 * Python. */
static bool has_python(struct arena *arena, bool is_bare, bool has_ray, struct str version)
{
    if (!is_bare || has_ray || tools_at_least(version, STR(RAY_PYTHON_LEAST))) {
        return true;
    }
    fprintf(stderr,
            "error: Ray is not installed on this machine, and there is no Python %s or newer to "
            "install it with%s%.*s\ninstall one in initialization_commands: `%s python3`, or use "
            "another image\n",
            RAY_PYTHON_LEAST, version.len > 0 ? ": python3 is " : "", STR_ARG(version),
            tools_installer(arena));
    return false;
}

/* Initialization commands may install it; then the next step reports a missing one. */
static bool has_container_program(struct arena *arena, const struct node_probe_setup *setup)
{
    struct container_host host = {.arena = arena, .program = setup->container};
    return !setup->is_bare || container_host_is_installed(&host);
}

int node_probe(const struct node_probe_setup *setup)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str python = {0};
    struct str path;
    bool has_ray = ray_find(&arena, &path);
    struct str version = {0};
    if (tools_find_python(&arena, &python, &version)) {
        printf("python %.*s (%.*s)", STR_ARG(version), STR_ARG(python));
    } else {
        printf("no python3");
    }
    int64_t free_mb = free_megabytes();
    printf(", %s ray, %s pip, %s docker, %lld.%lld GB free\n", has_ray ? "has" : "no",
           node_probe_exists(&arena, "pip") || node_probe_exists(&arena, "pip3") ? "has" : "no",
           node_probe_exists(&arena, "docker") ? "has" : "no", (long long)(free_mb / 1000),
           (long long)(free_mb % 1000 / 100));
    fflush(stdout);
    bool is_fine = has_space(free_mb) && has_needed(&arena, setup->need) &&
                   (setup->container ? has_container_program(&arena, setup)
                                     : has_python(&arena, setup->is_bare, has_ray, version));
    return is_fine ? 0 : 1;
}

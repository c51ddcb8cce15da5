/* ray_processes.c: detects Ray's processes on this machine. */
#include "app/setup/node_jobs.h"

#include "app/setup/node_tools.h"
#include "io/file.h"
#include "io/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CMDLINE_BYTES = 64 * 1024 };

/* The processes that `ray stop` kills, by program name or by a word of the command line. A name
 * that Ray does not use costs a needless `ray stop`; a missing name would leave a process
 * running. */
static const char *const names[] = {"raylet", "plasma_store", "ray::", "gcs_server"};
static const char *const words[] = {
    "monitor.py",
    "ray.util.client.server",
    "default_worker.py",
    "setup_worker.py",
    "ray::",
    "io.ray.runtime.runner.worker.DefaultWorker",
    "log_monitor.py",
    "dashboard/agent.py",
    "dashboard/dashboard.py",
    "runtime_env/agent/main.py",
    "ray_process_reaper.py",
    "DashboardAgent",
    "RuntimeEnvAgent",
};

static bool has_any(struct str text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_find(text, list[i]) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

static bool is_of_ray(int64_t pid, struct str line)
{
    AUTO_BUF struct buf name;
    buf_init(&name, CMDLINE_BYTES);
    return has_any(line, words, ARRAY_LEN(words)) ||
           (process_read(pid, "comm", &name) && has_any(buf_str(&name), names, ARRAY_LEN(names)));
}

static bool ray_processes_inspect(void *context, int64_t pid)
{
    bool *is_found = context;
    AUTO_BUF struct buf text;
    buf_init(&text, CMDLINE_BYTES);
    if (pid == (int64_t)getpid() || !process_read_line(pid, &text)) {
        return true;
    }
    *is_found = is_of_ray(pid, buf_str(&text));
    return !*is_found;
}

static bool has_process(void)
{
    bool is_found = false;
    process_each(ray_processes_inspect, &is_found);
    return is_found;
}

/* A cluster that was not shut down cleanly leaves its address file, which `ray stop` removes. */
static bool ray_processes_has_address(void)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    const char *folder = getenv("RAY_TMPDIR");
    folder = folder ? folder : getenv("TMPDIR");
    struct str path = arena_printf(&arena, "%s/ray/ray_current_cluster", folder ? folder : "/tmp");
    bool is_there = file_stat(path.ptr).kind != FILE_MISSING;
    return is_there;
}

int node_idle(void)
{
    if (ray_processes_has_address() || has_process()) {
        return 1;
    }
    printf("Ray is not running here\n");
    return 0;
}

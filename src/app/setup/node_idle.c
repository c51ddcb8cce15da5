/* node_idle.c: which of Ray's processes run on this machine. */
#include "app/setup/node_words.h"

#include "app/setup/node_tools.h"
#include "io/file.h"
#include "io/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CMDLINE_BYTES = 64 * 1024 };

/* What `ray stop` ends: by the name of the program, or by a word of its command line. A name here
 * that Ray does not have costs a needless `ray stop`; one that is missing here would leave a
 * process. */
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

struct search {
    bool only_monitor;
    bool is_found;
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

static bool look_at(void *context, int64_t pid)
{
    struct search *search = context;
    AUTO_BUF struct buf text;
    buf_init(&text, CMDLINE_BYTES);
    if (pid == (int64_t)getpid() || !process_read_line(pid, &text)) {
        return true;
    }
    struct str line = buf_str(&text);
    bool is_monitor = str_find(line, "ray/autoscaler/") != SIZE_MAX &&
                      str_find(line, "/monitor.py") != SIZE_MAX;
    search->is_found = search->only_monitor ? is_monitor : is_of_ray(pid, line);
    return !search->is_found;
}

static bool find_process(bool only_monitor)
{
    struct search search = {.only_monitor = only_monitor};
    process_each(look_at, &search);
    return search.is_found;
}

bool node_has_monitor(void)
{
    return find_process(true);
}

/* A cluster that was not ended well leaves its address behind, which `ray stop` removes. */
static bool has_address(void)
{
    struct arena arena;
    arena_init(&arena);
    const char *folder = getenv("RAY_TMPDIR");
    folder = folder ? folder : getenv("TMPDIR");
    struct str path = arena_printf(&arena, "%s/ray/ray_current_cluster", folder ? folder : "/tmp");
    bool is_there = file_look(path.ptr).kind != FILE_MISSING;
    arena_clear(&arena);
    return is_there;
}

int node_idle(void)
{
    if (has_address() || find_process(false)) {
        return 1;
    }
    printf("no Ray runs here\n");
    return 0;
}

/* node_idle.c: which of Ray's processes run on this machine. */
#include "app/setup/node_words.h"

#include "app/setup/node_tools.h"
#include "io/file.h"

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
    struct arena *arena;
    bool only_monitor;
    bool is_found;
};

/* The command line with blanks between its words; /proc has zero bytes there. */
static bool read_words(struct arena *arena, struct str pid, const char *file, struct buf *out)
{
    struct err err;
    const char *path = arena_printf(arena, "/proc/%.*s/%s", STR_ARG(pid), file).ptr;
    if (!file_read(path, out, &err)) {
        return false; /* it has ended */
    }
    for (size_t i = 0; i < out->len; i++) {
        out->ptr[i] = out->ptr[i] == '\0' ? ' ' : out->ptr[i];
    }
    return true;
}

static bool has_any(struct str text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_find(text, list[i]) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

static void look_at(void *context, const struct file_entry *entry)
{
    struct search *search = context;
    int64_t pid;
    if (search->is_found || !str_to_i64(entry->name, &pid) || pid == (int64_t)getpid()) {
        return;
    }
    AUTO_BUF struct buf line;
    buf_init(&line, CMDLINE_BYTES);
    if (!read_words(search->arena, entry->name, "cmdline", &line)) {
        return;
    }
    if (search->only_monitor) {
        search->is_found = str_find(buf_str(&line), "ray/autoscaler/") != SIZE_MAX &&
                           str_find(buf_str(&line), "/monitor.py") != SIZE_MAX;
        return;
    }
    search->is_found = has_any(buf_str(&line), words, ARRAY_LEN(words));
    AUTO_BUF struct buf name;
    buf_init(&name, CMDLINE_BYTES);
    if (read_words(search->arena, entry->name, "comm", &name)) {
        search->is_found = search->is_found || has_any(buf_str(&name), names, ARRAY_LEN(names));
    }
}

static bool find_process(bool only_monitor)
{
    struct arena arena;
    arena_init(&arena);
    struct search search = {.arena = &arena, .only_monitor = only_monitor};
    file_list("/proc", look_at, &search);
    arena_clear(&arena);
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

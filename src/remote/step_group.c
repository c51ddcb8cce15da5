/* step_group.c: stops processes that a killed runner left behind. */
#include "remote/step_group.h"

#include "base/arena.h"
#include "base/buf.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TERM_MS = 3000, KILL_MS = 2000, LOOK_MS = 10, ENVIRONMENT_MAX = 4 << 20 };

static const char *step_group_path_of(struct arena *arena, const char *folder)
{
    return arena_printf(arena, "%s/group", folder).ptr;
}

void step_group_note(const char *folder, int leader)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    char text[32];
    int size = snprintf(text, sizeof(text), "%d\n", leader);
    int fd = open(step_group_path_of(&arena, folder),
                  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    /* Disk full: the step of a killed runner would then not be found, which is acceptable. */
    if (fd >= 0 && write(fd, text, (size_t)size) != size) {
        step_group_forget(folder);
    }
    if (fd >= 0) {
        close(fd);
    }
}

void step_group_forget(const char *folder)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    unlink(step_group_path_of(&arena, folder));
}

/* ---- finding the processes ---- */

struct step_group_search {
    const char *mark; /* "SHOAL_STEP=/home/...", in the environment of every process of a step */
    int64_t group;
    bool is_found;
};

static bool has_mark(struct str environment, const char *mark)
{
    while (environment.len > 0) {
        if (str_is(str_cut(&environment, '\0'), mark)) {
            return true;
        }
    }
    return false;
}

static bool step_group_inspect(void *context, int64_t pid)
{
    struct step_group_search *search = context;
    struct process_parentage kin = process_parentage(pid);
    AUTO_BUF struct buf environment;
    buf_init(&environment, ENVIRONMENT_MAX);
    search->is_found = kin.group == search->group && !kin.has_ended &&
                       process_read(pid, "environ", &environment) &&
                       has_mark(buf_str(&environment), search->mark);
    return !search->is_found;
}

static bool step_group_exists(struct step_group_search *search)
{
    search->is_found = false;
    process_each(step_group_inspect, search);
    return search->is_found;
}

/* True if all have exited. */
static bool end_within(struct step_group_search *search, int number, int64_t wait_ms)
{
    const struct timespec nap = {0, LOOK_MS * 1000000};
    int64_t until = clock_monotonic_ms(&clock_of_machine) + wait_ms;
    while (step_group_exists(search)) {
        if (clock_monotonic_ms(&clock_of_machine) > until) {
            return false;
        }
        kill((pid_t)-search->group, number);
        nanosleep(&nap, NULL);
    }
    return true;
}

void step_group_end(const char *folder)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct err err;
    AUTO_BUF struct buf text;
    buf_init(&text, 64);
    struct step_group_search search = {
        .mark = arena_printf(&arena, "SHOAL_STEP=%s/step.sh", folder).ptr,
    };
    if (file_read(step_group_path_of(&arena, folder), &text, &err) &&
        str_to_i64(str_trim(buf_str(&text)), &search.group) && search.group > 1 &&
        !end_within(&search, SIGTERM, TERM_MS)) {
        (void)end_within(&search, SIGKILL, KILL_MS);
    }
    step_group_forget(folder);
}

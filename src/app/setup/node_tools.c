/* node_tools.c: finds and runs programs for the subcommands on a node. */
#include "app/setup/node_tools.h"

#include "io/child.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/loop.h"
#include "ray/version.h"

#include <stdlib.h>
#include <unistd.h>

extern char **environ;

enum { LINE_BYTES = 16 * 1024, OS_RELEASE_BYTES = 16 * 1024 };

/* ---- finding ---- */

bool tools_find(struct arena *arena, const char *name, const char *but, struct str *ret_path)
{
    struct str folders = str_from(getenv("PATH"));
    while (folders.len > 0) {
        struct str folder = str_cut(&folders, ':');
        if (folder.len == 0 || (but && str_is(folder, but))) {
            continue;
        }
        struct str path = arena_printf(arena, "%.*s/%s", STR_ARG(folder), name);
        if (access(path.ptr, X_OK) == 0 && file_stat(path.ptr).kind == FILE_REGULAR) {
            *ret_path = path;
            return true;
        }
    }
    return false;
}

const char *tools_home(struct arena *arena, const char *path)
{
    return arena_str(arena, file_expand_home(arena, str_from(path))).ptr;
}

const char *const *tools_environment(struct arena *arena)
{
    size_t count = 0;
    while (environ[count]) {
        count++;
    }
    const char **names = ARENA_ARRAY(arena, count + 1, const char *);
    for (size_t i = 0; i < count; i++) {
        struct str rest = str_from(environ[i]);
        names[i] = arena_str(arena, str_cut(&rest, '=')).ptr;
    }
    return names;
}

/* ---- running ---- */

struct node_tools_run {
    struct loop *loop;
    struct buf *out;
    int status;
    bool is_fine;
    struct err err;
};

static void show_line(void *context, enum child_stream stream, struct str line)
{
    (void)context;
    FILE *to = stream == CHILD_STDERR ? stderr : stdout;
    fprintf(to, "%.*s\n", STR_ARG(line));
    fflush(to);
}

static void node_tools_handle_end(void *context, const struct child_result *result)
{
    struct node_tools_run *run = context;
    run->is_fine = child_was_fine(result);
    run->status = result->end == CHILD_EXITED ? result->exit_status : -1;
    run->err = result->err;
    if (run->out) {
        buf_add(run->out, result->output[CHILD_STDOUT]);
        run->out->is_full = result->is_cut[CHILD_STDOUT] && run->out->len == run->out->cap;
    }
    loop_stop(run->loop);
}

static bool run_with(const char *const *env_names, const char *const *argv, struct str input,
                     int64_t deadline_ms, struct buf *out, int *ret_status, struct err *err)
{
    struct node_tools_run run = {.out = out};
    *ret_status = -1;
    if (!loop_open(&clock_of_machine, &run.loop, err)) {
        return false;
    }
    struct child_pool *pool = child_pool_new(run.loop, 1);
    struct child_output shown = {LINE_BYTES, show_line, false};
    struct child_spec spec = {
        .argv = argv,
        .env_names = env_names,
        .input = input,
        .output = {shown, shown},
        .deadline_ms = deadline_ms,
        .done = node_tools_handle_end,
        .context = &run,
    };
    if (out) {
        spec.output[CHILD_STDOUT] = (struct child_output){.bytes_max = out->cap};
        spec.output[CHILD_STDERR] = (struct child_output){0};
    }
    child_start(pool, &spec);
    loop_run(run.loop);
    child_pool_free(pool);
    loop_close(run.loop);
    *ret_status = run.status;
    if (!run.is_fine) {
        *err = run.err;
    }
    return run.is_fine;
}

bool tools_run(const char *const *argv, int64_t deadline_ms, struct buf *out, int *ret_status,
               struct err *err)
{
    return tools_run_fed(argv, (struct str){0}, deadline_ms, out, ret_status, err);
}

bool tools_run_fed(const char *const *argv, struct str input, int64_t deadline_ms, struct buf *out,
                   int *ret_status, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    return run_with(tools_environment(&arena), argv, input, deadline_ms, out, ret_status, err);
}

bool tools_run_clean(const char *const *argv, int64_t deadline_ms, struct buf *out, struct err *err)
{
    int status;
    return run_with(child_usual_env, argv, (struct str){0}, deadline_ms, out, &status, err);
}

/* ---- the distribution ---- */

const char *tools_installer(struct arena *arena)
{
    struct str path;
    static const char *const rows[][2] = {
        {"apt-get", "sudo apt-get update && sudo apt-get install -y"},
        {"dnf", "sudo dnf install -y"},
        {"yum", "sudo yum install -y"},
        {"zypper", "sudo zypper install -y"},
        {"apk", "sudo apk add"},
        {"pacman", "sudo pacman -S --noconfirm"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (tools_find(arena, rows[i][0], NULL, &path)) {
            return rows[i][1];
        }
    }
    return "sudo apt-get update && sudo apt-get install -y";
}

/* ---- versions ---- */

/* The version printed by `python3 -V`, for example "3.11.2"; false if it does not run. */
static bool tools_python_version(struct arena *arena, const char *python, struct str *ret_version)
{
    AUTO_BUF struct buf out;
    buf_init(&out, LINE_BYTES);
    const char *const argv[] = {python, "-V", NULL};
    struct err err;
    int status;
    if (!tools_run(argv, 10 * 1000, &out, &status, &err)) {
        return false;
    }
    struct str text = str_trim(buf_str(&out));
    if (!str_starts(text, "Python ")) {
        return false;
    }
    *ret_version = arena_str(arena, str_sub(text, 7, text.len));
    return true;
}

/* The leading number of a version part: 2 for "2rc1". */
static uint64_t leading_number(struct str part)
{
    uint64_t number = 0;
    for (size_t i = 0; i < part.len && i < 9 && part.ptr[i] >= '0' && part.ptr[i] <= '9'; i++) {
        number = number * 10 + (uint64_t)(part.ptr[i] - '0');
    }
    return number;
}

bool tools_at_least(struct str version, struct str least)
{
    while (least.len > 0) {
        uint64_t wanted = leading_number(str_cut(&least, '.'));
        uint64_t there = leading_number(str_cut(&version, '.'));
        if (there != wanted) {
            return there > wanted;
        }
    }
    return true;
}

bool tools_find_python(struct arena *arena, struct str *ret_path, struct str *ret_version)
{
    static const char *const names[] = {"python3", "python3.12", "python3.11", "python3.13",
                                        "python3.10"};
    bool is_found = false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str path;
        struct str version;
        if (!tools_find(arena, names[i], NULL, &path) ||
            !tools_python_version(arena, path.ptr, &version)) {
            continue;
        }
        bool is_good = tools_at_least(version, STR(RAY_PYTHON_LEAST));
        if (is_good || !is_found) {
            *ret_path = path;
            *ret_version = version;
            is_found = true;
        }
        if (is_good) {
            break;
        }
    }
    return is_found;
}

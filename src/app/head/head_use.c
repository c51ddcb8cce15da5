/*
 * head_use.c: classifies processes by their command lines.
 *
 * Shoal's own ssh sessions do not count. They have no terminal, and below sshd runs Shoal's program
 * ("shoal ctl", "shoal node serve"). `shoal exec` without a terminal runs "shoal node attend",
 * which runs a command of the user: it counts. A session without any process only forwards ports
 * and does not count, because the connection that Shoal's commands share looks like that for a
 * minute after each command.
 */
#include "app/head/head_use.h"

#include "base/arena.h"
#include "base/buf.h"
#include "io/file.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PROCESSES_MAX = 65536, LINE_BYTES_MAX = 256 * 1024, STAT_BYTES_MAX = 4096, DEPTH_MAX = 64 };

enum head_process_kind {
    PROCESS_OTHER,
    PROCESS_TERMINAL, /* sshd of a session with a terminal */
    PROCESS_PLAIN,    /* sshd of a session without one */
    PROCESS_SHOAL,
    PROCESS_EDITOR,
    PROCESS_NOTEBOOK,
};

struct head_process {
    int64_t pid, parent;
    enum head_process_kind kind;
    bool is_own; /* a child of sshd that is Shoal's, or runs it */
};

struct head_scan {
    const char *proc;
    struct arena arena;
    struct head_process *items;
    size_t count, capacity;
};

/* ---- one process ---- */

/* "sshd: ubuntu@pts/0", "sshd-session: ubuntu@notty"; not "sshd: ubuntu [priv]". */
static enum head_process_kind head_use_sshd_kind(struct str title)
{
    if ((!str_starts(title, "sshd: ") && !str_starts(title, "sshd-session: ")) ||
        str_find_char(title, '@') == SIZE_MAX || str_find_char(title, '[') != SIZE_MAX) {
        return PROCESS_OTHER;
    }
    return str_ends(str_trim(title), "@notty") ? PROCESS_PLAIN : PROCESS_TERMINAL;
}

static struct str head_use_name(struct str path)
{
    struct str name = path;
    while (path.len > 0) {
        name = str_cut(&path, '/');
    }
    return name;
}

static bool head_use_is_editor(struct str program)
{
    static const char *const folders[] = {"/.vscode-server", "/.vscodium-server", "/.cursor-server",
                                          "/.windsurf-server", "/JetBrains/RemoteDev"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        if (str_find(program, folders[i]) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

/* Jupyter's programs are scripts, so Python is the first word: `python jupyter-lab`, `python -m
 * jupyterlab` or `python -m notebook`. */
static bool head_use_is_notebook(struct str first, struct str second, struct str third)
{
    struct str name = head_use_name(first);
    if (!str_starts(name, "python")) {
        return str_starts(name, "jupyter");
    }
    return str_is(second, "-m") ? str_starts(third, "jupyter") || str_is(third, "notebook")
                                : str_starts(head_use_name(second), "jupyter");
}

/* The words of a command line end with NUL bytes. */
static enum head_process_kind head_use_kind(struct str line)
{
    struct str rest = line;
    struct str first = str_cut(&rest, '\0');
    struct str second = str_cut(&rest, '\0');
    struct str third = str_cut(&rest, '\0');
    if (str_ends(first, "/.shoal/bin/shoal")) {
        bool is_user = str_is(second, "node") && str_is(third, "attend");
        return is_user ? PROCESS_OTHER : PROCESS_SHOAL;
    }
    if (head_use_is_editor(first)) {
        return PROCESS_EDITOR;
    }
    return head_use_is_notebook(first, second, third) ? PROCESS_NOTEBOOK
                                                      : head_use_sshd_kind(first);
}

static bool head_use_read(const struct head_scan *scan, struct str pid, const char *file,
                          struct buf *out)
{
    char path[256];
    struct err ignored;
    snprintf(path, sizeof(path), "%s/%.*s/%s", scan->proc, STR_ARG(pid), file);
    return file_read(path, out, &ignored);
}

/* The second field of "stat" is a name in parentheses that may contain any byte; then state and
 * parent. A process that has ended counts no more. */
static bool head_use_parent(struct str stat, int64_t *ret_parent)
{
    size_t end = stat.len;
    while (end > 0 && stat.ptr[end - 1] != ')') {
        end--;
    }
    struct str rest = str_trim(str_sub(stat, end, stat.len));
    return !str_is(str_cut(&rest, ' '), "Z") && str_to_i64(str_cut(&rest, ' '), ret_parent);
}

static void head_use_take(void *context, const struct file_entry *entry)
{
    struct head_scan *scan = context;
    struct head_process process = {0};
    AUTO_BUF struct buf line;
    AUTO_BUF struct buf stat;
    buf_init(&line, LINE_BYTES_MAX);
    buf_init(&stat, STAT_BYTES_MAX);
    if (scan->count < PROCESSES_MAX && str_to_i64(entry->name, &process.pid) && process.pid > 0 &&
        head_use_read(scan, entry->name, "cmdline", &line) &&
        head_use_read(scan, entry->name, "stat", &stat) &&
        head_use_parent(buf_str(&stat), &process.parent)) {
        process.kind = head_use_kind(buf_str(&line));
        ARENA_PUSH(&scan->arena, scan->items, scan->count, scan->capacity) = process;
    }
}

/* ---- sessions ---- */

static struct head_process *head_use_find(const struct head_scan *scan, int64_t pid)
{
    for (size_t i = 0; i < scan->count; i++) {
        if (scan->items[i].pid == pid) {
            return &scan->items[i];
        }
    }
    return NULL;
}

/* Marks the child of sshd above a process of Shoal. */
static void head_use_mark_own(const struct head_scan *scan, struct head_process *process)
{
    for (int depth = 0; process && depth < DEPTH_MAX; depth++) {
        struct head_process *parent = head_use_find(scan, process->parent);
        if (parent && parent->kind == PROCESS_PLAIN) {
            process->is_own = true;
            return;
        }
        process = parent;
    }
}

static bool head_use_has_program(const struct head_scan *scan, const struct head_process *session)
{
    for (size_t i = 0; i < scan->count; i++) {
        if (scan->items[i].parent == session->pid && !scan->items[i].is_own) {
            return true;
        }
    }
    return false;
}

struct head_use head_use_scan(const char *proc)
{
    struct head_scan scan = {.proc = proc};
    struct head_use use = {0};
    arena_init(&scan.arena);
    file_list(proc, head_use_take, &scan);
    for (size_t i = 0; i < scan.count; i++) {
        if (scan.items[i].kind == PROCESS_SHOAL) {
            head_use_mark_own(&scan, &scan.items[i]);
        }
    }
    for (size_t i = 0; i < scan.count; i++) {
        const struct head_process *process = &scan.items[i];
        use.logins += process->kind == PROCESS_TERMINAL ||
                      (process->kind == PROCESS_PLAIN && head_use_has_program(&scan, process));
        use.editors += process->kind == PROCESS_EDITOR;
        use.notebooks += process->kind == PROCESS_NOTEBOOK;
    }
    arena_clear(&scan.arena);
    return use;
}

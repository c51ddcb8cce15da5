/* process.c: reads /proc. */
#include "io/process.h"

#include "io/file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 64, NAME_BYTES = 64, STAT_BYTES = 4096 };

struct process_walk {
    process_fn *take;
    void *context;
    bool is_over;
};

static void process_inspect(void *context, const struct file_entry *entry)
{
    struct process_walk *walk = context;
    int64_t pid;
    if (!walk->is_over && str_to_i64(entry->name, &pid) && pid > 0) {
        walk->is_over = !walk->take(walk->context, pid);
    }
}

void process_each(process_fn *take, void *context)
{
    struct process_walk walk = {.take = take, .context = context};
    file_list("/proc", process_inspect, &walk);
}

bool process_read(int64_t pid, const char *file, struct buf *out)
{
    char path[PATH_BYTES];
    struct err ignored;
    snprintf(path, sizeof(path), "/proc/%lld/%s", (long long)pid, file);
    buf_clear(out);
    return file_read(path, out, &ignored);
}

bool process_read_line(int64_t pid, struct buf *out)
{
    bool ok = process_read(pid, "cmdline", out);
    for (size_t i = 0; ok && i < out->len; i++) {
        out->ptr[i] = out->ptr[i] == '\0' ? ' ' : out->ptr[i];
    }
    return ok;
}

bool process_is_named(int64_t pid, const char *name)
{
    AUTO_BUF struct buf own;
    buf_init(&own, NAME_BYTES);
    return process_read(pid, "comm", &own) && str_is(str_trim(buf_str(&own)), name);
}

bool process_owner(int64_t pid, uint32_t *ret_user)
{
    char path[PATH_BYTES];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%lld", (long long)pid);
    bool ok = stat(path, &status) == 0;
    *ret_user = ok ? status.st_uid : UINT32_MAX;
    return ok;
}

/* The second field is a name in parentheses that may contain any byte; then state, parent,
 * group. */
struct process_parentage process_parentage(int64_t pid)
{
    struct process_parentage kin = {0};
    AUTO_BUF struct buf stat;
    buf_init(&stat, STAT_BYTES);
    if (!process_read(pid, "stat", &stat)) {
        return kin;
    }
    const char *name_end = strrchr(stat.ptr, ')');
    struct str rest = str_trim(str_from(name_end ? name_end + 1 : ""));
    kin.has_ended = str_is(str_cut(&rest, ' '), "Z");
    if (!str_to_i64(str_cut(&rest, ' '), &kin.parent) ||
        !str_to_i64(str_cut(&rest, ' '), &kin.group)) {
        kin = (struct process_parentage){0};
    }
    return kin;
}

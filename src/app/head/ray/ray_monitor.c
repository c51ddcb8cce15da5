/*
 * ray_monitor.c: processes and their words, as Linux tells them.
 *
 * Every head has a monitor unless it was started without one; it acts only with
 * --autoscaling-config.
 */
#include "app/head/ray/ray_monitor.h"

#include "base/buf.h"
#include "io/file.h"

#include <stdint.h>
#include <stdio.h>

enum { WORDS_MAX = 16 * 1024, PATH_MAX_BYTES = 64 };

struct search {
    int64_t found;
};

/* Words are separated by zero bytes. */
static bool is_acting_monitor(struct str words)
{
    bool is_monitor = false;
    bool has_config = false;
    while (words.len > 0) {
        struct str word = str_cut(&words, '\0');
        is_monitor = is_monitor || str_ends(word, "/monitor.py");
        has_config = has_config || (str_starts(word, "--autoscaling-config=") &&
                                    word.len > sizeof("--autoscaling-config=") - 1);
    }
    return is_monitor && has_config;
}

static void look_at(void *context, const struct file_entry *entry)
{
    struct search *search = context;
    char path[PATH_MAX_BYTES];
    int64_t pid;
    struct err err;
    AUTO_BUF struct buf words;
    buf_init(&words, WORDS_MAX);
    if (search->found != 0 || !str_to_i64(entry->name, &pid) || pid <= 1) {
        return;
    }
    snprintf(path, sizeof(path), "/proc/%lld/cmdline", (long long)pid);
    /* One that has just ended, or has more words than any monitor, is none. */
    if (file_read(path, &words, &err) && is_acting_monitor(buf_str(&words))) {
        search->found = pid;
    }
}

int ray_monitor_find(void)
{
    struct search search = {0};
    file_list("/proc", look_at, &search);
    return (int)search.found;
}

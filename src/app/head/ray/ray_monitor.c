/*
 * ray_monitor.c: Ray's own monitor among the processes of this machine.
 *
 * Every head has a monitor unless it was started without one; it acts only with
 * --autoscaling-config.
 */
#include "app/head/ray/ray_monitor.h"

#include "io/process.h"

enum { WORDS_MAX = 16 * 1024 };

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

static bool look_at(void *context, int64_t pid)
{
    int64_t *found = context;
    AUTO_BUF struct buf words;
    buf_init(&words, WORDS_MAX);
    /* One that has just ended, or has more words than any monitor, is none. */
    if (process_read(pid, "cmdline", &words) && is_acting_monitor(buf_str(&words))) {
        *found = pid;
    }
    return *found == 0;
}

int ray_monitor_find(void)
{
    int64_t found = 0;
    process_each(look_at, &found);
    return (int)found;
}

/* process_facts.c: reads /proc and getrusage(). */
#include "app/head/metrics/process_facts.h"

#include "io/file.h"

#include <sys/resource.h>
#include <unistd.h>

enum { STATM_BYTES_MAX = 256 };

/* The second field of statm, in pages. */
static int64_t resident_bytes(void)
{
    AUTO_BUF struct buf text;
    struct err ignored;
    int64_t pages;
    buf_init(&text, STATM_BYTES_MAX);
    if (!file_read("/proc/self/statm", &text, &ignored)) {
        return -1;
    }
    struct str rest = buf_str(&text);
    str_cut(&rest, ' ');
    return str_to_i64(str_cut(&rest, ' '), &pages) ? pages * sysconf(_SC_PAGESIZE) : -1;
}

static void count(void *context, const struct file_entry *entry)
{
    (void)entry;
    ++*(int64_t *)context;
}

static int64_t open_files(void)
{
    int64_t files = -1; /* not counting the descriptor of the folder itself */
    file_list("/proc/self/fd", count, &files);
    return files;
}

static double process_facts_seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

struct process_facts process_facts_now(int64_t began_ms)
{
    struct rusage usage = {0};
    bool is_known = getrusage(RUSAGE_SELF, &usage) == 0;
    return (struct process_facts){
        .cpu_s = is_known ? process_facts_seconds_of(usage.ru_utime) +
                                process_facts_seconds_of(usage.ru_stime)
                          : -1,
        .resident_bytes = resident_bytes(),
        .open_files = open_files(),
        .began_ms = began_ms,
    };
}

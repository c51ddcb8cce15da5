/*
 * ray_monitor.c: finds Ray's own monitor among the processes of this machine.
 *
 * Ray starts it as `PYTHON -u .../ray/autoscaler/{_private,v2}/monitor.py --gcs-address=HOST:PORT
 * ... --autoscaling-config=FILE`; without the last option it does not scale. A process with a
 * similar argv, of another user or another cluster, must not stop our autoscaler.
 */
#include "app/head/ray/ray_monitor.h"

#include "io/process.h"

#include <unistd.h>

enum { WORDS_MAX = 16 * 1024 };

static bool is_script(struct str word)
{
    return str_ends(word, "/ray/autoscaler/_private/monitor.py") ||
           str_ends(word, "/ray/autoscaler/v2/monitor.py");
}

/* Hosts are not compared: a machine has several addresses. */
static struct str ray_monitor_port_of(struct str address)
{
    size_t from = address.len;
    while (from > 0 && address.ptr[from - 1] != ':') {
        from--;
    }
    return from > 0 ? str_sub(address, from, address.len) : STR("");
}

static bool take_option(struct str word, const char *option, struct str *ret_value)
{
    struct str value = word;
    bool is_it = str_is(str_cut(&value, '='), option) && value.len > 0;
    *ret_value = is_it ? value : *ret_value;
    return is_it;
}

bool ray_monitor_is(struct str words, struct str gcs_address)
{
    struct str gcs = STR("");
    struct str config = STR("");
    (void)str_cut(&words, '\0'); /* the interpreter, under any name */
    if (!str_is(str_cut(&words, '\0'), "-u") || !is_script(str_cut(&words, '\0'))) {
        return false;
    }
    while (words.len > 0) {
        struct str word = str_cut(&words, '\0');
        (void)(take_option(word, "--gcs-address", &gcs) ||
               take_option(word, "--autoscaling-config", &config));
    }
    return config.len > 0 && gcs.len > 0 &&
           str_eq(ray_monitor_port_of(gcs), ray_monitor_port_of(gcs_address));
}

struct ray_monitor_search {
    struct str gcs_address;
    int64_t found;
};

static bool ray_monitor_inspect(void *context, int64_t pid)
{
    struct ray_monitor_search *search = context;
    AUTO_BUF struct buf words;
    uint32_t user;
    buf_init(&words, WORDS_MAX);
    bool is_trusted = process_owner(pid, &user) && (user == geteuid() || user == 0);
    /* A process that just exited, or whose argv is too long for a monitor, is not one. */
    if (is_trusted && process_read(pid, "cmdline", &words) &&
        ray_monitor_is(buf_str(&words), search->gcs_address)) {
        search->found = pid;
    }
    return search->found == 0;
}

int ray_monitor_find(struct str gcs_address)
{
    struct ray_monitor_search search = {gcs_address, 0};
    process_each(ray_monitor_inspect, &search);
    return (int)search.found;
}

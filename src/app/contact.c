/* contact.c: settings, script and messages of the dead-man switch. */
#include "app/contact.h"

#include "app/script_text.h"
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
    MINUTE_MS = 60 * 1000,
    MINUTES_MAX = 365 * 24 * 60,
    SCRIPT_BYTES_MAX = 16 * 1024,
    EVERY_MOST_MS = 5 * 60 * 1000
};

int64_t contact_timeout_ms(const struct value *shoal)
{
    double minutes = CONTACT_USUAL_MINUTES;
    const struct value *given = value_get_c(shoal, "contact_timeout_minutes");
    if (given && !value_number(given, &minutes)) {
        minutes = CONTACT_USUAL_MINUTES;
    }
    if (!(minutes > 0)) {
        return 0;
    }
    return (int64_t)((minutes < MINUTES_MAX ? minutes : MINUTES_MAX) * MINUTE_MS);
}

int64_t contact_checks(int64_t timeout_ms)
{
    int64_t checks = (timeout_ms + CONTACT_CHECK_MS - 1) / CONTACT_CHECK_MS;
    return checks > 0 ? checks : 1;
}

/* Tolerates three lost messages. */
int64_t contact_every_ms(int64_t timeout_ms)
{
    int64_t every = timeout_ms / 4;
    every = every > EVERY_MOST_MS ? EVERY_MOST_MS : every;
    return every < CONTACT_CHECK_MS ? CONTACT_CHECK_MS : every;
}

static struct str contact_script(const char *role, bool deletes, int64_t timeout_ms,
                                 struct arena *arena)
{
    AUTO_BUF struct buf text;
    buf_init(&text, SCRIPT_BYTES_MAX);
    if (timeout_ms == 0) {
        return STR("");
    }
    buf_addf(&text, "#!/bin/sh\nrole=%s\nlimit=%lld\n", role,
             (long long)contact_checks(timeout_ms));
    if (deletes) {
        script_text_add(&text, "gce_end.sh");
    }
    script_text_add(&text, "contact.sh");
    return arena_str(arena, buf_str(&text));
}

struct str contact_hook(int64_t timeout_ms, bool is_head, struct arena *arena)
{
    return contact_script(is_head ? "head" : "worker", false, timeout_ms, arena);
}

struct str contact_gce_hook(int64_t timeout_ms, bool is_head, struct arena *arena)
{
    return contact_script(is_head ? "head" : "worker", !is_head, timeout_ms, arena);
}

struct str contact_watch(int64_t timeout_ms, struct arena *arena)
{
    return contact_script("host", false, timeout_ms, arena);
}

/* Root creates the file at boot if there is a switch; this function never creates it. */
bool contact_write(const char *path, struct str word, struct err *err)
{
    int descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0 && errno == ENOENT) {
        return true;
    }
    bool ok = descriptor >= 0 && write(descriptor, word.ptr, word.len) == (ssize_t)word.len;
    if (!ok) {
        err_set(err, ERR_IO, "%s cannot be written: %s", path, strerror(errno));
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    return ok;
}

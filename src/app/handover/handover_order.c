/* handover_order.c: determines which handover is in force. */
#include "app/handover/handover.h"
#include "io/file.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COPY_PREFIX "handover."
#define COPY_SUFFIX ".json"

int64_t handover_next_serial(int64_t wall_ms, int64_t there, int64_t here)
{
    int64_t known = there > here ? there : here;
    return wall_ms > known ? wall_ms : known + 1;
}

/* ---- copies ---- */

const char *handover_copy_path(const char *folder, int64_t serial, struct arena *arena)
{
    return arena_printf(arena, "%s/" COPY_PREFIX "%" PRId64 COPY_SUFFIX, folder, serial).ptr;
}

/* "handover.1790000000000.json"; 0 if it is not a copy. */
static int64_t serial_of_name(struct str name)
{
    size_t frame = strlen(COPY_PREFIX) + strlen(COPY_SUFFIX);
    int64_t serial;
    bool is_copy = name.len > frame && str_starts(name, COPY_PREFIX) &&
                   str_ends(name, COPY_SUFFIX) &&
                   str_to_i64(str_sub(name, strlen(COPY_PREFIX), name.len - strlen(COPY_SUFFIX)),
                              &serial);
    return is_copy && serial > 0 ? serial : 0;
}

static void handover_order_take_newest(void *context, const struct file_entry *entry)
{
    int64_t *newest = context;
    int64_t serial = serial_of_name(entry->name);
    *newest = serial > *newest ? serial : *newest;
}

/* Older versions made no copies: the file that was sent was in force. */
static int64_t serial_sent(const char *folder)
{
    struct arena arena;
    struct buf text;
    struct handover handover = {0};
    struct err ignored;
    arena_init_secret(&arena);
    buf_init(&text, HANDOVER_BYTES_MAX);
    const char *path = arena_printf(&arena, "%s/" HANDOVER_NAME, folder).ptr;
    if (!file_read_secret(path, &text, &ignored) ||
        !handover_read(buf_str(&text), &arena, &handover, &ignored)) {
        handover.serial = 0;
    }
    buf_wipe(&text);
    arena_clear(&arena);
    return handover.serial;
}

int64_t handover_known(const char *folder)
{
    int64_t newest = 0;
    file_list(folder, handover_order_take_newest, &newest);
    return newest > 0 ? newest : serial_sent(folder);
}

struct removal {
    const char *folder;
    int64_t kept;
};

static void handover_order_remove_other(void *context, const struct file_entry *entry)
{
    const struct removal *removal = context;
    int64_t serial = serial_of_name(entry->name);
    if (serial > 0 && serial != removal->kept) {
        struct arena arena;
        arena_init(&arena);
        unlink(handover_copy_path(removal->folder, serial, &arena));
        arena_clear(&arena);
    }
}

void handover_remove_copies(const char *folder, int64_t serial)
{
    struct removal removal = {folder, serial};
    file_list(folder, handover_order_remove_other, &removal);
}

/* ---- order ---- */

bool handover_compare(struct journal *journal, const struct handover *handover,
                      enum handover_order *ret_order, struct err *err)
{
    uint64_t known;
    if (!journal_get_number(journal, "handover", &known, err)) {
        return false;
    }
    uint64_t serial = (uint64_t)handover->serial;
    *ret_order = serial > known ? HANDOVER_NEWER : serial == known ? HANDOVER_SAME : HANDOVER_OLDER;
    return true;
}

static void format_time(int64_t wall_ms, char text[32])
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) || strftime(text, 32, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) {
        memcpy(text, "?", 2);
    }
}

bool handover_refuse(struct journal *journal, const struct handover *handover, struct err *err)
{
    char ours[32];
    char known_text[32];
    uint64_t known;
    if (!journal_get_number(journal, "handover", &known, err)) {
        return false;
    }
    format_time(handover->serial, ours);
    format_time((int64_t)known, known_text);
    return err_set(err, ERR_EXISTS,
                   "nothing was applied: this configuration (from %s) is older than the one in use "
                   "(from %s). Another `shoal up` ran in the meantime; run `shoal up` again to "
                   "apply yours",
                   ours, known_text);
}

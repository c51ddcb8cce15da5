/*
 * fuzz_journal.c: a journal with damage: the input is a list of places and of the bytes that are
 * written there (two bytes for the place, one for how many, the bytes). Whatever the file has
 * become, it is read, refused or written to without a crash.
 */
#include "fuzz.h"

#include "io/file.h"
#include "store/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 256 * 1024 };

static char folder[64];
static struct buf whole; /* a good one */

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void remove_files(void)
{
    static const char *const names[] = {"journal.db", "journal.db-wal", "journal.db-shm", "lock"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        unlink(path_of(names[i]));
    }
}

static void remove_all(void)
{
    remove_files();
    rmdir(folder);
}

static void fill(struct journal *journal)
{
    struct err err;
    uint64_t number;
    struct journal_intent intent = {
        .launch = (uint64_t)3 << 32, .count = 2, .token = STR("token"), .call = STR("call")};
    struct journal_entry entry = {.text = STR("text")};
    struct journal_event_read happened = {.number = 1, .kind = STR("join"), .text = STR("joined")};
    bool ok = journal_begin(journal, &err) && journal_set(journal, "uid", STR("u"), &err) &&
              journal_number(journal, STR("head"), &number, &err) &&
              journal_number(journal, STR("i-1"), &number, &err) &&
              journal_intend(journal, &intent, &err) && journal_add(journal, &entry, &err) &&
              journal_event_add(journal, &happened, &err) && journal_commit(journal, &err);
    if (!ok) {
        fuzz_fail("a good journal can be made", str_from(err.text));
    }
}

static void make_whole(void)
{
    struct journal *journal;
    struct err err;
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof(folder), "%s/shoal-fuzz-XXXXXX", base);
    if (!mkdtemp(folder)) {
        fuzz_fail("there is a scratch folder", str_from(folder));
    }
    atexit(remove_all);
    if (!journal_open(folder, "fuzz", &journal, &err)) {
        fuzz_fail("a journal can be opened", str_from(err.text));
    }
    fill(journal);
    journal_close(journal);
    buf_init(&whole, FILE_BYTES_MAX);
    if (!file_read(path_of("journal.db"), &whole, &err)) {
        fuzz_fail("a journal can be read", str_from(err.text));
    }
}

/* ---- using it ---- */

static void take_machine(void *context, uint64_t instance, struct str id)
{
    *(size_t *)context += instance + id.len;
}

static void take_intent(void *context, const struct journal_intent *intent)
{
    *(size_t *)context += intent->call.len + intent->token.len + intent->outcome;
}

static void take_entry(void *context, const struct journal_entry *entry)
{
    *(size_t *)context += entry->text.len;
}

static void read_happened(void *context, const struct journal_event_read *happened)
{
    *(size_t *)context += happened->text.len + happened->reason.len;
}

static void use(struct journal *journal)
{
    struct arena arena;
    struct str value;
    struct err err;
    size_t sum = 0;
    uint64_t number;
    arena_init(&arena);
    (void)!journal_get(journal, "uid", &arena, &value, &err);
    (void)!journal_get_number(journal, "epoch", &number, &err);
    (void)!journal_machines(journal, take_machine, &sum, &err);
    (void)!journal_intents(journal, take_intent, &sum, &err);
    (void)!journal_history(journal, 0, take_entry, &sum, &err);
    (void)!journal_events_all(journal, 0, read_happened, &sum, &err);
    if (journal_begin(journal, &err)) {
        bool ok = journal_number(journal, STR("i-2"), &number, &err) &&
                  journal_drop_machine(journal, 2, &err) && journal_trim(journal, 1, &err);
        if (!journal_end(journal, ok, &err) && err.text[0] == '\0') {
            fuzz_fail("what is not written says why", STR(""));
        }
    }
    arena_clear(&arena);
}

static void damage(const uint8_t *data, size_t size, struct buf *copy)
{
    size_t at = 0;
    while (at + 3 <= size) {
        size_t place = ((size_t)data[at] << 8 | data[at + 1]) % copy->len;
        size_t count = data[at + 2];
        at += 3;
        for (size_t i = 0; i < count && at < size && place + i < copy->len; i++) {
            copy->ptr[place + i] = (char)data[at++];
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct journal *journal;
    struct err err = {0};
    AUTO_BUF struct buf copy;
    if (!folder[0]) {
        make_whole();
    }
    buf_init(&copy, FILE_BYTES_MAX);
    buf_add(&copy, buf_str(&whole));
    damage(data, size, &copy);
    remove_files();
    FILE *file = fopen(path_of("journal.db"), "we");
    if (!file || fwrite(copy.ptr, 1, copy.len, file) != copy.len || fclose(file) != 0 ||
        chmod(path_of("journal.db"), 0600) != 0) {
        fuzz_fail("the scratch folder can be written", STR(""));
    }
    if (journal_open(folder, "fuzz", &journal, &err)) {
        use(journal);
        journal_close(journal);
    } else if (err.text[0] == '\0') {
        fuzz_fail("a journal that is refused says why", STR(""));
    }
    return 0;
}

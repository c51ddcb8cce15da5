/* test_journal.c: committed data survives any exit of the process, uncommitted data does not,
 * and a file that cannot be trusted is never written to. */
#include "store/journal.h"

#include "scratch.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char scratch[64];
static char folder[128];

static int make_scratch(void **state)
{
    (void)state;
    memcpy(scratch, "/tmp/shoal-store-XXXXXX", 24);
    if (!mkdtemp(scratch)) {
        return -1;
    }
    snprintf(folder, sizeof(folder), "%s/demo", scratch);
    return 0;
}

static int drop_scratch(void **state)
{
    (void)state;
    return scratch_remove(scratch);
}

static struct journal *open_as(const char *holder)
{
    struct journal *journal = NULL;
    struct err err = {0};
    if (!journal_open(folder, holder, &journal, &err)) {
        fail_msg("%s", err.text);
    }
    return journal;
}

static void begin(struct journal *journal)
{
    struct err err = {0};
    assert_true(journal_begin(journal, &err));
}

static void commit(struct journal *journal)
{
    struct err err = {0};
    assert_true(journal_commit(journal, &err));
}

static void intend(struct journal *journal, uint64_t launch)
{
    struct err err = {0};
    struct journal_intent intent = {
        .launch = launch,
        .offering = 2,
        .count = 3,
        .token = STR("token-1"),
        .call = STR("Action=RunInstances&x=\0y"),
        .wall_ms = 1234,
    };
    assert_true(journal_intend(journal, &intent, &err));
}

struct seen {
    size_t count, settled;
    struct journal_intent last;
    char call[64];
};

static void see_intent(void *context, const struct journal_intent *intent)
{
    struct seen *seen = context;
    seen->count++;
    seen->settled += intent->is_settled;
    seen->last = *intent;
    memcpy(seen->call, intent->call.ptr, intent->call.len);
    seen->last.call = (struct str){seen->call, intent->call.len};
}

static struct seen intents(struct journal *journal)
{
    struct seen seen = {0};
    struct err err = {0};
    assert_true(journal_intents(journal, see_intent, &seen, &err));
    return seen;
}

/* ---- storing ---- */

static void test_keeps_what_was_committed(void **state)
{
    (void)state;
    struct err err = {0};
    struct arena arena;
    struct str uid;
    uint64_t first, again, second;
    struct journal *journal = open_as("test");
    begin(journal);
    assert_true(journal_set(journal, "uid", STR("old"), &err));
    assert_true(journal_set(journal, "uid", STR("0123abcd"), &err));
    assert_true(journal_number(journal, STR("i-1"), &first, &err));
    assert_true(journal_number(journal, STR("i-2"), &second, &err));
    assert_true(journal_number(journal, STR("i-1"), &again, &err));
    intend(journal, (7ULL << 32) | 3);
    commit(journal);
    journal_close(journal);
    assert_int_not_equal(first, INSTANCE_NONE);
    assert_int_equal(first, again);
    assert_int_not_equal(first, second);

    journal = open_as("test");
    arena_init(&arena);
    assert_true(journal_get(journal, "uid", &arena, &uid, &err));
    assert_str(uid, "0123abcd");
    assert_true(journal_get(journal, "nothing", &arena, &uid, &err));
    assert_null(uid.ptr);
    begin(journal);
    assert_true(journal_number(journal, STR("i-2"), &again, &err));
    assert_int_equal(second, again);
    commit(journal);
    struct seen seen = intents(journal);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.settled, 0);
    assert_int_equal(seen.last.launch, (7ULL << 32) | 3);
    assert_int_equal(seen.last.count, 3);
    assert_int_equal(seen.last.call.len, sizeof("Action=RunInstances&x=\0y") - 1);
    begin(journal);
    assert_true(journal_settle(journal, (7ULL << 32) | 3, OUTCOME_CAPACITY, &err));
    commit(journal);
    seen = intents(journal);
    assert_int_equal(seen.settled, 1);
    assert_int_equal(seen.last.outcome, OUTCOME_CAPACITY);
    arena_clear(&arena);
    journal_close(journal);
}

/* The process exits without a cleanup, between two steps and within one. */
static void test_survives_a_kill(void **state)
{
    (void)state;
    for (int within = 0; within < 2; within++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct journal *journal = open_as("child");
            begin(journal);
            intend(journal, (uint64_t)within * 10 + 1);
            commit(journal);
            begin(journal);
            intend(journal, (uint64_t)within * 10 + 2);
            if (!within) {
                commit(journal);
            }
            kill(getpid(), SIGKILL);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
    }
    struct journal *journal = open_as("parent");
    assert_int_equal(intents(journal).count, 3);
    journal_close(journal);
}

static void test_one_writer_many_readers(void **state)
{
    (void)state;
    struct err err = {0};
    struct journal *other = NULL;
    struct journal *writer = open_as("shoal up, pid 4711");
    begin(writer);
    intend(writer, 1);
    commit(writer);
    assert_false(journal_open(folder, "another", &other, &err));
    assert_int_equal(err.kind, ERR_EXISTS);
    assert_non_null(strstr(err.text, "in use by shoal up, pid 4711"));
    begin(writer);
    intend(writer, 2);
    struct journal *reader = open_as(NULL);
    assert_int_equal(intents(reader).count, 1); /* uncommitted data is not visible */
    assert_false(journal_begin(reader, &err) && journal_set(reader, "uid", STR("x"), &err));
    commit(writer);
    journal_close(reader);
    journal_close(writer);
}

/* ---- history ---- */

struct history {
    size_t count;
    int64_t first, last;
};

static void see_entry(void *context, const struct journal_entry *entry)
{
    struct history *history = context;
    if (history->count++ == 0) {
        history->first = entry->number;
    }
    history->last = entry->number;
    assert_int_equal(entry->kind, JOURNAL_ACTION);
    assert_str(entry->text, "launch 1.1");
}

static void test_history_is_ordered_and_trimmed(void **state)
{
    (void)state;
    struct err err = {0};
    struct history history = {0};
    struct journal *journal = open_as("test");
    struct journal_entry entry = {.wall_ms = 1, .kind = JOURNAL_ACTION, .text = STR("launch 1.1")};
    begin(journal);
    for (int i = 0; i < 100; i++) {
        assert_true(journal_add(journal, &entry, &err));
    }
    assert_true(journal_trim(journal, 10, &err));
    commit(journal);
    assert_true(journal_history(journal, 0, see_entry, &history, &err));
    assert_int_equal(history.count, 10);
    assert_int_equal(history.last, 100);
    begin(journal);
    assert_true(journal_add(journal, &entry, &err));
    commit(journal);
    history = (struct history){0};
    assert_true(journal_history(journal, 99, see_entry, &history, &err));
    assert_int_equal(history.count, 2);
    assert_int_equal(history.first, 100);
    journal_close(journal);
}

/* ---- files that cannot be trusted ---- */

static void write_file(const char *name, const char *text)
{
    char path[256];
    assert_true(mkdir(folder, 0700) == 0);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void test_a_damaged_file_is_named_and_left(void **state)
{
    (void)state;
    struct err err = {0};
    struct journal *journal = NULL;
    write_file("journal.db", "this is not what SQLite writes, and long enough for its header ...."
                             "....................................................");
    assert_false(journal_open(folder, "test", &journal, &err));
    assert_int_equal(err.kind, ERR_IO);
    assert_non_null(strstr(err.text, "is damaged"));
    assert_non_null(strstr(err.text, "finds the instances again by their tags"));
}

/* user_version in SQLite's header */
static void write_version(unsigned char number)
{
    char path[256];
    unsigned char version[4] = {0, 0, 0, number};
    snprintf(path, sizeof(path), "%s/journal.db", folder);
    int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, version, 4, 60), 4);
    close(fd);
}

static void test_a_newer_form_is_refused(void **state)
{
    (void)state;
    struct err err = {0};
    struct journal *journal = open_as("test");
    journal_close(journal);
    write_version(9);
    assert_false(journal_open(folder, "test", &journal, &err));
    assert_non_null(strstr(err.text, "written by a newer version of Shoal"));
}

/* A journal as format 2 wrote it: the head, one launch of one instance, its events and lease. */
static void write_format_2(void)
{
    static const char text[] =
        "CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;"
        "CREATE TABLE machine (instance INTEGER PRIMARY KEY AUTOINCREMENT,"
        " id TEXT UNIQUE NOT NULL) STRICT;"
        "CREATE TABLE launched (instance INTEGER PRIMARY KEY, launch INTEGER NOT NULL,"
        " wall_ms INTEGER NOT NULL) STRICT;"
        "CREATE TABLE intent (launch INTEGER PRIMARY KEY, name TEXT NOT NULL,"
        " offering INTEGER NOT NULL, count INTEGER NOT NULL, token TEXT NOT NULL,"
        " call BLOB NOT NULL, wall_ms INTEGER NOT NULL, outcome INTEGER, answer TEXT) STRICT;"
        "CREATE TABLE history (number INTEGER PRIMARY KEY AUTOINCREMENT,"
        " wall_ms INTEGER NOT NULL, kind INTEGER NOT NULL, text TEXT NOT NULL,"
        " bytes BLOB NOT NULL) STRICT;"
        "CREATE TABLE happened (number INTEGER PRIMARY KEY, wall_ms INTEGER NOT NULL,"
        " kind TEXT NOT NULL, node TEXT NOT NULL, text TEXT NOT NULL, reason TEXT NOT NULL) STRICT;"
        "INSERT INTO happened VALUES (1, 5, 'launch', '', 'launch 3.12: 1 x cpu', 'needed'),"
        " (2, 6, 'join', 'worker-1', 'joined Ray', '');"
        "INSERT INTO fact VALUES ('uid', 'abc'), ('reign', '7'), ('reign_since', '1234');"
        "INSERT INTO machine VALUES (1, 'head'), (2, 'i-1');"
        "INSERT INTO launched VALUES (2, 12884901888, 99);"
        "INSERT INTO intent VALUES (12884901888, '3.0', 0, 1, 't', x'', 98, NULL, NULL);"
        "PRAGMA application_id=0x53686f61; PRAGMA user_version=2;";
    char path[256];
    sqlite3 *old = NULL;
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(path, sizeof(path), "%s/journal.db", folder);
    assert_int_equal(sqlite3_open(path, &old), SQLITE_OK);
    assert_int_equal(sqlite3_exec(old, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(old);
    assert_int_equal(chmod(path, 0600), 0);
}

static void keep_launch(void *context, const struct journal_event_read *event)
{
    uint64_t *launches = context;
    assert_in_range(event->number, 1, 3);
    launches[event->number] = event->launch;
}

static void test_an_older_format_is_upgraded(void **state)
{
    (void)state;
    struct err err = {0};
    struct journal_event_read event = {.number = 3, .kind = STR("join"), .text = STR("joined")};
    struct journal *journal = NULL;
    uint64_t number = 0;
    uint64_t launches[4] = {0};
    write_format_2();
    assert_false(journal_open(folder, NULL, &journal, &err)); /* a reader changes nothing */
    assert_non_null(
        strstr(err.text, "written by an older version of Shoal (format 2; this version needs 3)"));
    assert_true(journal_open(folder, "test", &journal, &err));
    assert_true(journal_get_number(journal, "sole_writer_epoch", &number, &err));
    assert_int_equal(number, 7);
    assert_true(journal_get_number(journal, "sole_writer_since", &number, &err));
    assert_int_equal(number, 1234);
    begin(journal);
    assert_true(journal_number(journal, STR("i-1"), &number, &err));
    assert_int_equal(number, 2);
    assert_true(journal_event_add(journal, &event, &err));
    commit(journal);
    journal_close(journal);
    assert_true(journal_open(folder, NULL, &journal, &err)); /* it is upgraded only once */
    assert_true(journal_events_all(journal, 0, keep_launch, launches, &err));
    assert_int_equal(launches[1], (uint64_t)3 << 32 | 12);
    assert_int_equal(launches[2], 0);
    struct journal_intent intent;
    struct arena arena;
    bool is_found = false;
    arena_init(&arena);
    assert_true(journal_find_intent(journal, 12884901888, &arena, &is_found, &intent, &err));
    assert_true(is_found);
    arena_clear(&arena);
    journal_close(journal);
}

static void test_files_are_private(void **state)
{
    (void)state;
    struct err err = {0};
    char path[256];
    struct stat status;
    struct journal *journal = open_as("test");
    begin(journal);
    intend(journal, 1);
    commit(journal);
    static const char *const names[] = {"journal.db", "journal.db-wal", "lock"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
    }
    journal_close(journal);
    snprintf(path, sizeof(path), "%s/journal.db", folder);
    assert_int_equal(chmod(path, 0644), 0);
    assert_false(journal_open(folder, "test", &journal, &err));
    assert_int_equal(err.kind, ERR_AUTH);
}

/* A failed write discards the whole step, and its end reports it; the next step works again. */
static void test_a_full_disk_keeps_nothing(void **state)
{
    (void)state;
    struct err err = {0};
    struct rlimit before, small;
    struct journal *journal = open_as("test");
    begin(journal);
    intend(journal, 1);
    commit(journal);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 16 * 1024;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    begin(journal);
    for (uint64_t i = 2; i < 200; i++) {
        intend(journal, i);
    }
    assert_false(journal_commit(journal, &err));
    assert_int_equal(err.kind, ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(intents(journal).count, 1);
    begin(journal);
    intend(journal, 2);
    commit(journal);
    assert_int_equal(intents(journal).count, 2);
    journal_close(journal);
}

static void count_launched(void *context, const struct journal_launched *launched)
{
    size_t *count = context;
    assert_int_equal(launched->launch, (3ULL << 32) | 1);
    ++*count;
}

static size_t launched_in(struct journal *journal)
{
    struct err err = {0};
    size_t count = 0;
    assert_true(journal_all_launched(journal, count_launched, &count, &err));
    return count;
}

static void keep_launched(void *context, const struct journal_launched *launched)
{
    *(struct journal_launched *)context = *launched;
}

/* A stopped machine is started by a later launch, and belongs to that one. */
static void test_a_machine_belongs_to_its_last_launch(void **state)
{
    static const struct journal_launched reports[] = {
        {2, 5, 100}, {2, 5, 200}, {3, 5, 300}, {3, 5, 400}, {2, 5, 500}};
    static const int64_t expected_ms[] = {100, 100, 300, 300, 300};
    (void)state;
    struct err err = {0};
    struct journal *journal = open_as("test");
    for (size_t i = 0; i < ARRAY_LEN(reports); i++) {
        struct journal_launched kept = {0};
        begin(journal);
        assert_true(journal_launched(journal, &reports[i], &err));
        commit(journal);
        assert_true(journal_all_launched(journal, keep_launched, &kept, &err));
        assert_int_equal(kept.wall_ms, expected_ms[i]);
        assert_int_equal(kept.launch, i < 2 ? 2 : 3);
    }
    journal_close(journal);
}

static void test_launches_are_found_and_forgotten(void **state)
{
    (void)state;
    uint64_t launch = (3ULL << 32) | 1;
    uint64_t head = (3ULL << 32) | 0x80000000;
    struct err err = {0};
    struct arena arena;
    struct journal_intent intent;
    struct str uid;
    bool is_there;
    uint64_t instance;
    struct journal *journal = open_as("test");
    arena_init(&arena);
    begin(journal);
    intend(journal, launch);
    intend(journal, head);
    assert_true(journal_number(journal, STR("i-1"), &instance, &err));
    for (int64_t i = 0; i < 2; i++) {
        struct journal_launched launched = {launch, instance, 1234 + i};
        assert_true(journal_launched(journal, &launched, &err));
    }
    commit(journal);
    assert_int_equal(launched_in(journal), 1);
    assert_true(journal_find_intent(journal, launch + 1, &arena, &is_there, &intent, &err));
    assert_false(is_there);
    assert_true(journal_find_intent(journal, launch, &arena, &is_there, &intent, &err));
    assert_true(is_there);
    assert_str(intent.token, "token-1");
    begin(journal);
    assert_true(journal_trim_intents(journal, 9999, &err)); /* not settled: it stays */
    assert_true(journal_settle(journal, launch, OUTCOME_DONE, &err));
    assert_true(journal_settle(journal, head, OUTCOME_DONE, &err));
    assert_true(journal_trim_intents(journal, 1234, &err)); /* too young */
    commit(journal);
    assert_int_equal(intents(journal).count, 2);
    begin(journal);
    assert_true(journal_trim_intents(journal, 1235, &err));
    commit(journal);
    assert_int_equal(intents(journal).count, 1);
    assert_int_equal(launched_in(journal), 0);
    begin(journal);
    assert_true(journal_set(journal, "uid", STR("x"), &err));
    assert_true(journal_forget(journal, &err));
    assert_true(journal_number(journal, STR("head"), &instance, &err));
    commit(journal);
    assert_int_equal(instance, 1);
    assert_int_equal(intents(journal).count, 0);
    assert_true(journal_get(journal, "uid", &arena, &uid, &err));
    assert_null(uid.ptr);
    arena_clear(&arena);
    journal_close(journal);
}

static void test_numbers_and_their_end(void **state)
{
    (void)state;
    struct journal *journal;
    struct err err;
    uint64_t number = 7;
    assert_true(journal_open(folder, "test", &journal, &err));
    assert_true(journal_get_number(journal, "epoch", &number, &err));
    assert_int_equal(number, 0);
    assert_true(journal_begin(journal, &err));
    assert_true(journal_end(journal, journal_set_number(journal, "epoch", 5, &err), &err));
    assert_true(journal_begin(journal, &err));
    assert_true(journal_set_number(journal, "epoch", 6, &err));
    err_set(&err, ERR_INTERNAL, "the first reason");
    assert_false(journal_end(journal, false, &err));
    assert_string_equal(err.text, "the first reason");
    assert_true(journal_get_number(journal, "epoch", &number, &err));
    assert_int_equal(number, 5);
    assert_true(journal_note(journal, "word", STR("seven"), &err)); /* nothing was left open */
    assert_false(journal_get_number(journal, "word", &number, &err));
    journal_close(journal);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, make_scratch, drop_scratch)
    const struct CMUnitTest tests[] = {
        ROW(test_keeps_what_was_committed),
        ROW(test_survives_a_kill),
        ROW(test_one_writer_many_readers),
        ROW(test_history_is_ordered_and_trimmed),
        ROW(test_a_machine_belongs_to_its_last_launch),
        ROW(test_launches_are_found_and_forgotten),
        ROW(test_a_damaged_file_is_named_and_left),
        ROW(test_a_newer_form_is_refused),
        ROW(test_files_are_private),
        ROW(test_an_older_format_is_upgraded),
        ROW(test_a_full_disk_keeps_nothing),
        ROW(test_numbers_and_their_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_slot_folder.c: the files of a slot, and the counters that a replica writes. */
#include "app/train/slot_folder.h"

#include "app/train/slot_sweep.h"
#include "app/train/step_counter.h"
#include "io/clock.h"
#include "io/file.h"
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct slot_folder slot;
static char path[SLOT_PATH_MAX];

static int open_slot(void **state)
{
    char name[64];
    struct err err;
    (void)state;
    snprintf(name, sizeof(name), "unit-%d", (int)getpid());
    return slot_folder_open(&slot, name, &err) ? 0 : 1;
}

static int close_slot(void **state)
{
    (void)state;
    slot_folder_remove(&slot);
    return 0;
}

static void write_state(const char *name, const char *text)
{
    char part[128];
    struct err err;
    snprintf(part, sizeof(part), "state/%s", name);
    slot_folder_path(&slot, part, path);
    assert_true(file_write(path, str_from(text), 0600, &err));
}

static void assert_file(const char *part, const char *text)
{
    AUTO_BUF struct buf found;
    struct err err;
    buf_init(&found, 1000);
    slot_folder_path(&slot, part, path);
    assert_true(file_read(path, &found, &err));
    assert_true(str_is(buf_str(&found), text));
}

static bool is_there(const char *part)
{
    slot_folder_path(&slot, part, path);
    return file_stat(path).kind != FILE_MISSING;
}

static void keep(int64_t number, bool is_part)
{
    struct err err;
    assert_true(slot_folder_keep(&slot, number, is_part, &err));
}

static void a_mark_changes_with_every_change(void **state)
{
    (void)state;
    assert_int_equal(slot_folder_mark(&slot), 0);
    write_state("a", "1");
    uint64_t first = slot_folder_mark(&slot);
    assert_int_not_equal(first, 0);
    assert_int_equal(slot_folder_mark(&slot), first);
    write_state("a", "2"); /* same size */
    uint64_t second = slot_folder_mark(&slot);
    assert_int_not_equal(second, first);
    write_state("b", "");
    assert_int_not_equal(slot_folder_mark(&slot), second);
    slot_folder_path(&slot, "state/b", path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(slot_folder_mark(&slot), second);
}

static void a_kept_checkpoint_is_complete_and_state_is_empty(void **state)
{
    (void)state;
    write_state("model", "weights");
    assert_int_equal(slot_folder_newest(&slot), 0);
    keep(1001, false);
    assert_file("kept/1001/model", "weights");
    assert_int_equal(slot_folder_newest(&slot), 1001);
    assert_int_equal(slot_folder_mark(&slot), 0);
    assert_true(is_there("state"));
}

static void only_the_newest_checkpoints_stay(void **state)
{
    (void)state;
    keep(1001, false);
    keep(1002, true);
    keep(2001, false);
    assert_false(is_there("kept/1001"));
    assert_true(is_there("kept/1002.part"));
    keep(3001, false);
    assert_false(is_there("kept/1002.part"));
    assert_true(is_there("kept/2001"));
    assert_int_equal(slot_folder_newest(&slot), 3001);
}

static void a_new_agent_finds_the_checkpoints_only(void **state)
{
    (void)state;
    write_state("model", "weights");
    keep(1001, false);
    write_state("torn", "half");
    assert_int_equal(open_slot(NULL), 0);
    assert_int_equal(slot_folder_newest(&slot), 1001);
    assert_file("kept/1001/model", "weights");
    assert_false(is_there("state/torn"));
}

static void a_copy_is_independent(void **state)
{
    (void)state;
    char from[SLOT_PATH_MAX];
    char to[SLOT_PATH_MAX];
    struct err err;
    write_state("model", "weights");
    slot_folder_path(&slot, "state/deep", path);
    assert_int_equal(mkdir(path, 0700), 0);
    write_state("deep/optimizer", "moments");
    slot_folder_path(&slot, "state/link", path);
    assert_int_equal(symlink("deep/optimizer", path), 0);
    keep(1001, false);
    slot_folder_kept(&slot, 1001, false, from);
    slot_folder_path(&slot, "state", to);
    assert_true(slot_folder_copy(from, to, false, &err));
    assert_file("state/deep/optimizer", "moments");
    assert_file("state/link", "moments");
    slot_folder_path(&slot, "state/model", path);
    FILE *file = fopen(path, "r+"); /* in place, as some scripts do */
    assert_non_null(file);
    assert_true(fputs("WEIGHTS", file) >= 0);
    fclose(file);
    assert_file("kept/1001/model", "weights");
}

static void a_link_that_leaves_the_directory_is_refused(void **state)
{
    (void)state;
    char to[SLOT_PATH_MAX];
    char from[SLOT_PATH_MAX];
    struct err err;
    slot_folder_path(&slot, "state/link", path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    slot_folder_path(&slot, "state", from);
    slot_folder_path(&slot, "copy", to);
    assert_false(slot_folder_copy(from, to, false, &err));
    assert_like(str_from(err.text), "*link is a symbolic link to /etc/passwd*");
}

static void the_newest_complete_checkpoint_stays(void **state)
{
    (void)state;
    keep(1001, false);
    keep(2001, true);
    keep(3001, true);
    keep(4001, true);
    assert_true(is_there("kept/1001"));
    assert_false(is_there("kept/2001.part"));
    assert_true(is_there("kept/3001.part"));
    keep(5001, false);
    assert_false(is_there("kept/1001"));
}

static void a_copy_replaces_or_adds(void **state)
{
    (void)state;
    char from[SLOT_PATH_MAX];
    char to[SLOT_PATH_MAX];
    struct err err;
    write_state("a", "new");
    keep(1001, false);
    write_state("a", "old");
    write_state("b", "other");
    slot_folder_kept(&slot, 1001, false, from);
    slot_folder_path(&slot, "state", to);
    assert_true(slot_folder_copy(from, to, true, &err));
    assert_file("state/a", "new");
    assert_file("state/b", "other");
    assert_true(slot_folder_copy(from, to, false, &err));
    assert_false(is_there("state/b"));
    slot_folder_kept(&slot, 4711, false, from);
    assert_false(slot_folder_copy(from, to, false, &err));
    assert_true(err.text[0] != '\0');
}

/* A file that would be left out makes the copy fail. */
static void a_path_that_is_too_long_is_an_error(void **state)
{
    (void)state;
    char name[201];
    char from[SLOT_PATH_MAX];
    char to[SLOT_PATH_MAX];
    struct err err;
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    slot_folder_path(&slot, "state", from);
    slot_folder_path(&slot, "copy", to);
    int folder = open(from, O_RDONLY | O_DIRECTORY);
    for (int depth = 0; depth < 11; depth++) {
        assert_int_equal(mkdirat(folder, name, 0700), 0);
        int next = openat(folder, name, O_RDONLY | O_DIRECTORY);
        close(folder);
        folder = next;
    }
    close(folder);
    assert_false(slot_folder_copy(from, to, false, &err));
    assert_true(str_find(str_from(err.text), "too long") != SIZE_MAX);
}

static void counters_are_read_as_the_replica_writes_them(void **state)
{
    (void)state;
    struct step_counter counter = {0};
    struct err err;
    const double times[] = {100.5, 200.25, 99.0, 99.5, 0, 1e300}; /* the last is not plausible */
    uint64_t steps = 42;
    assert_int_equal(step_counter_read(&counter).steps, 0);
    slot_folder_path(&slot, "steps", path);
    assert_true(step_counter_open(&counter, path, &err));
    assert_int_equal(step_counter_read(&counter).steps, 0);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fwrite(&steps, sizeof(steps), 1, file), 1);
    assert_int_equal(fwrite(times, sizeof(times), 1, file), 1);
    fclose(file);
    struct step_counts counts = step_counter_read(&counter);
    assert_int_equal(counts.steps, 42);
    assert_true(counts.first > 100 && counts.last > 200 && counts.begun > 98);
    assert_true(counts.joined > 99 && !(counts.stopped > 0) && !(counts.busy > 0));
    assert_true(step_counter_open(&counter, path, &err)); /* for the next replica */
    assert_int_equal(step_counter_read(&counter).steps, 0);
    step_counter_close(&counter);
}

static void the_folders_of_killed_agents_are_removed(void **state)
{
    struct slot_folder killed;
    struct slot_folder running;
    struct lock *ours;
    struct lock *theirs;
    struct lock *gone;
    char name[64];
    struct err err;
    (void)state;
    snprintf(name, sizeof(name), "unit-killed-%d", (int)getpid());
    assert_true(slot_folder_open(&killed, name, &err));
    snprintf(name, sizeof(name), "unit-running-%d", (int)getpid());
    assert_true(slot_folder_open(&running, name, &err));
    assert_true(slot_sweep_hold(&slot, &ours, &err));
    assert_true(slot_sweep_hold(&running, &theirs, &err));
    slot_sweep(&slot); /* an agent that is being created has no lock yet */
    assert_int_equal(file_stat(killed.root).kind, FILE_FOLDER);
    assert_true(slot_sweep_hold(&killed, &gone, &err));
    lock_drop(gone);
    assert_true(slot_sweep(&slot) >= 1);
    assert_int_equal(file_stat(killed.root).kind, FILE_MISSING);
    assert_int_equal(file_stat(running.root).kind, FILE_FOLDER);
    assert_int_equal(file_stat(slot.root).kind, FILE_FOLDER);
    lock_drop(ours);
    lock_drop(theirs);
    slot_folder_remove(&running);
}

static int64_t now_ms(void)
{
    return clock_monotonic_ms(&clock_of_machine);
}

/* Starts agents one after the other. The exit status is 1 if another agent removed a folder. */
static int start_agents(int64_t until)
{
    char name[64];
    char lock_path[SLOT_PATH_MAX];
    struct slot_folder folder;
    struct lock *lock;
    struct err err;
    for (int i = 0; now_ms() < until; i++) {
        snprintf(name, sizeof(name), "unit-starting-%d-%d", (int)getpid(), i);
        if (!slot_folder_open(&folder, name, &err) || !slot_sweep_hold(&folder, &lock, &err)) {
            return 1;
        }
        usleep(200); /* for a sweep that began before it was locked */
        slot_folder_path(&folder, "agent.lock", lock_path);
        bool is_removed = file_stat(lock_path).kind != FILE_REGULAR;
        slot_folder_remove(&folder);
        lock_drop(lock);
        if (is_removed) {
            return 1;
        }
    }
    return 0;
}

/* The replicas of a node start together. */
static void agents_that_start_together_spare_each_other(void **state)
{
    int64_t until = now_ms() + 500;
    struct lock *ours;
    struct err err;
    int status = -1;
    (void)state;
    assert_true(slot_sweep_hold(&slot, &ours, &err));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(start_agents(until));
    }
    while (now_ms() < until) {
        slot_sweep(&slot);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    lock_drop(ours);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(agents_that_start_together_spare_each_other, open_slot,
                                        close_slot),
        cmocka_unit_test_setup_teardown(the_folders_of_killed_agents_are_removed, open_slot,
                                        close_slot),
        cmocka_unit_test_setup_teardown(a_mark_changes_with_every_change, open_slot, close_slot),
        cmocka_unit_test_setup_teardown(a_kept_checkpoint_is_complete_and_state_is_empty, open_slot,
                                        close_slot),
        cmocka_unit_test_setup_teardown(only_the_newest_checkpoints_stay, open_slot, close_slot),
        cmocka_unit_test_setup_teardown(a_new_agent_finds_the_checkpoints_only, open_slot,
                                        close_slot),
        cmocka_unit_test_setup_teardown(a_copy_is_independent, open_slot, close_slot),
        cmocka_unit_test_setup_teardown(a_link_that_leaves_the_directory_is_refused, open_slot,
                                        close_slot),
        cmocka_unit_test_setup_teardown(the_newest_complete_checkpoint_stays, open_slot,
                                        close_slot),
        cmocka_unit_test_setup_teardown(a_copy_replaces_or_adds, open_slot, close_slot),
        cmocka_unit_test_setup_teardown(a_path_that_is_too_long_is_an_error, open_slot, close_slot),
        cmocka_unit_test_setup_teardown(counters_are_read_as_the_replica_writes_them, open_slot,
                                        close_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

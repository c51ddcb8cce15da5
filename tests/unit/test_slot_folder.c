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
#include <time.h>
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
    assert_true(slot_folder_keep(&slot, number, is_part ? 2 : 0, &err));
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
    assert_int_equal(slot_folder_kept_now(&slot).complete, 0);
    keep(1001, false);
    assert_file("kept/1001/model", "weights");
    assert_int_equal(slot_folder_kept_now(&slot).complete, 1001);
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
    assert_int_equal(slot_folder_kept_now(&slot).complete, 3001);
}

static void a_new_agent_finds_the_checkpoints_only(void **state)
{
    (void)state;
    write_state("model", "weights");
    keep(1001, false);
    write_state("torn", "half");
    assert_int_equal(open_slot(NULL), 0);
    assert_int_equal(slot_folder_kept_now(&slot).complete, 1001);
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

/* ---- agents that are gone ---- */

enum { HOUR_MS = 3600 * 1000, KB = 1024 };

/* Folders of a machine where nothing else runs. */
struct machine {
    char root[40];
    struct slot_sweep_rules rules;
};

static struct slot_folder machine_slot(const struct machine *machine, const char *name)
{
    static const char *const parts[] = {"state", "kept", "code"};
    struct slot_folder folder;
    struct err err;
    snprintf(folder.root, sizeof(folder.root), "%s/%s", machine->root, name);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        slot_folder_path(&folder, parts[i], path);
        assert_true(file_make_private_folder(path, &err));
    }
    return folder;
}

static void add_kept(const struct slot_folder *folder, int64_t number, int64_t parts, size_t kb)
{
    AUTO_BUF struct buf text;
    struct err err;
    buf_init(&text, kb * KB + 1);
    buf_add_spaces(&text, kb * KB);
    slot_folder_path(folder, "state/model", path);
    assert_true(file_write(path, buf_str(&text), 0600, &err));
    assert_true(slot_folder_keep(folder, number, parts, &err));
}

/* A slot whose agent was killed. */
static struct slot_folder add_killed(const struct machine *machine, const char *name,
                                     const char *job)
{
    struct slot_folder folder = machine_slot(machine, name);
    struct lock *lock;
    struct err err;
    assert_true(slot_sweep_hold(&folder, job, &lock, &err));
    lock_drop(lock);
    return folder;
}

static bool is_kept(const struct slot_folder *folder, const char *name)
{
    char part[40];
    snprintf(part, sizeof(part), "kept/%s", name);
    slot_folder_path(folder, part, path);
    return file_stat(path).kind == FILE_FOLDER;
}

static bool exists(const struct slot_folder *folder)
{
    return file_stat(folder->root).kind == FILE_FOLDER;
}

static void open_machine(struct machine *machine)
{
    snprintf(machine->root, sizeof(machine->root), "/tmp/slots.XXXXXX");
    assert_non_null(mkdtemp(machine->root));
    machine->rules = (struct slot_sweep_rules){
        .job = "job-1", .may_take = true, .age_ms = 24 * HOUR_MS, .bytes = 1000 * KB};
}

static void close_machine(const struct machine *machine)
{
    struct err err;
    assert_true(file_remove_folder(machine->root, &err));
}

/* So long ago an agent of the folder was seen for the last time. */
static void set_age(const struct slot_folder *folder, int64_t ms)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= ms / 1000;
    slot_folder_path(folder, "lost", path);
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){now, now}, 0), 0);
}

static void a_folder_without_checkpoints_is_removed(void **state)
{
    struct machine machine;
    struct lock *ours;
    struct lock *theirs;
    struct err err;
    (void)state;
    open_machine(&machine);
    struct slot_folder here = machine_slot(&machine, "a-1");
    struct slot_folder running = machine_slot(&machine, "a-2");
    struct slot_folder starting = machine_slot(&machine, "a-3"); /* has no lock yet */
    struct slot_folder killed = add_killed(&machine, "b-1", "job-2");
    assert_true(slot_sweep_hold(&here, "job-1", &ours, &err));
    assert_true(slot_sweep_hold(&running, "job-1", &theirs, &err));
    assert_int_equal(slot_sweep(&here, &machine.rules), 1);
    assert_false(exists(&killed));
    assert_true(exists(&here) && exists(&running) && exists(&starting));
    lock_drop(ours);
    lock_drop(theirs);
    close_machine(&machine);
}

/* It may have the newest one of the job: the agent was killed, or its trainer is gone. */
static void a_new_slot_takes_the_checkpoints_of_its_job(void **state)
{
    struct machine machine;
    (void)state;
    open_machine(&machine);
    struct slot_folder here = machine_slot(&machine, "a-3");
    struct slot_folder older = add_killed(&machine, "a-1", "job-1");
    struct slot_folder newer = add_killed(&machine, "a-2", "job-1");
    add_kept(&older, 1005, 0, 1);
    add_kept(&newer, 1006, 0, 1);
    assert_int_equal(slot_sweep(&here, &machine.rules), 2);
    assert_int_equal(slot_folder_kept_now(&here).complete, 1006);
    assert_true(is_kept(&here, "1006"));
    assert_false(exists(&older) || exists(&newer));
    close_machine(&machine);
}

static void the_checkpoints_of_a_running_agent_are_not_taken(void **state)
{
    struct machine machine;
    struct lock *theirs;
    struct err err;
    (void)state;
    open_machine(&machine);
    struct slot_folder here = machine_slot(&machine, "a-2");
    struct slot_folder running = machine_slot(&machine, "a-1");
    assert_true(slot_sweep_hold(&running, "job-1", &theirs, &err));
    add_kept(&running, 1005, 0, 1);
    assert_int_equal(slot_sweep(&here, &machine.rules), 0);
    assert_true(is_kept(&running, "1005"));
    assert_int_equal(slot_folder_kept_now(&here).complete, 0);
    lock_drop(theirs);
    close_machine(&machine);
}

/* Two slots of the job start: each takes one part. */
static void each_new_slot_takes_one_part(void **state)
{
    struct machine machine;
    (void)state;
    open_machine(&machine);
    struct slot_folder first = machine_slot(&machine, "a-3");
    struct slot_folder second = machine_slot(&machine, "a-4");
    for (int i = 1; i <= 2; i++) {
        struct slot_folder lost = add_killed(&machine, i == 1 ? "a-1" : "a-2", "job-1");
        add_kept(&lost, 1001, 0, 1);
        add_kept(&lost, 2001, 2, 1);
    }
    slot_sweep(&first, &machine.rules);
    struct slot_kept kept = slot_folder_kept_now(&first);
    assert_true(kept.complete == 1001 && kept.part == 2001 && kept.parts == 2);
    assert_int_equal(slot_sweep(&second, &machine.rules), 1);
    kept = slot_folder_kept_now(&second);
    assert_true(kept.part == 2001 && kept.parts == 2);
    close_machine(&machine);
}

/* The trainer has said that this slot is not needed: it takes nothing away. */
static void a_slot_that_leaves_takes_nothing(void **state)
{
    struct machine machine;
    (void)state;
    open_machine(&machine);
    struct slot_folder here = machine_slot(&machine, "a-3");
    struct slot_folder older = add_killed(&machine, "a-1", "job-1");
    struct slot_folder newer = add_killed(&machine, "a-2", "job-1");
    add_kept(&older, 1004, 0, 1);
    add_kept(&newer, 1006, 0, 1);
    add_kept(&here, 1005, 0, 1);
    machine.rules.may_take = false;
    assert_int_equal(slot_sweep(&here, &machine.rules), 1);
    assert_false(exists(&older));
    assert_true(is_kept(&newer, "1006"));
    close_machine(&machine);
}

static void the_checkpoints_of_another_job_stay_for_a_day(void **state)
{
    struct machine machine;
    (void)state;
    open_machine(&machine);
    struct slot_folder here = machine_slot(&machine, "a-1");
    struct slot_folder lost = add_killed(&machine, "b-1", "job-2");
    struct slot_folder nameless = add_killed(&machine, "c-1", "");
    add_kept(&lost, 1005, 0, 1);
    add_kept(&nameless, 1005, 0, 1);
    assert_int_equal(slot_sweep(&here, &machine.rules), 0); /* a day begins now */
    assert_int_equal(slot_folder_kept_now(&here).complete, 0);
    machine.rules.job = "";
    assert_int_equal(slot_sweep(&here, &machine.rules), 0); /* a job without id takes nothing */
    set_age(&lost, 23 * HOUR_MS);
    assert_int_equal(slot_sweep(&here, &machine.rules), 0);
    assert_true(is_kept(&lost, "1005"));
    set_age(&lost, 25 * HOUR_MS);
    assert_int_equal(slot_sweep(&here, &machine.rules), 1);
    assert_false(exists(&lost));
    assert_true(exists(&nameless));
    close_machine(&machine);
}

/* They are in memory, which others need. */
static void the_oldest_of_too_many_bytes_go(void **state)
{
    struct machine machine;
    (void)state;
    open_machine(&machine);
    struct slot_folder here = machine_slot(&machine, "a-1");
    struct slot_folder lost[3];
    for (int i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof(name), "b-%d", i);
        lost[i] = add_killed(&machine, name, "job-2");
        add_kept(&lost[i], 1005, 0, 400);
    }
    machine.rules.bytes = 10000 * KB;
    assert_int_equal(slot_sweep(&here, &machine.rules), 0);
    for (int i = 0; i < 3; i++) {
        set_age(&lost[i], (i + 1) * HOUR_MS);
    }
    machine.rules.bytes = 1000 * KB;
    assert_int_equal(slot_sweep(&here, &machine.rules), 1);
    assert_true(exists(&lost[0]) && exists(&lost[1]) && !exists(&lost[2]));
    machine.rules.bytes = 1;
    assert_int_equal(slot_sweep(&here, &machine.rules), 1);
    assert_true(exists(&lost[0])); /* the newest one stays */
    close_machine(&machine);
}

/* It holds memory for a day, so it has as little as possible. */
static void a_slot_that_gave_up_keeps_its_newest_checkpoint_only(void **state)
{
    struct machine machine;
    (void)state;
    open_machine(&machine);
    struct slot_folder lost = add_killed(&machine, "a-1", "job-1");
    struct slot_folder empty = add_killed(&machine, "a-2", "job-1");
    add_kept(&lost, 1005, 0, 1);
    add_kept(&lost, 1006, 0, 1);
    slot_sweep_leave(&lost);
    slot_sweep_leave(&empty);
    assert_true(is_kept(&lost, "1006"));
    assert_false(is_kept(&lost, "1005"));
    slot_folder_path(&lost, "code", path);
    assert_int_equal(file_stat(path).kind, FILE_MISSING);
    slot_folder_path(&lost, "lost", path);
    assert_int_equal(file_stat(path).kind, FILE_REGULAR);
    assert_false(exists(&empty));
    close_machine(&machine);
}

/* Without it, the trainer would take the part for the whole. */
static void a_part_of_unknown_count_is_not_used(void **state)
{
    (void)state;
    keep(1001, false);
    keep(2001, true);
    struct slot_kept kept = slot_folder_kept_now(&slot);
    assert_true(kept.complete == 1001 && kept.part == 2001 && kept.parts == 2);
    slot_folder_path(&slot, "part_count", path);
    assert_int_equal(unlink(path), 0);
    kept = slot_folder_kept_now(&slot);
    assert_true(kept.complete == 1001 && kept.part == 0);
}

/* Its agent may run: here the lock is behind a link, which is not followed. */
static void a_folder_whose_lock_cannot_be_read_is_left(void **state)
{
    char name[64];
    char lock_path[SLOT_PATH_MAX];
    struct slot_folder unknown;
    struct err err;
    (void)state;
    snprintf(name, sizeof(name), "unit-unknown-%d", (int)getpid());
    assert_true(slot_folder_open(&unknown, name, &err));
    slot_folder_path(&unknown, "agent.lock", lock_path);
    slot_folder_path(&unknown, "elsewhere", path);
    assert_true(file_write(path, STR(""), 0600, &err));
    assert_int_equal(symlink("elsewhere", lock_path), 0);
    slot_sweep(&slot, &(struct slot_sweep_rules){.job = ""});
    assert_int_equal(file_stat(unknown.root).kind, FILE_FOLDER);
    slot_folder_remove(&unknown);
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
        if (!slot_folder_open(&folder, name, &err) ||
            !slot_sweep_hold(&folder, "starting", &lock, &err)) {
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
    assert_true(slot_sweep_hold(&slot, "sweeping", &ours, &err));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(start_agents(until));
    }
    struct slot_sweep_rules rules = slot_sweep_usual(&slot, "sweeping");
    while (now_ms() < until) {
        slot_sweep(&slot, &rules);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    lock_drop(ours);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_folder_whose_lock_cannot_be_read_is_left, open_slot,
                                        close_slot),
        cmocka_unit_test_setup_teardown(agents_that_start_together_spare_each_other, open_slot,
                                        close_slot),
        cmocka_unit_test(a_folder_without_checkpoints_is_removed),
        cmocka_unit_test(a_new_slot_takes_the_checkpoints_of_its_job),
        cmocka_unit_test(the_checkpoints_of_a_running_agent_are_not_taken),
        cmocka_unit_test(each_new_slot_takes_one_part),
        cmocka_unit_test(a_slot_that_leaves_takes_nothing),
        cmocka_unit_test(the_checkpoints_of_another_job_stay_for_a_day),
        cmocka_unit_test(the_oldest_of_too_many_bytes_go),
        cmocka_unit_test(a_slot_that_gave_up_keeps_its_newest_checkpoint_only),
        cmocka_unit_test_setup_teardown(a_part_of_unknown_count_is_not_used, open_slot, close_slot),
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

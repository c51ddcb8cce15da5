/* test_head_use.c: what counts as use of the head, on a folder that looks like /proc. */
#include "app/head/head_use.h"

#include "io/file.h"
#include "scratch.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char proc[] = "/tmp/shoal-proc-XXXXXX";

static void write_file(int pid, const char *name, struct str text)
{
    char path[128];
    struct err err;
    snprintf(path, sizeof(path), "%s/%d", proc, pid);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%d/%s", proc, pid, name);
    assert_true(file_write(path, text, 0600, &err));
}

/* `line` has blanks between its words; a title of sshd is one word with blanks. */
static void add(int pid, int parent, const char *line)
{
    char bytes[512];
    char stat[64];
    size_t size = strlen(line) + 1;
    assert_true(size <= sizeof(bytes));
    memcpy(bytes, line, size);
    for (size_t i = 0; strncmp(line, "sshd", 4) != 0 && i < size; i++) {
        bytes[i] = bytes[i] == ' ' ? '\0' : bytes[i];
    }
    write_file(pid, "cmdline", (struct str){bytes, size});
    snprintf(stat, sizeof(stat), "%d (a) Z (b) S %d %d 0 0", pid, parent, pid);
    write_file(pid, "stat", str_from(stat));
}

static void remove_process(int pid)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%d", proc, pid);
    assert_int_equal(scratch_remove(path), 0);
}

static int start(void **state)
{
    (void)state;
    snprintf(proc, sizeof(proc), "/tmp/shoal-proc-XXXXXX");
    assert_non_null(mkdtemp(proc));
    write_file(1, "cmdline", STR("/sbin/init"));
    write_file(1, "stat", STR("1 (systemd) S 0 1 1"));
    add(2, 1, "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups");
    add(3, 2, "sshd: ubuntu [priv]");
    add(4, 1, "/home/ubuntu/.shoal/bin/shoal autoscaler --folder /home/ubuntu/.shoal/cluster");
    add(5, 1, "/usr/bin/python3 /home/ubuntu/jupyter/train.py");
    add(6, 1, "/usr/bin/vim /home/ubuntu/.vscode-server/data.json");
    return 0;
}

static int end(void **state)
{
    (void)state;
    return scratch_remove(proc);
}

static void check(size_t logins, size_t editors, size_t notebooks)
{
    struct head_use use = head_use_scan(proc);
    assert_int_equal(use.logins, logins);
    assert_int_equal(use.editors, editors);
    assert_int_equal(use.notebooks, notebooks);
}

static void a_head_that_nobody_uses(void **state)
{
    (void)state;
    check(0, 0, 0);
    struct head_use none = head_use_scan("/nonexistent");
    assert_int_equal(none.logins + none.editors + none.notebooks, 0);
}

static void people_count(void **state)
{
    (void)state;
    add(10, 3, "sshd: ubuntu@pts/0,pts/1");
    check(1, 0, 0);
    add(11, 10, "-bash");
    add(12, 3, "sshd-session: ada@pts/2");
    check(2, 0, 0);
    add(13, 3, "sshd: ubuntu@notty"); /* no program: forwarded ports only */
    check(2, 0, 0);
    add(14, 13, "rsync --server -logDtprze.iLsfxC . there");
    check(3, 0, 0);
}

static void sessions_of_shoal_do_not_count(void **state)
{
    (void)state;
    add(10, 3, "sshd: ubuntu@notty");
    add(11, 10, "bash -c ~/.shoal/bin/shoal ctl");
    add(12, 11, "/home/ubuntu/.shoal/bin/shoal ctl");
    add(20, 3, "sshd: ubuntu@notty");
    add(21, 20, "/home/ubuntu/.shoal/bin/shoal node serve");
    add(22, 21, "bash --login -c -i pip install torch");
    check(0, 0, 0);
    add(30, 10, "bash -c sleep"); /* another session of the same connection */
    check(1, 0, 0);
    remove_process(30);
    add(40, 3, "sshd: ubuntu@notty"); /* shoal exec without a terminal */
    add(41, 40, "/home/ubuntu/.shoal/bin/shoal node attend -- sh -c true");
    add(42, 41, "python3 train.py");
    check(1, 0, 0);
    add(50, 3, "sshd: ubuntu@pts/0"); /* a person who runs Shoal */
    add(51, 50, "/home/ubuntu/.shoal/bin/shoal top");
    check(2, 0, 0);
}

static void editors_and_notebooks_count(void **state)
{
    (void)state;
    add(10, 1, "/home/ubuntu/.vscode-server/cli/servers/x/server/node server-main.js");
    add(11, 1, "/home/ubuntu/.cache/JetBrains/RemoteDev/dist/x/jbr/bin/java -cp y");
    add(12, 1, "/home/ubuntu/.cursor-server/bin/node x");
    check(0, 3, 0);
    add(13, 1, "/opt/conda/bin/python3.11 /opt/conda/bin/jupyter-lab --port=1");
    add(14, 1, "/usr/local/bin/jupyter-notebook");
    check(0, 3, 2);
    add(15, 1, "/usr/bin/python3 -m jupyterlab --no-browser");
    add(16, 1, "python -m notebook");
    add(17, 1, "python -m pytest notebook");
    check(0, 3, 4);
}

static void processes_that_have_ended_do_not(void **state)
{
    (void)state;
    add(10, 3, "sshd: ubuntu@pts/0");
    write_file(10, "stat", STR("10 (sshd) Z 3 10"));
    check(0, 0, 0);
    write_file(10, "stat", STR("nonsense"));
    check(0, 0, 0);
    add(11, 11, "/home/ubuntu/.shoal/bin/shoal ctl"); /* its own parent: must end */
    check(0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_head_that_nobody_uses, start, end),
        cmocka_unit_test_setup_teardown(people_count, start, end),
        cmocka_unit_test_setup_teardown(sessions_of_shoal_do_not_count, start, end),
        cmocka_unit_test_setup_teardown(editors_and_notebooks_count, start, end),
        cmocka_unit_test_setup_teardown(processes_that_have_ended_do_not, start, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_file.c: atomic replacement of files, private folders, and secrets that are not read if
 * others can read them. Uses a temporary folder. */
#include "io/file.h"

#include "scratch.h"
#include "unit.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char scratch[64];

static const char *at(const char *name)
{
    static char path[4][256];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", scratch, name);
    return path[turn];
}

static int make_scratch(void **state)
{
    (void)state;
    memcpy(scratch, "/tmp/shoal-file-XXXXXX", 23);
    umask(077); /* whatever it is, modes come out as given */
    return mkdtemp(scratch) ? 0 : -1;
}

static int drop_scratch(void **state)
{
    (void)state;
    return scratch_remove(scratch);
}

static unsigned mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return status.st_mode & 07777;
}

static void check_holds(const char *path, const char *text)
{
    AUTO_BUF struct buf out;
    struct err err = {0};
    buf_init(&out, 1000);
    assert_true(file_read(path, &out, &err));
    assert_str(buf_str(&out), text);
}

static void count_entry(void *context, const struct file_entry *entry)
{
    (void)entry;
    ++*(int *)context;
}

static int count_in(const char *folder)
{
    int count = 0;
    file_list(folder, count_entry, &count);
    return count;
}

static void write_replaces_whole_files(void **state)
{
    struct err err = {0};
    (void)state;
    assert_true(file_write(at("a"), STR("one"), 0600, &err));
    check_holds(at("a"), "one");
    assert_int_equal(mode_of(at("a")), 0600);
    int old = open(at("a"), O_RDONLY | O_CLOEXEC);
    assert_true(file_write(at("a"), STR("two"), 0644, &err));
    char seen[4] = "";
    assert_int_equal(read(old, seen, 3), 3); /* a process that has it open keeps the old one */
    close(old);
    assert_string_equal(seen, "one");
    check_holds(at("a"), "two");
    assert_int_equal(mode_of(at("a")), 0644);
    assert_true(file_write(at("a"), STR(""), 0400, &err));
    check_holds(at("a"), "");
    assert_true(file_write(at("a"), STR("x"), 0600, &err)); /* a read-only file can be replaced */
    assert_int_equal(count_in(scratch), 1);                 /* nothing temporary is left */
}

static void write_replaces_a_link_and_not_its_target(void **state)
{
    struct err err = {0};
    (void)state;
    assert_true(file_write(at("target"), STR("kept"), 0600, &err));
    assert_int_equal(symlink("target", at("link")), 0);
    assert_true(file_write(at("link"), STR("new"), 0600, &err));
    check_holds(at("target"), "kept");
    check_holds(at("link"), "new");
    assert_int_equal(file_stat(at("link")).kind, FILE_REGULAR);
}

static void failed_writes_leave_nothing(void **state)
{
    struct err err = {0};
    char name[400];
    (void)state;
    assert_int_equal(mkdir(at("full"), 0700), 0);
    assert_int_equal(mkdir(at("full/folder"), 0700), 0);
    assert_false(file_write(at("full/folder"), STR("x"), 0600, &err)); /* not a file */
    assert_int_equal(err.kind, ERR_USAGE);
    assert_int_equal(count_in(at("full")), 1);
    assert_false(file_write(at("missing/a"), STR("x"), 0600, &err));
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_like(str_from(err.text), "*/missing: *");
    assert_false(file_write(at("full/"), STR("x"), 0600, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    assert_false(file_write("", STR("x"), 0600, &err));
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_false(file_write(name, STR("x"), 0600, &err));
    assert_int_equal(err.kind, ERR_USAGE);
}

static void a_write_that_stops_half_way_keeps_the_old_file(void **state)
{
    struct rlimit before;
    struct err err = {0};
    (void)state;
    assert_int_equal(mkdir(at("half"), 0700), 0);
    assert_true(file_write(at("half/a"), STR("old"), 0600, &err));
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    struct rlimit small = {8, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small); /* as a full disk would, after eight bytes */
    bool ok = file_write(at("half/a"), STR("0123456789"), 0600, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(ok);
    assert_int_equal(err.kind, ERR_IO);
    check_holds(at("half/a"), "old");
    assert_int_equal(count_in(at("half")), 1);
}

static void private_folders_are_made_and_checked(void **state)
{
    struct err err = {0};
    (void)state;
    umask(0);
    assert_true(file_make_private_folder(at("p/q/r//"), &err));
    umask(077);
    assert_int_equal(mode_of(at("p")), 0700);
    assert_int_equal(mode_of(at("p/q/r")), 0700);
    assert_true(file_make_private_folder(at("p/q/r"), &err));
    assert_int_equal(chmod(at("p/q/r"), 0750), 0);
    assert_false(file_make_private_folder(at("p/q/r"), &err));
    assert_int_equal(err.kind, ERR_AUTH);
    assert_like(str_from(err.text), "*(mode 0750); run: chmod 700 *");
    assert_int_equal(mode_of(at("p/q/r")), 0750);
    assert_int_equal(symlink("p/q", at("p-link")), 0);
    assert_false(file_make_private_folder(at("p-link"), &err));
    assert_int_equal(err.kind, ERR_AUTH);
    assert_true(file_make_private_folder(at("p-link/s"), &err)); /* a link in the path is fine */
    assert_true(file_write(at("p/file"), STR(""), 0600, &err));
    assert_false(file_make_private_folder(at("p/file"), &err));
    assert_int_equal(err.kind, ERR_AUTH);
    assert_false(file_make_private_folder(at("p/file/x"), &err));
    assert_int_equal(err.kind, ERR_IO);
    assert_false(file_make_private_folder("", &err));
}

static void folders_are_removed_with_what_is_in_them(void **state)
{
    struct err err = {0};
    (void)state;
    assert_true(file_make_private_folder(at("gone/deep"), &err));
    assert_true(file_make_private_folder(at("stays"), &err));
    assert_true(file_write(at("stays/file"), STR("x"), 0600, &err));
    assert_true(file_write(at("gone/deep/file"), STR("x"), 0600, &err));
    assert_int_equal(symlink("../stays", at("gone/link")), 0);
    assert_true(file_remove_folder(at("gone"), &err));
    assert_int_equal(file_stat(at("gone")).kind, FILE_MISSING);
    check_holds(at("stays/file"), "x");
    assert_true(file_remove_folder(at("gone"), &err));
    assert_false(file_remove_folder("/proc/self", &err));
    assert_like(str_from(err.text), "cannot remove /proc/self: *");
}

/* ---- private folders below folders of others ---- */

enum { VICTIM = 61005, ATTACKER = 61006, TEXT_MAX = 1024 };

/* What file_make_private_folder() says to another user; empty if it creates the folder. */
static void make_as(uid_t user, const char *path, char text[TEXT_MAX])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct err err = {0};
        bool ok = setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0 &&
                  file_make_private_folder(path, &err);
        (void)!write(ends[1], ok ? "" : err.text, ok ? 0 : strlen(err.text));
        _exit(0);
    }
    close(ends[1]);
    ssize_t size = read(ends[0], text, TEXT_MAX - 1);
    text[size > 0 ? size : 0] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void make_folder(const char *name, unsigned mode, uid_t owner)
{
    assert_int_equal(mkdir(at(name), 0700), 0);
    assert_int_equal(chown(at(name), owner, owner), 0);
    assert_int_equal(chmod(at(name), mode), 0);
}

static void a_private_folder_is_not_made_below_another_users(void **state)
{
    char text[TEXT_MAX];
    (void)state;
    if (geteuid() != 0) {
        return; /* one user cannot act as two; the modes are tested below */
    }
    assert_int_equal(chmod(scratch, 0755), 0);
    make_folder("sticky", 01777, 0);
    make_folder("sticky/planted", 0777, ATTACKER);
    make_as(VICTIM, at("sticky/planted/hash"), text);
    assert_like(str_from(text), "*/sticky/planted belongs to another user: *(uid 61006)*");
    assert_int_equal(count_in(at("sticky/planted")), 0);
    assert_int_equal(symlink("planted", at("sticky/link")), 0);
    assert_int_equal(lchown(at("sticky/link"), ATTACKER, ATTACKER), 0);
    make_as(VICTIM, at("sticky/link/hash"), text);
    assert_like(str_from(text), "*/sticky/link belongs to another user: *(uid 61006)*");
    /* Only root makes a sticky folder safe: any other owner may replace the files of others. */
    make_folder("theirs", 01777, ATTACKER);
    make_as(VICTIM, at("theirs/hash"), text);
    assert_like(str_from(text), "*/theirs belongs to another user: *");
    make_as(VICTIM, at("sticky/own/hash"), text);
    assert_string_equal(text, "");
    assert_int_equal(mode_of(at("sticky/own")), 0700);
    make_as(ATTACKER, at("sticky/own/other"), text);
    assert_like(str_from(text), "*/sticky/own belongs to another user: *(uid 61005)*");
    assert_int_equal(chmod(scratch, 0700), 0);
}

/* Every Unix has the user daemon, alone in a group of that name: mode 0775 excludes others. */
static void a_group_with_one_member_may_write(void **state)
{
    char text[TEXT_MAX];
    (void)state;
    const struct passwd *daemon = getpwnam("daemon");
    if (geteuid() != 0 || !daemon) {
        return;
    }
    uid_t user = daemon->pw_uid;
    gid_t group = daemon->pw_gid;
    assert_int_equal(chmod(scratch, 0755), 0);
    make_folder("group", 0775, user);
    assert_int_equal(chown(at("group"), user, group), 0);
    make_as(user, at("group/below"), text);
    assert_string_equal(text, "");
    assert_int_equal(chown(at("group"), user, group + 1), 0);
    make_as(user, at("group/below"), text);
    assert_like(str_from(text), "*/group: other users can write to it (mode 0775)*");
    assert_int_equal(chmod(scratch, 0700), 0);
}

static void a_private_folder_is_not_made_where_others_can_write(void **state)
{
    static const struct {
        unsigned mode;
        bool is_made;
    } rows[] = {{0755, true}, {0701, true}, {0757, false}, {0777, false}, {0703, false}};
    struct err err = {0};
    (void)state;
    assert_int_equal(mkdir(at("open"), 0700), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(chmod(at("open"), rows[i].mode), 0);
        assert_int_equal(file_make_private_folder(at("open/below"), &err), rows[i].is_made);
        if (!rows[i].is_made) {
            assert_int_equal(err.kind, ERR_AUTH);
            assert_like(str_from(err.text), "*/open: other users can write to it *chmod go-w *");
        }
    }
    if (geteuid() == 0) { /* root has no group of its own: write access is refused */
        assert_int_equal(chown(at("open"), 0, 61006), 0);
        assert_int_equal(chmod(at("open"), 0775), 0);
        assert_false(file_make_private_folder(at("open/below"), &err));
        assert_int_equal(err.kind, ERR_AUTH);
    }
}

static void a_check_makes_nothing(void **state)
{
    struct err err = {0};
    (void)state;
    assert_false(file_check_private_folder(at("absent/below"), &err));
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_int_equal(access(at("absent"), F_OK), -1);
    assert_true(file_make_private_folder(at("present"), &err));
    assert_true(file_check_private_folder(at("present"), &err));
    assert_int_equal(chmod(at("present"), 0711), 0);
    assert_false(file_check_private_folder(at("present"), &err));
    assert_int_equal(err.kind, ERR_AUTH);
}

static void links_in_circles_are_refused(void **state)
{
    struct err err = {0};
    (void)state;
    assert_int_equal(symlink("circle", at("circle")), 0);
    assert_false(file_make_private_folder(at("circle/below"), &err));
    assert_int_equal(err.kind, ERR_IO);
}

static void secrets_that_others_can_read_are_refused(void **state)
{
    static const struct {
        unsigned mode;
        bool is_read;
    } rows[] = {{0600, true},  {0400, true},  {0700, true},  {0640, false},
                {0604, false}, {0620, false}, {0601, false}, {0666, false}};
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf out;
        buf_init(&out, 100);
        assert_true(file_write(at("key"), STR("s3cret"), rows[i].mode, &err));
        assert_int_equal(file_read_secret(at("key"), &out, &err), rows[i].is_read);
        assert_str(buf_str(&out), rows[i].is_read ? "s3cret" : "");
        if (!rows[i].is_read) {
            assert_int_equal(err.kind, ERR_AUTH);
            assert_like(str_from(err.text), "*/key: other users can access it *; run: chmod 600 "
                                            "*/key");
        }
    }
}

static void what_is_no_secret_file_is_refused(void **state)
{
    AUTO_BUF struct buf out;
    struct err err = {0};
    (void)state;
    buf_init(&out, 4);
    assert_false(file_read_secret(at("nothing"), &out, &err));
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_false(file_read_secret(scratch, &out, &err));
    assert_int_equal(err.kind, ERR_IO);
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    assert_false(file_read_secret(at("pipe"), &out, &err)); /* and does not wait */
    assert_int_equal(err.kind, ERR_IO);
    assert_true(file_write(at("long"), STR("12345"), 0600, &err));
    assert_false(file_read_secret(at("long"), &out, &err));
    assert_int_equal(err.kind, ERR_IO);
    if (geteuid() == 0) {
        assert_int_equal(chown(at("long"), 12345, 12345), 0);
        assert_false(file_read_secret(at("long"), &out, &err));
        assert_int_equal(err.kind, ERR_AUTH);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_replaces_whole_files),
        cmocka_unit_test(write_replaces_a_link_and_not_its_target),
        cmocka_unit_test(failed_writes_leave_nothing),
        cmocka_unit_test(a_write_that_stops_half_way_keeps_the_old_file),
        cmocka_unit_test(private_folders_are_made_and_checked),
        cmocka_unit_test(a_private_folder_is_not_made_below_another_users),
        cmocka_unit_test(a_group_with_one_member_may_write),
        cmocka_unit_test(a_private_folder_is_not_made_where_others_can_write),
        cmocka_unit_test(a_check_makes_nothing),
        cmocka_unit_test(folders_are_removed_with_what_is_in_them),
        cmocka_unit_test(links_in_circles_are_refused),
        cmocka_unit_test(secrets_that_others_can_read_are_refused),
        cmocka_unit_test(what_is_no_secret_file_is_refused),
    };
    return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}

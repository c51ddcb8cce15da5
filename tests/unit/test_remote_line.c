/* test_remote_line.c: quotes, and the command lines that Ray's command runner would send. */
#include "cli/remote_line.h"

#include "unit.h"

static void check_quote(const char *word, const char *expected)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 1000);
    remote_line_quote(&out, str_from(word));
    assert_str(buf_str(&out), expected);
}

/* What Python's shlex.quote() answers. */
static void words_are_quoted_as_python_quotes_them(void **state)
{
    (void)state;
    check_quote("abc_1@%+=:,./-", "abc_1@%+=:,./-");
    check_quote("", "''");
    check_quote("a b", "'a b'");
    check_quote("$HOME", "'$HOME'");
    check_quote("it's", "'it'\"'\"'s'");
    check_quote("'", "''\"'\"''");
    check_quote("a\nb", "'a\nb'");
    check_quote("\xc3\xa9", "'\xc3\xa9'");
    check_quote("~/x", "'~/x'");
}

static void check_line(struct remote_line line, const char *expected)
{
    struct arena arena;
    arena_init(&arena);
    assert_str(remote_line_make(&line, &arena), expected);
    arena_clear(&arena);
}

#define LOGIN "source ~/.bashrc; export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore && "

static void commands_run_in_a_login_shell(void **state)
{
    struct remote_line line = {.command = STR("ray status"), .has_terminal = true};
    (void)state;
    check_line(line, "bash --login -c -i '" LOGIN "(ray status)'");
    line.command = STR("echo 'a'");
    check_line(line, "bash --login -c -i '" LOGIN "(echo '\"'\"'a'\"'\"')'");
}

/* An interactive shell without a terminal complains; its messages are kept out of the command's
 * output. */
static void without_a_terminal_the_shell_is_silent(void **state)
{
    struct remote_line line = {.command = STR("true")};
    (void)state;
    check_line(line, "bash --login -c -i 'exec 2>&9 9>&-; " LOGIN "(true)' 9>&2 2>/dev/null");
}

/* The line is one word for the shell that runs `node attend`. */
static void attended_commands_are_one_word(void **state)
{
    struct remote_line line = {
        .command = STR("echo 'a'"), .has_terminal = true, .is_attended = true};
    (void)state;
    check_line(line, "sh -c 'if ~/.shoal/bin/shoal node attend -- true </dev/null >/dev/null 2>&1; "
                     "then exec ~/.shoal/bin/shoal node attend -- sh -c \"$1\"; fi; "
                     "exec sh -c \"$1\"' shoal 'bash --login -c -i '\"'\"'" LOGIN
                     "(echo '\"'\"'\"'\"'\"'\"'\"'\"'a'\"'\"'\"'\"'\"'\"'\"'\"')'\"'\"''");
}

static void keepers_as_in_ray(void **state)
{
    struct remote_line line = {
        .command = STR("sleep 1"), .keeper = REMOTE_SCREEN, .has_terminal = true};
    (void)state;
    check_line(line, "bash --login -c -i '" LOGIN
                     "(screen -L -dm bash -c '\"'\"'sleep 1; exec bash'\"'\"')'");
    line.screen_arguments = STR("-Logfile /x");
    check_line(line, "bash --login -c -i '" LOGIN
                     "(screen -L -dm -Logfile /x bash -c '\"'\"'sleep 1; exec bash'\"'\"')'");
    line.keeper = REMOTE_TMUX;
    check_line(line, "bash --login -c -i '" LOGIN
                     "(tmux new -d bash -c '\"'\"'sleep 1; exec bash'\"'\"')'");
    line.afterwards = STR("shoal ctl --ask terminate");
    check_line(line, "bash --login -c -i '" LOGIN
                     "(tmux new -d bash -c '\"'\"'sleep 1; shoal ctl --ask terminate; exec "
                     "bash'\"'\"')'");
    line.keeper = REMOTE_DIRECT; /* then the waiting process does the work itself */
    check_line(line, "bash --login -c -i '" LOGIN "(sleep 1)'");
}

static void containers(void **state)
{
    struct config_docker docker = {.image = STR("x"), .container_name = STR("my box")};
    struct remote_line line = {.command = STR("ls"), .docker = &docker, .has_terminal = true};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    struct str text = remote_line_make(&line, &arena);
    assert_true(str_find(text, "(docker exec -it '\"'\"'my box'\"'\"' /bin/bash -c ") != SIZE_MAX);
    docker.use_podman = true;
    line.has_terminal = false;
    text = remote_line_make(&line, &arena);
    assert_true(str_find(text, "(podman exec -i ") != SIZE_MAX);
    arena_clear(&arena);
}

static void another_machine_behind_it(void **state)
{
    struct remote_line line = {
        .command = STR("$SHELL"), .has_terminal = true, .hop = STR("ssh -tt 10.0.0.5 ")};
    (void)state;
    check_line(line, "ssh -tt 10.0.0.5 'bash --login -c -i '\"'\"'" LOGIN "($SHELL)'\"'\"''");
}

static void what_the_head_told_is_quoted(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    assert_str(remote_line_hop(STR("ubuntu"), STR("i-0f2"), STR("10.0.0.5"), true, &arena),
               "ssh -tt -o StrictHostKeyChecking=yes -o HostKeyAlias=i-0f2 -o "
               "'UserKnownHostsFile=~/.shoal/cluster/known_hosts/i-0f2' -o IdentitiesOnly=yes "
               "-i ~/ray_bootstrap_key.pem -l ubuntu -- 10.0.0.5 ");
    assert_str(
        remote_line_hop(STR("a b"), STR("i;reboot"), STR("$(reboot)"), false, &arena),
        "ssh -T -o StrictHostKeyChecking=yes -o 'HostKeyAlias=i;reboot' -o "
        "'UserKnownHostsFile=~/.shoal/cluster/known_hosts/i%%3Breboot' -o IdentitiesOnly=yes "
        "-i ~/ray_bootstrap_key.pem -l 'a b' -- '$(reboot)' ");
    /* The file of an IPv6 address has an encoded name, whose "%" ssh must not expand. */
    assert_str(remote_line_hop(STR("u"), STR("fd00::5"), STR("fd00::5"), false, &arena),
               "ssh -T -o StrictHostKeyChecking=yes -o HostKeyAlias=fd00::5 -o "
               "'UserKnownHostsFile=~/.shoal/cluster/known_hosts/fd00%%3A%%3A5' -o "
               "IdentitiesOnly=yes -i ~/ray_bootstrap_key.pem -l u -- fd00::5 ");
    arena_clear(&arena);
}

static void where_a_command_runs(void **state)
{
    struct config_node_type type = {.is_head = true};
    struct config config = {.node_types = &type, .node_type_count = 1};
    (void)state;
    assert_null(remote_line_docker(&config, "docker", STR("ls")));
    type.docker = (struct config_docker){.image = STR("i"), .container_name = STR("c")};
    assert_non_null(remote_line_docker(&config, NULL, STR("ls")));
    assert_non_null(remote_line_docker(&config, "auto", STR("ls")));
    assert_null(remote_line_docker(&config, "auto", STR("docker ps")));
    assert_non_null(remote_line_docker(&config, "docker", STR("docker ps")));
    assert_null(remote_line_docker(&config, "host", STR("ls")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_quoted_as_python_quotes_them),
        cmocka_unit_test(commands_run_in_a_login_shell),
        cmocka_unit_test(without_a_terminal_the_shell_is_silent),
        cmocka_unit_test(attended_commands_are_one_word),
        cmocka_unit_test(keepers_as_in_ray),
        cmocka_unit_test(containers),
        cmocka_unit_test(another_machine_behind_it),
        cmocka_unit_test(what_the_head_told_is_quoted),
        cmocka_unit_test(where_a_command_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* container_host.c: runs docker or podman on a machine. */
#include "app/setup/container_host.h"

#include "app/setup/node_tools.h"
#include "app/test_times.h"
#include "base/shell_quote.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/json_line.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define RECORD_FILE "~/.shoal/container.json"

enum {
    CHECK_MS = 30 * 1000,
    DAEMON_MS = 20 * 1000, /* it starts later than sshd */
    PAUSE_MS = 500,
    SAID_BYTES_MAX = 16 * 1024,
    RECORD_BYTES_MAX = 1 << 20,
};

/* ---- running ---- */

const char *const *container_host_argv(const struct container_host *host, struct str text)
{
    const char **words = ARENA_ARRAY(host->arena, 5, const char *);
    struct str path = {0};
    if (!host->uses_group) {
        words[0] = tools_find(host->arena, "bash", NULL, &path) ? path.ptr : "/bin/bash";
        words[1] = "-c";
        words[2] = arena_str(host->arena, text).ptr;
        return words;
    }
    AUTO_BUF struct buf line; /* sg runs another shell */
    buf_init(&line, text.len * 6 + 64);
    buf_add_c(&line, "exec bash -c ");
    shell_quote(&line, text);
    words[0] = tools_find(host->arena, "sg", NULL, &path) ? path.ptr : "/usr/bin/sg";
    words[1] = "docker";
    words[2] = "-c";
    words[3] = arena_str(host->arena, buf_str(&line)).ptr;
    return words;
}

bool container_host_run(const struct container_host *host, struct str text, struct str input,
                        struct buf *out, int *ret_status)
{
    struct err err;
    return tools_run_fed(container_host_argv(host, text), input, 0, out, ret_status, &err);
}

/* ---- the daemon ---- */

/* The commands that install and start the program on this distribution. */
static struct str container_host_advice(const struct container_host *host)
{
    const char *installer = tools_installer(host->arena);
    if (strcmp(host->program, "podman") == 0) {
        return arena_printf(host->arena, "`%s podman`", installer);
    }
    struct str path;
    const char *package = tools_find(host->arena, "apt-get", NULL, &path) ? "docker.io" : "docker";
    return arena_printf(host->arena,
                        "`%s %s`, `sudo systemctl enable --now docker`, `sudo usermod -aG docker "
                        "$USER`",
                        installer, package);
}

bool container_host_is_installed(const struct container_host *host)
{
    struct str path;
    if (tools_find(host->arena, host->program, NULL, &path)) {
        return true;
    }
    fprintf(stderr,
            "error: %s is not installed on this machine, and the cluster file runs Ray in a "
            "container\n"
            "use an image that has it, or install it in initialization_commands: %.*s\n",
            host->program, STR_ARG(container_host_advice(host)));
    return false;
}

/* False: see `said`. */
static bool container_host_answers(const struct container_host *host, struct buf *said)
{
    int status;
    struct err err;
    struct str text = arena_printf(host->arena, "%s version -f '{{.Server.Version}}' 2>&1",
                                   host->program);
    buf_clear(said);
    buf_init(said, SAID_BYTES_MAX);
    return tools_run(container_host_argv(host, text), CHECK_MS, said, &status, &err);
}

/* A group that an initialization command gave to the user applies to new logins only; `sg` has it
 * at once. */
static bool container_host_try_group(struct container_host *host, struct buf *said)
{
    struct str path;
    if (str_find(buf_str(said), "permission denied") == SIZE_MAX ||
        !tools_find(host->arena, "sg", NULL, &path)) {
        return false;
    }
    AUTO_BUF struct buf again;
    buf_init(&again, SAID_BYTES_MAX);
    host->uses_group = true;
    host->uses_group = container_host_answers(host, &again);
    return host->uses_group;
}

static void container_host_explain(const struct container_host *host, struct str said)
{
    fprintf(stderr, "%.*s\n", STR_ARG(str_trim(said)));
    if (str_find(said, "permission denied") != SIZE_MAX) {
        fprintf(stderr, "error: this user has no permission to use Docker\n"
                        "add to initialization_commands: `sudo usermod -aG docker $USER`\n");
    } else {
        fprintf(stderr,
                "error: %s is installed on this machine, but its daemon does not answer\n"
                "add to initialization_commands: `sudo systemctl enable --now docker`; its log: "
                "`sudo journalctl -u docker`\n",
                host->program);
    }
}

bool container_host_open(struct container_host *host)
{
    const struct timespec pause = {0, PAUSE_MS * 1000000L};
    int64_t limit_ms = DAEMON_MS;
    AUTO_BUF struct buf said;
    buf_init(&said, SAID_BYTES_MAX);
    if (!container_host_is_installed(host)) {
        return false;
    }
    if (strcmp(host->program, "podman") == 0) { /* has no daemon */
        return true;
    }
    test_times_read(&(struct test_time){"daemon", &limit_ms}, 1);
    int64_t until = clock_monotonic_ms(&clock_of_machine) + limit_ms;
    for (int i = 0; i == 0 || clock_monotonic_ms(&clock_of_machine) < until; i++) {
        if (container_host_answers(host, &said) || container_host_try_group(host, &said)) {
            return true;
        }
        if (str_find(buf_str(&said), "permission denied") != SIZE_MAX) {
            break;
        }
        if (i == 0) {
            printf("waiting for the Docker daemon: %.*s\n", STR_ARG(str_trim(buf_str(&said))));
            fflush(stdout);
        }
        nanosleep(&pause, NULL);
    }
    container_host_explain(host, buf_str(&said));
    return false;
}

/* ---- the record ---- */

void container_record_read(struct container_record *ret_record, struct arena *arena)
{
    AUTO_BUF struct buf text;
    struct err err;
    json_t *object;
    buf_init(&text, RECORD_BYTES_MAX);
    *ret_record = (struct container_record){0};
    if (!file_read(tools_home(arena, RECORD_FILE), &text, &err) ||
        !json_line_read(buf_str(&text), "a container", &object, &err)) {
        return;
    }
    *ret_record = (struct container_record){
        .id = json_take_text(object, "id", arena),
        .image = json_take_text(object, "image", arena),
        .home = json_take_text(object, "home", arena),
        .options = json_take_text(object, "options", arena),
        .copied = json_take_text(object, "copied", arena),
        .uses_group = json_is_true(json_object_get(object, "group")),
        .is_podman = json_is_true(json_object_get(object, "podman")),
        .lacks_gpu = json_is_true(json_object_get(object, "lacks_gpu")),
    };
    json_decref(object);
}

bool container_record_write(const struct container_record *record, struct arena *arena,
                            struct err *err)
{
    AUTO_BUF struct buf text;
    buf_init(&text, RECORD_BYTES_MAX);
    json_t *object = json_object();
    json_put_text(object, "id", record->id);
    json_put_text(object, "image", record->image);
    json_put_text(object, "home", record->home);
    json_put_text(object, "options", record->options);
    json_put_text(object, "copied", record->copied);
    json_put_flag(object, "group", record->uses_group);
    json_put_flag(object, "podman", record->is_podman);
    json_put_flag(object, "lacks_gpu", record->lacks_gpu);
    json_put_out(object, true, &text);
    return file_write(tools_home(arena, RECORD_FILE), buf_str(&text), 0600, err);
}

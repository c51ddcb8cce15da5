/*
 * node_container.c: makes sure that the node's container runs, as Ray's DockerCommandRunner does.
 *
 * A running container is kept if it has the image and the mounts of the file. Otherwise a new one
 * replaces it; on an own machine, a container that `up` did not start is left alone. The container
 * then gets this program, Ray's token and Ray's bootstrap files.
 */
#include "app/setup/node_jobs.h"

#include "app/program.h"
#include "app/setup/container_host.h"
#include "app/setup/node_tools.h"
#include "app/setup/setup_plan.h"
#include "app/test_times.h"
#include "base/shell_quote.h"
#include "io/file.h"
#include "ray/token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SAID_BYTES_MAX = 16 * 1024,
    LOG_BYTES_MAX = 1 << 20,
    FILE_BYTES_MAX = 4 << 20,
    PULLS_MAX = 3,
    PULL_PAUSE_S = 3,
    LOOK_AGAIN_MS = 2000,
};

#define LOG_FILE "~/.shoal/container.log"

struct node_box {
    struct arena *arena;
    struct container_spec spec;
    struct container_host host;
    struct container_record record;
    /* the container with this name, as found */
    bool exists, is_running;
    bool is_recorded; /* its id is in the machine's record */
    bool is_cut;      /* an answer was too long */
    struct str id, image, env, mounts;
};

/* ---- commands ---- */

static struct str node_box_quoted(const struct node_box *box, struct str word)
{
    AUTO_BUF struct buf out;
    buf_init(&out, word.len * 6 + 16);
    shell_quote(&out, word);
    return arena_str(box->arena, buf_str(&out));
}

/* The output of a command; empty if it fails. */
static struct str node_box_ask(struct node_box *box, struct str text)
{
    AUTO_BUF struct buf out;
    int status;
    buf_init(&out, LOG_BYTES_MAX);
    bool ok = container_host_run(&box->host, text, (struct str){0}, &out, &status);
    box->is_cut = box->is_cut || out.is_full;
    return ok ? arena_str(box->arena, str_trim(buf_str(&out))) : STR("");
}

static bool node_box_was_cut(const struct node_box *box)
{
    if (box->is_cut) {
        fprintf(stderr,
                "error: %s said more than 1 MB about the container %.*s or its image; reduce their "
                "variables and mounts\n",
                box->spec.program, STR_ARG(box->spec.name));
    }
    return box->is_cut;
}

/* Runs a command, prints its output, and returns it. */
static bool node_box_do(const struct node_box *box, struct str text, struct str *ret_said)
{
    AUTO_BUF struct buf said;
    struct err err;
    int status;
    const char *log = tools_home(box->arena, LOG_FILE);
    struct str line = arena_printf(box->arena, "set -o pipefail; { %.*s; } 2>&1 | tee %.*s",
                                   STR_ARG(text), STR_ARG(node_box_quoted(box, str_from(log))));
    bool ok = container_host_run(&box->host, line, (struct str){0}, NULL, &status);
    buf_init(&said, LOG_BYTES_MAX);
    *ret_said = file_read(log, &said, &err) ? arena_str(box->arena, buf_str(&said)) : STR("");
    return ok;
}

/* ---- errors ---- */

static bool node_box_has_any(struct str said, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_find(said, words[i]) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

static bool node_box_is_full(struct str said)
{
    static const char *const words[] = {"no space left on device", "No space left on device"};
    return node_box_has_any(said, words, ARRAY_LEN(words));
}

/* An error that the next attempt may not have. */
static bool node_box_may_pass(struct str said)
{
    static const char *const words[] = {"timeout",        "timed out", "connection reset",
                                        "unexpected EOF", ": EOF",     "TLS handsh",
                                        " 503 ",          " 502 ",     " 500 ",
                                        "retry-after",    "temporar"};
    return !node_box_is_full(said) && node_box_has_any(said, words, ARRAY_LEN(words));
}

static void node_box_show_disk(struct str said)
{
    static const char *const argv[] = {"df", "-h", NULL};
    struct err err;
    int status;
    if (node_box_is_full(said)) {
        fflush(stdout);
        (void)!tools_run(argv, 0, NULL, &status, &err);
        fprintf(stderr, "error: the disk of this machine is too small for the image\n");
    }
}

/* ---- finding ---- */

static void node_box_find(struct node_box *box)
{
    static const char format[] = "'{{.State.Running}}\n{{.Id}}\n{{.Config.Image}}\n"
                                 "{{json .Config.Env}}\n{{json .Mounts}}'";
    struct str said = node_box_ask(
        box,
        arena_printf(box->arena, "%s container inspect -f %s %.*s 2>/dev/null", box->spec.program,
                     format, STR_ARG(node_box_quoted(box, box->spec.name))));
    box->exists = said.len > 0;
    box->is_running = str_is(str_cut(&said, '\n'), "true");
    box->id = str_cut(&said, '\n');
    box->image = str_cut(&said, '\n');
    box->env = str_cut(&said, '\n');
    box->mounts = said;
    container_record_read(&box->record, box->arena);
    box->is_recorded = box->exists && str_eq(box->record.id, box->id);
    if (!box->is_recorded) { /* not ours: started by Ray, or by the user */
        box->record = (struct container_record){
            .id = box->id, .image = box->image, .home = container_home(box->env, box->arena)};
    }
}

/* An own machine may have a container of the same name in which another user works. */
static bool node_box_is_ours(struct node_box *box)
{
    const struct container_spec *spec = &box->spec;
    if (!box->exists || !spec->is_own) {
        return true;
    }
    struct str labels = node_box_ask(
        box, arena_printf(box->arena, "%s container inspect -f '{{json .Config.Labels}}' %.*s",
                          spec->program, STR_ARG(box->id)));
    struct str home = str_from(tools_home(box->arena, "~"));
    if (container_is_ours(spec, labels, box->mounts, home, box->is_recorded)) {
        return true;
    }
    fprintf(stderr,
            "error: the container %.*s on this machine was not started by `shoal up` of cluster "
            "%.*s, so it is left alone\n"
            "remove it on the machine (`%s rm -f %.*s`), or choose another "
            "docker.container_name\n",
            STR_ARG(spec->name), STR_ARG(spec->cluster), spec->program, STR_ARG(spec->name));
    return false;
}

/* podman has no runtimes: it knows devices, which NVIDIA's tool describes. */
static bool node_box_has_runtime(struct node_box *box)
{
    const char *program = box->spec.program;
    bool is_podman = strcmp(program, "podman") == 0;
    struct str said = node_box_ask(
        box, is_podman ? STR("nvidia-ctk cdi list 2>/dev/null")
                       : arena_printf(box->arena, "%s info -f '{{.Runtimes}}'", program));
    return str_find(said, is_podman ? "nvidia.com/gpu=all" : "nvidia-container-runtime") !=
           SIZE_MAX;
}

static bool node_box_has_gpu(struct node_box *box)
{
    static const char *const argv[] = {"nvidia-smi", NULL};
    struct err err;
    int status;
    if (!node_box_has_runtime(box)) {
        if (container_wants_gpu(&box->spec)) {
            printf("warning: this machine has GPUs, but no NVIDIA Container Toolkit for %s\n",
                   box->spec.program);
        }
        return false;
    }
    AUTO_BUF struct buf out;
    buf_init(&out, SAID_BYTES_MAX);
    if (tools_run(argv, 0, &out, &status, &err)) {
        return true;
    }
    printf("warning: the NVIDIA container runtime is installed, but nvidia-smi finds no GPU\n");
    return false;
}

/* Does the running container fit the file? */
static bool node_box_fits(struct node_box *box)
{
    struct str missing;
    if (!box->is_running) {
        return false;
    }
    if (!str_eq(box->record.image, box->spec.image)) {
        printf("the container %.*s runs the image %.*s instead of %.*s\n", STR_ARG(box->spec.name),
               STR_ARG(box->record.image), STR_ARG(box->spec.image));
        return false;
    }
    if (!container_has_mounts(&box->spec, box->record.home, box->mounts, &missing, box->arena)) {
        printf("the container %.*s does not mount %.*s\n", STR_ARG(box->spec.name),
               STR_ARG(missing));
        return false;
    }
    if (box->is_recorded && box->record.lacks_gpu && node_box_has_gpu(box)) {
        printf("the container %.*s was started without the GPUs\n", STR_ARG(box->spec.name));
        return false;
    }
    return true;
}

static struct str node_box_options(const struct node_box *box)
{
    AUTO_BUF struct buf out;
    buf_init(&out, LOG_BYTES_MAX);
    for (size_t i = 0; i < box->spec.options.count; i++) {
        buf_addf(&out, "%s%.*s", i > 0 ? " " : "", STR_ARG(box->spec.options.items[i]));
    }
    return arena_str(box->arena, buf_str(&out));
}

/* ---- creating ---- */

static bool node_box_pull(const struct node_box *box)
{
    const char *program = box->spec.program;
    struct str image = node_box_quoted(box, box->spec.image);
    struct str look = arena_printf(box->arena, "%s image inspect %.*s >/dev/null 2>&1", program,
                                   STR_ARG(image));
    struct str pull = arena_printf(box->arena, "%s pull %.*s", program, STR_ARG(image));
    struct str said = {0};
    int status;
    if (!box->spec.pulls && container_host_run(&box->host, look, (struct str){0}, NULL, &status)) {
        return true;
    }
    bool ok = node_box_do(box, pull, &said);
    for (int i = 1; !ok && i < PULLS_MAX && node_box_may_pass(said); i++) {
        const struct timespec pause = {(time_t)PULL_PAUSE_S * i, 0};
        printf("pulling again, attempt %d of %d\n", i + 1, PULLS_MAX);
        fflush(stdout);
        nanosleep(&pause, NULL);
        ok = node_box_do(box, pull, &said);
    }
    if (!ok) {
        node_box_show_disk(said);
        fprintf(stderr, "error: %s cannot pull the image %.*s\n", program,
                STR_ARG(box->spec.image));
    }
    return ok;
}

static int64_t node_box_shm(const struct node_box *box)
{
    AUTO_BUF struct buf text;
    struct err err;
    buf_init(&text, LOG_BYTES_MAX);
    return container_wants_shm(&box->spec) && file_read("/proc/meminfo", &text, &err)
               ? container_shm_bytes(buf_str(&text))
               : 0;
}

/* Docker would create an empty folder, owned by root, in place of a missing one. */
static bool node_box_has_sources(const struct node_box *box)
{
    for (size_t i = 0; i < box->spec.mounts.count; i++) {
        struct str path = container_host_path(box->spec.cluster, box->spec.mounts.items[i],
                                              box->arena);
        if (file_stat(tools_home(box->arena, path.ptr)).kind == FILE_MISSING) {
            fprintf(stderr,
                    "error: %.*s, which the container mounts, is not on this machine\n"
                    "run `shoal up --restart-only FILE`; it copies the file_mounts\n",
                    STR_ARG(path));
            return false;
        }
    }
    return true;
}

/* An entrypoint may end some seconds after its start, and --rm deletes its log: follow it. */
static bool node_box_stays(struct node_box *box)
{
    const char *program = box->spec.program;
    struct str id = box->record.id;
    AUTO_BUF struct buf log;
    struct err err;
    int status;
    int64_t limit_ms = LOOK_AGAIN_MS;
    buf_init(&log, LOG_BYTES_MAX);
    test_times_read(&(struct test_time){"look_again", &limit_ms}, 1);
    struct str follow = arena_printf(box->arena, "exec %s logs -f %.*s 2>&1", program,
                                     STR_ARG(node_box_quoted(box, id)));
    (void)!tools_run(container_host_argv(&box->host, follow), limit_ms, &log, &status, &err);
    struct str state = node_box_ask(
        box, arena_printf(box->arena, "%s container inspect -f '{{.State.Running}}' %.*s", program,
                          STR_ARG(node_box_quoted(box, id))));
    if (id.len > 0 && str_is(state, "true")) {
        return true;
    }
    printf("%.*s\n", STR_ARG(str_trim(buf_str(&log))));
    fflush(stdout);
    fprintf(stderr,
            "error: the container %.*s ended after its start: its image must have bash, and no "
            "entrypoint that ends; the run option --entrypoint= removes the entrypoint\n",
            STR_ARG(box->spec.name));
    return false;
}

static bool node_box_start(struct node_box *box)
{
    struct str said;
    struct str env = node_box_ask(
        box, arena_printf(box->arena, "%s inspect -f '{{json .Config.Env}}' %.*s",
                          box->spec.program, STR_ARG(node_box_quoted(box, box->spec.image))));
    struct container_run run = {
        .home = container_home(env, box->arena),
        .machine_home = str_from(tools_home(box->arena, "~")),
        .shm_bytes = node_box_shm(box),
        .has_gpu = box->spec.detects_runtime &&
                   !container_has_option(&box->spec, "nvidia.com/gpu") && node_box_has_gpu(box),
        .is_relabelled = str_is(node_box_ask(box, STR("getenforce 2>/dev/null")), "Enforcing"),
    };
    struct str line = container_run_line(&box->spec, &run, box->arena);
    if (node_box_was_cut(box)) {
        return false;
    }
    if (!node_box_do(box, line, &said)) {
        node_box_show_disk(said);
        fprintf(stderr, "error: %s cannot start the container %.*s\n", box->spec.program,
                STR_ARG(box->spec.name));
        return false;
    }
    struct str format = STR("'{{.Id}}'");
    box->record = (struct container_record){
        .id = node_box_ask(box, arena_printf(box->arena, "%s container inspect -f %.*s %.*s",
                                             box->spec.program, STR_ARG(format),
                                             STR_ARG(node_box_quoted(box, box->spec.name)))),
        .image = box->spec.image,
        .home = run.home,
        .options = node_box_options(box),
        .lacks_gpu = !run.has_gpu && container_wants_gpu(&box->spec),
    };
    return node_box_stays(box);
}

/* As in Ray, the user of the image is used as it is. */
static void node_box_compare_users(struct node_box *box)
{
    int64_t inside;
    int64_t here = (int64_t)getuid();
    struct str said = node_box_ask(box, arena_printf(box->arena, "%s exec %.*s id -u",
                                                     box->spec.program, STR_ARG(box->record.id)));
    bool is_docker = strcmp(box->spec.program, "podman") != 0; /* which maps users */
    if (box->spec.mounts.count > 0 && is_docker && str_to_i64(said, &inside) && inside != 0 &&
        inside != here) {
        printf("warning: commands in the container run as user %lld, and the file mounts belong to "
               "user %lld of this machine: they cannot write them, nor read files with mode 600. "
               "Add `--user %lld` to run_options, or use an image whose user has this number\n",
               (long long)inside, (long long)here, (long long)here);
    }
}

/* Ray's `docker stop` waits ten seconds for bash, which ignores SIGTERM. */
static bool node_box_remove(const struct node_box *box)
{
    struct str said;
    struct str end = arena_printf(box->arena, "%s rm -f %.*s", box->spec.program,
                                  STR_ARG(node_box_quoted(box, box->spec.name)));
    if (box->exists && !node_box_do(box, end, &said)) {
        fprintf(stderr, "error: %s cannot remove the container %.*s\n", box->spec.program,
                STR_ARG(box->spec.name));
        return false;
    }
    return true;
}

static bool node_box_replace(struct node_box *box)
{
    bool ok = node_box_has_sources(box) && node_box_pull(box) && node_box_remove(box) &&
              node_box_start(box);
    if (ok) {
        node_box_compare_users(box);
    }
    return ok;
}

/* ---- files ---- */

/* Copied again after an update of the program. */
static bool node_box_copy_program(struct node_box *box, struct err *err)
{
    struct str path;
    struct stat status;
    int code;
    if (!program_path(box->arena, &path, err)) {
        return false;
    }
    if (stat(path.ptr, &status) != 0) {
        return err_set(err, ERR_IO, "%s cannot be read", path.ptr);
    }
    struct str version = arena_printf(box->arena, "%lld-%lld", (long long)status.st_size,
                                      (long long)status.st_mtime);
    if (str_eq(version, box->record.copied)) {
        return true;
    }
    struct str line = arena_printf(
        box->arena,
        "%s exec -i %.*s sh -c 'umask 077; cd && mkdir -p .shoal/bin && cat >.shoal/bin/new && "
        "chmod 700 .shoal/bin/new && mv -f .shoal/bin/new .shoal/bin/shoal' <%.*s",
        box->spec.program, STR_ARG(box->record.id), STR_ARG(node_box_quoted(box, path)));
    if (!container_host_run(&box->host, line, (struct str){0}, NULL, &code)) {
        return err_set(err, ERR_IO, "this program cannot be copied to the container");
    }
    box->record.copied = version;
    return true;
}

/* A node has only some of the files. */
static bool node_box_add_file(const struct node_box *box, const char *path, struct buf *script,
                              struct err *err)
{
    struct buf text;
    const char *here = tools_home(box->arena, path);
    if (file_stat(here).kind == FILE_MISSING) {
        return true;
    }
    buf_init(&text, FILE_BYTES_MAX);
    bool ok = file_read(here, &text, err);
    if (ok) {
        buf_add_c(script, "printf %s ");
        shell_quote(script, buf_str(&text));
        buf_addf(script, " >%s || exit 1\n", path + 2);
    }
    buf_wipe(&text);
    return ok;
}

static bool node_box_copy_files(const struct node_box *box, struct err *err)
{
    struct buf script; /* on standard input, because it contains secrets */
    int status;
    buf_init(&script, (size_t)FILE_BYTES_MAX * 4);
    buf_add_c(&script, "umask 077; cd && mkdir -p .ray .shoal || exit 1\n");
    bool ok = node_box_add_file(box, SETUP_TOKEN_FILE, &script, err) &&
              node_box_add_file(box, BOOTSTRAP_CONFIG, &script, err) &&
              node_box_add_file(box, BOOTSTRAP_KEY, &script, err);
    struct str line = arena_printf(box->arena, "%s exec -i %.*s sh", box->spec.program,
                                   STR_ARG(box->record.id));
    if (ok && (script.is_full ||
               !container_host_run(&box->host, line, buf_str(&script), NULL, &status))) {
        ok = err_set(err, ERR_IO, "Ray's token cannot be copied to the container");
    }
    buf_wipe(&script);
    return ok;
}

/* ---- entry point ---- */

static bool node_box_finish(struct node_box *box, struct err *err)
{
    box->record.uses_group = box->host.uses_group;
    box->record.is_podman = strcmp(box->spec.program, "podman") == 0;
    return node_box_copy_program(box, err) && node_box_copy_files(box, err) &&
           container_record_write(&box->record, box->arena, err) &&
           file_write(tools_home(box->arena, CONTAINER_PLACE_FILE), box->record.id, 0600, err);
}

static bool node_box_ensure(struct node_box *box, bool keeps)
{
    bool fits = node_box_fits(box);
    if (fits || (keeps && box->is_running)) {
        printf("the container %.*s is running%s\n", STR_ARG(box->spec.name),
               fits ? "" : " and is kept, because of --no-restart");
        if (box->record.options.ptr && !str_eq(box->record.options, node_box_options(box))) {
            printf("warning: changed run_options take effect in a new container: run `%s rm -f "
                   "%.*s` on the node, then `shoal up --restart-only FILE`\n",
                   box->spec.program, STR_ARG(box->spec.name));
        }
        return true;
    }
    return node_box_replace(box);
}

int node_container(const struct node_container_setup *setup)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct node_box box = {.arena = &arena};
    struct err err = {0};
    const char *text = getenv(CONTAINER_VARIABLE);
    if (!container_spec_read(str_from(text), &arena, &box.spec, &err) ||
        (setup->makes_token && !ray_token_make(tools_home(&arena, SETUP_TOKEN_FILE), &err))) {
        fprintf(stderr, "error: %s\n", err.text);
        return 1;
    }
    box.host = (struct container_host){.arena = &arena, .program = box.spec.program};
    if (!container_host_open(&box.host)) {
        return 1;
    }
    node_box_find(&box);
    bool ok = !node_box_was_cut(&box) && node_box_is_ours(&box) &&
              node_box_ensure(&box, getenv(STEP_KEEP_VARIABLE) != NULL);
    if (ok && !node_box_finish(&box, &err)) {
        fprintf(stderr, "error: %s\n", err.text);
        ok = false;
    }
    fflush(stdout);
    return ok ? 0 : 1;
}

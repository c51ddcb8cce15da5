/*
 * verb_notebook.c: runs Jupyter on the head and forwards it to this machine.
 *
 * One ssh session starts src/app/setup/notebook.sh and forwards the port. Its standard input tells
 * the head that we are alive: a line every few seconds, EOF at the end.
 */
#include "app/script_text.h"
#include "cli/local_port.h"
#include "cli/output.h"
#include "cli/remote_line.h"
#include "cli/target.h"

#include <sys/random.h>
#include <unistd.h>

struct notebook_fields {
    struct target_fields target;
    int64_t port;
};

enum {
    PORT = 8888,
    /* On the head: above the ports of Ray's workers and below those that the kernel assigns. */
    REMOTE_FIRST = 20000,
    REMOTE_COUNT = 12000,
    BEAT_MS = 15 * 1000,
    SILENCE_S = 5 * 60,
    START_MS = 2 * 60 * 1000,
    END_MS = 10 * 1000,
    SSH_FAILED = 255,
    LINE_BYTES_MAX = 4096
};

static const struct operand operands[] = {TARGET_OPERAND(struct notebook_fields)};

static const struct option options[] = {
    {"port", 'p', OPTION_NUMBER, offsetof(struct notebook_fields, port), "PORT", NULL,
     "The local port. The default is 8888, or the next one that is free."},
    TARGET_NAME_OPTION(struct notebook_fields),
    TARGET_PROFILE_OPTION(struct notebook_fields),
    TARGET_VERBOSE_OPTION(struct notebook_fields),
};

static const struct example examples[] = {
    {"shoal notebook cluster.yaml", "Then open the printed URL; Ctrl-C ends Jupyter."},
    {"shoal notebook -p 9999 cluster.yaml", "Use another local port."},
};

struct notebook {
    struct target *target;
    const struct config_docker *docker; /* Jupyter runs in this container; NULL: on the machine */
    struct child *child;
    struct loop_timer *beat, *late;
    uint16_t port, remote_port;
    bool is_ready, is_ending;
    int status;
    struct err err;
};

/* ---- messages ---- */

static struct str notebook_place(const struct notebook *notebook)
{
    return notebook->docker ? arena_printf(notebook->target->cli.arena, "in the container %.*s",
                                           STR_ARG(notebook->docker->container_name))
                            : STR("on the head");
}

static void notebook_say_missing(struct notebook *notebook)
{
    err_set(&notebook->err, ERR_NOT_FOUND,
            "there is no Jupyter %.*s. Add this line to setup_commands in the cluster file and run "
            "shoal up:\n  - pip install jupyterlab",
            STR_ARG(notebook_place(notebook)));
}

static void notebook_say_ready(struct notebook *notebook, struct str kind, struct str token)
{
    const struct cli *cli = &notebook->target->cli;
    bool is_lab = str_is(kind, "lab");
    notebook->is_ready = true;
    loop_timer_stop(notebook->late);
    fprintf(
        cli->err,
        "%s runs %.*s. Press Ctrl-C to stop it. It also stops %d minutes after the connection is "
        "lost.\n",
        is_lab ? "JupyterLab" : "Jupyter Notebook", STR_ARG(notebook_place(notebook)),
        SILENCE_S / 60);
    fprintf(cli->out, "http://localhost:%u/%s?token=%.*s\n", notebook->port,
            is_lab ? "lab" : "tree", STR_ARG(token));
    if (fflush(cli->out) != 0) {
        err_set(&notebook->err, ERR_IO, "cannot write the URL to standard output");
        cloud_session_stop(&notebook->target->session);
    }
}

/* ---- the connection ---- */

/* Other lines come from the start files of the user's shell. */
static void notebook_on_line(void *context, enum child_stream stream, struct str line)
{
    struct notebook *notebook = context;
    struct str rest = str_trim(line);
    (void)stream;
    if (!str_is(str_cut(&rest, ' '), "shoal-notebook")) {
        return;
    }
    struct str word = str_cut(&rest, ' ');
    if (str_is(word, "ready")) {
        struct str kind = str_cut(&rest, ' ');
        notebook_say_ready(notebook, kind, rest);
    } else if (str_is(word, "missing")) {
        notebook_say_missing(notebook);
    } else if (str_is(word, "taken")) {
        err_set(&notebook->err, ERR_UNAVAILABLE,
                "another program uses port %u on the head; run the command again, which tries "
                "another port",
                notebook->remote_port);
    } else if (str_is(word, "ended") && !notebook->is_ending) {
        err_set(&notebook->err, ERR_UNAVAILABLE, "Jupyter has ended %.*s, with status %.*s",
                STR_ARG(notebook_place(notebook)), STR_ARG(rest));
    }
}

static void notebook_explain(struct notebook *notebook, const struct child_result *result)
{
    if (notebook->err.kind == ERR_NONE && notebook->is_ready) {
        err_set(&notebook->err, ERR_UNAVAILABLE,
                "the connection to the head was lost; Jupyter ends there within %d minutes",
                SILENCE_S / 60);
    } else if (notebook->err.kind == ERR_NONE) {
        notebook->err = result->err;
    }
}

static void notebook_on_done(void *context, const struct child_result *result)
{
    struct notebook *notebook = context;
    notebook->child = NULL;
    notebook->status = result->exit_status;
    if (!notebook->is_ending && notebook->err.kind != ERR_NOT_FOUND) {
        fprintf(notebook->target->cli.err, "%.*s", STR_ARG(result->output[CHILD_STDERR]));
        notebook_explain(notebook, result);
    }
    cloud_session_stop(&notebook->target->session);
}

static void notebook_beat(void *context)
{
    struct notebook *notebook = context;
    if (notebook->child && !notebook->is_ending) {
        (void)!child_write(notebook->child, STR("\n")); /* a full pipe: the connection is lost */
        loop_timer_start(notebook->beat, BEAT_MS);
    }
}

static void notebook_on_late(void *context)
{
    struct notebook *notebook = context;
    if (!notebook->is_ending) {
        err_set(&notebook->err, ERR_TIMEOUT, "Jupyter did not start %.*s within %d s",
                STR_ARG(notebook_place(notebook)), START_MS / 1000);
    }
    cloud_session_stop(&notebook->target->session);
}

/* EOF ends Jupyter; the head answers when it has ended. A second Ctrl-C does not wait for that. */
static void notebook_end(struct notebook *notebook)
{
    notebook->is_ending = true;
    if (!notebook->child) {
        return;
    }
    child_end_input(notebook->child);
    loop_timer_start(notebook->late, END_MS);
    loop_run(notebook->target->session.loop);
    if (notebook->child) {
        child_forget(notebook->child);
        fprintf(notebook->target->cli.err,
                "The head has not confirmed that Jupyter has ended; it ends there within %d "
                "minutes.\n",
                SILENCE_S / 60);
    } else if (notebook->is_ready) {
        fprintf(notebook->target->cli.err, "Jupyter has ended.\n");
    }
}

static bool notebook_run(struct notebook *notebook, const char *const *argv)
{
    struct cloud_session *session = &notebook->target->session;
    struct err stopped;
    struct child_spec spec = {
        .argv = argv,
        .env_names = child_usual_env,
        .is_fed = true,
        .output = {{.bytes_max = LINE_BYTES_MAX, .line = notebook_on_line},
                   {.bytes_max = LINE_BYTES_MAX, .keeps_tail = true}},
        .done = notebook_on_done,
        .context = notebook,
    };
    notebook->beat = loop_timer_new(session->loop, notebook_beat, notebook);
    notebook->late = loop_timer_new(session->loop, notebook_on_late, notebook);
    notebook->child = child_start(session->children, &spec);
    loop_timer_start(notebook->beat, BEAT_MS);
    loop_timer_start(notebook->late, START_MS);
    bool has_ended = cloud_session_run(session, &stopped);
    notebook_end(notebook);
    loop_timer_free(notebook->beat);
    loop_timer_free(notebook->late);
    return !has_ended;
}

/* ---- the verb ---- */

static uint16_t notebook_remote_port(void)
{
    uint16_t number = 0;
    if (getentropy(&number, sizeof(number)) != 0) {
        number = 0;
    }
    return (uint16_t)(REMOTE_FIRST + number % REMOTE_COUNT);
}

static struct str notebook_command(const struct notebook *notebook)
{
    struct arena *arena = notebook->target->cli.arena;
    AUTO_BUF struct buf text;
    buf_init(&text, REMOTE_LINE_BYTES_MAX);
    buf_addf(&text, "port=%u limit=%d\n", notebook->remote_port, SILENCE_S);
    script_text_add(&text, "notebook.sh");
    struct remote_line line = {
        .command = buf_str(&text), .docker = notebook->docker, .is_attended = true};
    return remote_line_make(&line, arena);
}

static int notebook_work(struct target *target, const void *fields)
{
    const struct notebook_fields *given = fields;
    struct notebook notebook = {.target = target, .remote_port = notebook_remote_port()};
    struct launcher_head head;
    struct ssh_target place;
    struct err err;
    const char *const *argv;
    notebook.port = given->port ? (uint16_t)given->port : local_port_find(PORT);
    notebook.docker = remote_line_docker(target->config, NULL, STR("jupyter"));
    if (!local_port_check(notebook.port, &err) || !target_find(target, &head, &place, &err)) {
        return target_fail(target, &err);
    }
    target_warn_of_set_up(target, &head);
    place = target_way(&place, true);
    struct ssh_forward ports = {notebook.port, notebook.remote_port};
    struct ssh_session session = {
        .forwards = &ports, .forward_count = 1, .command = notebook_command(&notebook)};
    if (!ssh_argv(&place, &session, target->cli.arena, &argv, &err)) {
        return target_fail(target, &err);
    }
    target_show_argv(target, argv);
    fprintf(target->cli.err, "Starting Jupyter %.*s...\n", STR_ARG(notebook_place(&notebook)));
    if (notebook_run(&notebook, argv)) {
        return 0; /* Ctrl-C */
    }
    output_error(&target->cli, &notebook.err);
    return notebook.status == SSH_FAILED ? SSH_FAILED : err_exit_status(notebook.err.kind);
}

static int verb_notebook_run(const struct cli *cli, const void *fields)
{
    const struct notebook_fields *given = fields;
    struct err err;
    if (given->port < 0 || given->port > LOCAL_PORT_MAX) {
        err_set(&err, ERR_USAGE, "--port must be between 1 and %d", LOCAL_PORT_MAX);
        return output_error(cli, &err);
    }
    return target_work(cli, &given->target, notebook_work, given);
}

const struct verb verb_notebook = {
    .name = "notebook",
    .summary = "run Jupyter on the head and open it on this machine",
    .description =
        "Starts JupyterLab (or Jupyter Notebook, if the head has no JupyterLab) on the head, or in "
        "its container, forwards a local port to it over ssh and prints the URL. Jupyter listens "
        "on the loopback address of the head only, with a new random token. Its first directory "
        "is the home directory, or the working directory of the container.\n\n"
        "Ctrl-C ends Jupyter and its kernels on the head. If the connection breaks, or this "
        "machine sleeps, Jupyter ends on the head within 5 minutes; notebooks that were saved "
        "remain. Use shoal submit for work that must continue.\n\n"
        "The head needs Jupyter: add pip install jupyterlab to setup_commands.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 after Ctrl-C, 255 if ssh failed, 1 if there is no head or no Jupyter or "
                   "Jupyter has ended, 2 for a usage error.",
    .fields_size = sizeof(struct notebook_fields),
    .run = verb_notebook_run,
};

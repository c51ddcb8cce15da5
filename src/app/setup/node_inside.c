/*
 * node_inside.c: runs the script on standard input in the node's container.
 *
 * The shell is the one that Ray uses. Its start-up files may read standard input, so the script is
 * stored before it starts. Docker does not end a command in a container when its client is killed:
 * the shell writes its process id to a file, and the next one ends what is left. The home of a
 * container may be shared and outlive it, so file names contain the id.
 */
#include "app/setup/node_jobs.h"

#include "app/program.h"
#include "app/setup/container_host.h"
#include "app/setup/node_tools.h"
#include "app/setup/ray_find.h"
#include "base/shell_quote.h"

#include <stdio.h>

enum { VERSION_BYTES = 256 };

/* %.*s is the id of the container. */
#define STARTED_FILE "~/.shoal/started-%.*s"
#define PID_FILE "/tmp/shoal-step-%.*s.pid"

static const char once_text[] =
    "[ ! -e " STARTED_FILE " ] || { echo 'Ray was started in this container before'; exit 0; }\n";

/* Runs before Ray's shell, which is $1 and reads the script from descriptor 3. That shell ignores
 * SIGTERM. /tmp may be the machine's: a file of another user does not count. */
static const char before_text[] =
    "shoal_script=$(mktemp) && cat >$shoal_script && [ -s $shoal_script ] || {\n"
    "  echo 'error: cannot store the command in /tmp of the container' >&2; exit 1; }\n"
    "exec 3<$shoal_script </dev/null; rm -f $shoal_script\n"
    "shoal_pid=" PID_FILE "; shoal_old=; [ ! -O $shoal_pid ] || shoal_old=$(cat $shoal_pid)\n"
    "if [ \"$shoal_old\" ] && kill -- -$shoal_old 2>/dev/null; then\n"
    "  for i in 1 2 3 4 5 6 7 8 9 10; do\n"
    "    kill -0 -- -$shoal_old 2>/dev/null || break; sleep 0.2\n"
    "  done\n"
    "  kill -KILL -- -$shoal_old 2>/dev/null\n"
    "fi\n"
    "rm -f $shoal_pid; (set -C; umask 077; echo $$ >$shoal_pid); mkdir -p ~/.shoal\n"
    "exec /bin/bash --login -c -i \"$1\"";

static const char shell_text[] =
    "source ~/.bashrc; export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore && "
    "(eval \"$(cat <&3)\" 3<&-); shoal_end=$?; shoal_pid=" PID_FILE "; "
    "[ \"$(cat $shoal_pid 2>/dev/null)\" != $$ ] || rm -f $shoal_pid; ";

static const char last_text[] = "[ $shoal_end != 0 ] || touch " STARTED_FILE "; ";

enum { TEXT_BYTES_MAX = 8 * 1024 };

static struct str node_inside_line(const struct container_record *record,
                                   const struct node_inside_setup *setup, struct arena *arena)
{
    AUTO_BUF struct buf before;
    AUTO_BUF struct buf shell;
    AUTO_BUF struct buf line;
    buf_init(&before, TEXT_BYTES_MAX);
    buf_init(&shell, TEXT_BYTES_MAX);
    buf_init(&line, (size_t)TEXT_BYTES_MAX * 8);
    if (setup->is_once) {
        buf_addf(&before, once_text, STR_ARG(record->id));
    }
    buf_addf(&before, before_text, STR_ARG(record->id));
    buf_addf(&shell, shell_text, STR_ARG(record->id));
    if (setup->is_last) {
        buf_addf(&shell, last_text, STR_ARG(record->id));
    }
    buf_add_c(&shell, "exit $shoal_end");
    buf_addf(&line, "exec %s exec -i %.*s /bin/bash -c ", record->is_podman ? "podman" : "docker",
             STR_ARG(record->id));
    shell_quote(&line, buf_str(&before));
    buf_add_c(&line, " bash ");
    shell_quote(&line, buf_str(&shell));
    return arena_str(arena, buf_str(&line));
}

/* The head's service reads the version on the machine. */
static int node_inside_note(const struct container_host *host,
                            const struct container_record *record)
{
    AUTO_BUF struct buf version;
    struct err err;
    int status;
    buf_init(&version, VERSION_BYTES);
    struct str line = arena_printf(host->arena, "%s exec %.*s sh -c 'cat " RAY_FIND_NOTE "'",
                                   host->program, STR_ARG(record->id));
    if (!container_host_run(host, line, (struct str){0}, &version, &status) ||
        !ray_find_note(host->arena, str_trim(buf_str(&version)), &err)) {
        fprintf(stderr, "error: the version of Ray in the container cannot be read\n");
        return 1;
    }
    return 0;
}

int node_inside(const struct node_inside_setup *setup)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct container_record record;
    container_record_read(&record, &arena);
    if (record.id.len == 0) {
        fprintf(stderr,
                "error: this machine has no container; run `shoal up --restart-only FILE`\n");
        return 1;
    }
    struct container_host host = {.arena = &arena,
                                  .program = record.is_podman ? "podman" : "docker",
                                  .uses_group = record.uses_group};
    if (setup->notes_ray) {
        return node_inside_note(&host, &record);
    }
    program_become(container_host_argv(&host, node_inside_line(&record, setup, &arena)));
    fprintf(stderr, "error: %s cannot be started\n", host.program);
    return 127;
}

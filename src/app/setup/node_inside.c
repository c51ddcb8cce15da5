/*
 * node_inside.c: runs the script on standard input in the node's container.
 *
 * The shell is the one that Ray uses. Docker does not end a command in a container when its client
 * is killed: the shell writes its process id to a file, and the next one ends what is left.
 */
#include "app/setup/node_jobs.h"

#include "app/program.h"
#include "app/setup/container_host.h"
#include "app/setup/node_tools.h"
#include "app/setup/ray_find.h"
#include "base/shell_quote.h"

#include <stdio.h>

enum { VERSION_BYTES = 256 };

#define STARTED_FILE "~/.shoal/started"

static const char shell_text[] =
    "mkdir -p ~/.shoal; shoal_pid=~/.shoal/step.pid; "
    "[ ! -s $shoal_pid ] || kill -- -$(cat $shoal_pid) 2>/dev/null; echo $$ >$shoal_pid; "
    "source ~/.bashrc; export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore && (eval \"$(cat)\"); "
    "shoal_end=$?; rm -f ~/.shoal/step.pid; %sexit $shoal_end";

static struct str node_inside_line(const struct container_record *record,
                                   const struct node_inside_setup *setup, struct arena *arena)
{
    AUTO_BUF struct buf text;
    AUTO_BUF struct buf line;
    buf_init(&text, sizeof(shell_text) + 200);
    buf_init(&line, (sizeof(shell_text) + 200) * 6);
    if (setup->is_once) {
        buf_add_c(&text, "[ ! -e " STARTED_FILE
                         " ] || { echo 'Ray was started in this container before'; exit 0; }; ");
    }
    buf_addf(&text, shell_text,
             setup->is_last ? "[ $shoal_end != 0 ] || touch " STARTED_FILE "; " : "");
    buf_addf(&line, "exec %s exec -i %.*s /bin/bash --login -c -i ",
             record->is_podman ? "podman" : "docker", STR_ARG(record->id));
    shell_quote(&line, buf_str(&text));
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
        fprintf(stderr, "error: this machine has no container; run `shoal up` again\n");
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

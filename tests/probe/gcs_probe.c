/*
 * gcs_probe.c: SERVER [TOKEN] on the command line, a call per line on standard input: "alive",
 * "nodes", "drivers", "requesters", "entrypoint JOB". One line of words for each answer, so that a
 * test can compare it with what Ray says of itself.
 */
#include "ray/gcs.h"

#include <stdio.h>
#include <string.h>

static const char *const troubles[] = {
    [GCS_FINE] = "fine",           [GCS_AWAY] = "away",       [GCS_OTHER_CLUSTER] = "other-cluster",
    [GCS_TOKEN_REFUSED] = "token", [GCS_TOO_OLD] = "too-old", [GCS_REFUSED] = "refused",
};

static void say_alive(void *context, const struct gcs_answer *answer, struct str ray_version)
{
    printf("alive %s %.*s%s\n", troubles[answer->trouble], STR_ARG(ray_version), answer->err.text);
    loop_stop(context);
}

static void say_nodes(void *context, const struct gcs_answer *answer, const struct gcs_node *nodes,
                      size_t count)
{
    printf("nodes %s %zu%s\n", troubles[answer->trouble], count, answer->err.text);
    for (size_t i = 0; i < count; i++) {
        printf("node %.*s %.*s %.*s %s %s\n", STR_ARG(nodes[i].id), STR_ARG(nodes[i].address),
               STR_ARG(nodes[i].instance_id), nodes[i].is_alive ? "alive" : "dead",
               nodes[i].is_head ? "head" : "worker");
    }
    loop_stop(context);
}

static void say_drivers(void *context, const struct gcs_answer *answer, size_t count)
{
    printf("drivers %s %zu%s\n", troubles[answer->trouble], count, answer->err.text);
    loop_stop(context);
}

static void say_requesters(void *context, const struct gcs_answer *answer,
                           const struct gcs_requesters *found)
{
    printf("requesters %s %s,%zu,%s%s\n", troubles[answer->trouble],
           found->has_coordinator ? "coordinator" : "none", found->run_count, found->job,
           answer->err.text);
    loop_stop(context);
}

static void say_entrypoint(void *context, const struct gcs_answer *answer, struct str entrypoint)
{
    printf("entrypoint %s [%.*s]%s\n", troubles[answer->trouble], STR_ARG(entrypoint),
           answer->err.text);
    loop_stop(context);
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct loop *loop = NULL;
    struct http *http = NULL;
    char line[32];
    if (argc < 2 || !loop_open(&clock_of_machine, &loop, &err) ||
        !http_open(loop, &(struct http_limits){0}, &http, &err)) {
        fprintf(stderr, "gcs_probe SERVER [TOKEN]: %s\n", err.text);
        return 2;
    }
    struct gcs *gcs = gcs_open(&(struct gcs_setup){.http = http,
                                                   .server = argv[1],
                                                   .token = str_from(argc > 2 ? argv[2] : NULL),
                                                   .deadline_ms = 3000});
    while (fgets(line, sizeof(line), stdin)) {
        if (strcmp(line, "alive\n") == 0) {
            gcs_check_alive(gcs, say_alive, loop);
        } else if (strcmp(line, "drivers\n") == 0) {
            gcs_count_drivers(gcs, say_drivers, loop);
        } else if (strcmp(line, "requesters\n") == 0) {
            gcs_find_requesters(gcs, say_requesters, loop);
        } else if (strncmp(line, "entrypoint ", 11) == 0) {
            gcs_find_entrypoint(gcs, str_trim(str_from(line + 11)), say_entrypoint, loop);
        } else {
            gcs_list_nodes(gcs, say_nodes, loop);
        }
        loop_run(loop);
        fflush(stdout);
    }
    gcs_close(gcs);
    http_close(http);
    loop_close(loop);
    return 0;
}

/*
 * ray_view_probe.c: SERVER [TOKEN] on the command line; for each line on standard input one look at
 * that GCS through the mirror, in lines of words that end with "end":
 *
 *   told INSTANCE STATUS busy|idle LABELS...    only what is new; a machine is the last digit of
 *                                               its id, the head 1
 *   node INSTANCE busy|idle NAME=USED/TOTAL...
 *   waits SOURCE COUNT SHAPE [with LABELS]
 *   names COUNT
 */
#include "app/head/ray/ray_view.h"
#include "core/format.h"
#include "ray/gcs.h"

#include <stdio.h>

struct probe {
    struct loop *loop;
    struct names *names;
    struct ray_view *mirror;
};

static uint64_t instance_of(void *context, struct str id)
{
    (void)context;
    return str_is(id, "i-head") ? 1 : (uint64_t)(id.ptr[id.len - 1] - '0');
}

static bool is_hidden(void *context, uint64_t instance)
{
    (void)context;
    (void)instance;
    return false;
}

static void say_told(void *context, const struct ray_node *node)
{
    static const char *const statuses[] = {[RAY_ABSENT] = "absent",
                                           [RAY_ALIVE] = "alive",
                                           [RAY_DRAINING] = "draining",
                                           [RAY_DEAD] = "dead",
                                           [RAY_STATUS_COUNT] = "?"};
    const struct probe *probe = context;
    printf("told %llu %s %s", (unsigned long long)node->instance, statuses[node->status],
           node->idle_since == NOT_IDLE ? "busy" : "idle");
    for (size_t i = 0; i < node->labels.count; i++) {
        const struct label *label = &node->labels.items[i];
        printf(" %.*s=%.*s", STR_ARG(intern_text(probe->names, label->key)),
               STR_ARG(intern_text(probe->names, label->value)));
    }
    printf("\n");
}

static void on_load(void *context, const struct ray_load *load)
{
    const struct probe *probe = context;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < load->gang_count; i++) {
        struct str text = format_request(probe->names, &load->gangs[i].requests[0], &arena);
        printf("gang %zu %.*s\n", load->gangs[i].request_count, STR_ARG(text));
    }
    arena_clear(&arena);
}

static void say_shown(const struct probe *probe)
{
    static const char *const sources[] = {"tasks", "group", "constraint"};
    const struct node_usage *nodes;
    struct pending_demand *demands;
    struct arena arena;
    size_t count;
    arena_init(&arena);
    ray_view_nodes(probe->mirror, &arena, &nodes, &count);
    for (size_t i = 0; i < count; i++) {
        printf("node %llu %s", (unsigned long long)nodes[i].instance,
               nodes[i].idle_ms < 0 ? "busy" : "idle");
        for (size_t j = 0; j < nodes[i].use_count; j++) {
            const struct resource_usage *use = &nodes[i].uses[j];
            printf(" %.*s=%g/%g", STR_ARG(use->name), use->used, use->total);
        }
        printf("\n");
    }
    ray_view_demands(probe->mirror, &arena, &demands, &count);
    for (size_t i = 0; i < count; i++) {
        printf("waits %s %lld %.*s%s%.*s\n", sources[demands[i].source],
               (long long)demands[i].count, STR_ARG(demands[i].shape),
               demands[i].labels.len > 0 ? " with " : "", STR_ARG(demands[i].labels));
    }
    arena_clear(&arena);
}

static void on_state(void *context, const struct gcs_answer *answer, struct str bytes)
{
    const struct probe *probe = context;
    struct err err = answer->err;
    int64_t now = loop_now_ms(probe->loop);
    if (answer->trouble != GCS_FINE ||
        !ray_view_update(probe->mirror, bytes, now, clock_wall_ms(loop_clock(probe->loop)), &err)) {
        printf("failed %s\n", err.text);
    } else {
        say_shown(probe);
    }
    printf("names %zu\nend\n", probe->names->count);
    loop_stop(probe->loop);
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct arena arena;
    struct names names;
    struct http *http = NULL;
    struct probe probe = {.names = &names};
    struct ray_view_hooks hooks = {&probe, instance_of, is_hidden, say_told, on_load};
    char line[32];
    if (argc < 2 || !loop_open(&clock_of_machine, &probe.loop, &err) ||
        !http_open(probe.loop, &(struct http_limits){0}, &http, &err)) {
        fprintf(stderr, "ray_view_probe SERVER [TOKEN]: %s\n", err.text);
        return 2;
    }
    arena_init(&arena);
    intern_init(&names, &arena);
    probe.mirror = ray_view_open(&names, &hooks);
    struct gcs *gcs = gcs_open(&(struct gcs_setup){.http = http,
                                                   .server = argv[1],
                                                   .token = str_from(argc > 2 ? argv[2] : NULL),
                                                   .deadline_ms = 3000});
    while (fgets(line, sizeof(line), stdin)) {
        gcs_read_state(gcs, on_state, &probe);
        loop_run(probe.loop);
        fflush(stdout);
    }
    gcs_close(gcs);
    http_close(http);
    ray_view_close(probe.mirror);
    loop_close(probe.loop);
    arena_clear(&arena);
    return 0;
}

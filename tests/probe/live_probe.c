/*
 * live_probe.c: a cluster comes up on standard error, a step whenever a line comes on standard
 * input, with the real loop and the real terminal; for tests that play the terminal.
 *
 *     live_probe [WORKERS]
 */
#include "base/str.h"
#include "cli/progress/progress.h"
#include "provider/price.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POLL_MS = 5, WORKERS_MAX = 2000 };

struct play {
    struct loop *loop;
    struct loop_timer *timer;
    struct progress *progress;
    size_t workers, act;
};

static void tell(const struct play *play, size_t number, enum node_phase phase, size_t step)
{
    int64_t now = clock_wall_ms(&clock_of_machine);
    struct arena arena;
    arena_init(&arena);
    struct node_view view = {
        .name = number == 0 ? STR("head") : arena_printf(&arena, "worker-%zu", number),
        .id = arena_printf(&arena, "i-%05zu", number),
        .machine = STR("m5.large"),
        .public_ip = number == 0 ? STR("198.51.100.7") : STR(""),
        .is_head = number == 0,
        .is_spot = number > 0,
        .phase = phase,
        .requested_ms = now,
        .since_ms = now,
        .price = 100000,
        .step = step,
        .steps = 5,
        .detail = STR("pip install a-package-with-a-name-that-is-too-long-for-narrow-screens"),
    };
    progress_node(play->progress, &view);
    arena_clear(&arena);
}

static void act(struct play *play)
{
    static const enum node_phase phases[] = {PHASE_BOOTING, PHASE_SETTING_UP, PHASE_READY};
    struct ctl_status status = {
        .ray_version = STR("2.60.0"), .wanted = play->workers + 1, .joined = 1};
    enum node_phase phase = phases[play->act < 3 ? play->act : 2];
    for (size_t i = 0; i <= play->workers; i++) {
        tell(play, i, i == 0 && play->act > 0 ? PHASE_READY : phase, play->act + 1);
    }
    if (play->act >= 2) {
        status.joined = play->workers + 1;
    }
    if (play->act > 0) {
        progress_status(play->progress, &status);
    }
    play->act++;
}

static void look(void *context)
{
    struct play *play = context;
    char bytes[64];
    ssize_t count = read(STDIN_FILENO, bytes, sizeof(bytes));
    for (ssize_t i = 0; i < count; i++) {
        if (bytes[i] == '\n') {
            act(play);
        }
    }
    if (count == 0 || play->act > 3) {
        loop_stop(play->loop);
        return;
    }
    loop_timer_start(play->timer, POLL_MS);
}

int main(int argc, char **argv)
{
    struct play play = {.workers = 2};
    struct err err;
    uint32_t workers;
    if (argc > 1 && str_to_u32(str_from(argv[1]), &workers) && workers <= WORKERS_MAX) {
        play.workers = workers;
    }
    if (!loop_open(&clock_of_machine, &play.loop, &err)) {
        return 1;
    }
    fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    struct progress_setup setup = {.out = stderr,
                                   .is_live = progress_can_redraw(stderr),
                                   .cluster = STR("demo"),
                                   .where = STR("aws us-west-2"),
                                   .clock = &clock_of_machine,
                                   .loop = play.loop};
    play.progress = progress_new(&setup);
    play.timer = loop_timer_new(play.loop, look, &play);
    loop_timer_start(play.timer, 0);
    loop_run(play.loop);
    progress_end(play.progress);
    fprintf(stderr, "below the picture\n");
    progress_free(play.progress);
    loop_close(play.loop);
    return 0;
}

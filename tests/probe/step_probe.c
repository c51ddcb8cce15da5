/*
 * step_probe.c: FOLDER on the command line, a bundle on standard input. Starts it, or finds it, and
 * copies its events to standard output. Ends with 0 when all steps were done, 1 when one failed, 3
 * when the runner is busy with another bundle.
 */
#include "io/file.h"
#include "remote/step_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct follower {
    struct loop *loop;
    bool is_ok;
};

static void copy_line(void *context, struct str line)
{
    (void)context;
    fwrite(line.ptr, 1, line.len, stdout);
    fflush(stdout);
}

static void finish(void *context, bool is_ok, const struct err *err)
{
    struct follower *follower = context;
    follower->is_ok = is_ok;
    if (err) {
        fprintf(stderr, "%s\n", err->text);
    }
    loop_stop(follower->loop);
}

static bool follow_to_end(const char *folder, struct err *err)
{
    struct follower follower = {0};
    struct step_follow *follow = NULL;
    if (!loop_open(&clock_of_machine, &follower.loop, err)) {
        return false;
    }
    if (step_follow_start(follower.loop, folder, copy_line, finish, &follower, &follow, err)) {
        loop_run(follower.loop);
    }
    step_follow_end(follow);
    loop_close(follower.loop);
    return follower.is_ok;
}

int main(int argc, char **argv)
{
    AUTO_BUF struct buf bundle;
    char key[STEP_KEY_SIZE];
    struct err err = {0};
    buf_init(&bundle, BUNDLE_BYTES_MAX);
    if (argc != 2 || !file_read("-", &bundle, &err) ||
        !step_run_start(argv[1], buf_str(&bundle), str_from(getenv("RUN")), key, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return err.kind == ERR_EXISTS ? 3 : 2;
    }
    bool is_ok = follow_to_end(argv[1], &err);
    if (err.kind != ERR_NONE) {
        fprintf(stderr, "%s\n", err.text);
    }
    return is_ok ? 0 : 1;
}

/* verb_ctl.c: the head's end of the control channel; started over ssh by other verbs. */
#include "app/head/channel/ctl.h"
#include "cli/output.h"
#include "cli/verb.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { WAIT_MS = 10 * 1000 };

struct ctl_fields {
    const char *folder;
    bool waits;
    const char *ask;
};

static const struct option options[] = {
    {"folder", 0, OPTION_TEXT, offsetof(struct ctl_fields, folder), "FOLDER", NULL,
     "The service's folder. The default is ~/.shoal/cluster."},
    {"wait", 0, OPTION_FLAG, offsetof(struct ctl_fields, waits), NULL, NULL,
     "Give a service that was just started ten seconds to listen."},
    {"ask", 0, OPTION_TEXT, offsetof(struct ctl_fields, ask), "WHAT", NULL,
     "Ask for this, such as end, instead of what standard input says, and wait for the answer."},
};

/* Standard input becomes one request. */
static bool put_request(const char *what, struct err *err)
{
    int ends[2];
    AUTO_BUF struct buf text;
    buf_init(&text, CTL_LINE_BYTES_MAX);
    ctl_request_write(&(struct ctl_request){.what = str_from(what)}, &text);
    /* A pipe has room for far more than one line. */
    if (pipe(ends) != 0 || write(ends[1], text.ptr, text.len) != (ssize_t)text.len ||
        dup2(ends[0], STDIN_FILENO) < 0) {
        return err_set(err, ERR_IO, "the request cannot be made: %s", strerror(errno));
    }
    close(ends[0]);
    close(ends[1]);
    return true;
}

static int run(const struct cli *cli, const void *fields)
{
    const struct ctl_fields *given = fields;
    struct err err;
    if (given->ask && !put_request(given->ask, &err)) {
        return output_error(cli, &err);
    }
    return ctl_relay(given->folder, given->waits ? WAIT_MS : 0);
}

const struct verb verb_ctl = {
    .name = "ctl",
    .summary = "speak with the service of this head",
    .description = "Connects standard input and output with the service that runs the cluster from "
                   "its head. One request a line, as JSON; other verbs of shoal use it over ssh.",
    .options = options,
    .option_count = ARRAY_LEN(options),
    .exit_status = "0 when there was a service, 1 when there was none.",
    .fields_size = sizeof(struct ctl_fields),
    .run = run,
};

/* verb_ctl.c: the head's side of the control channel; started over ssh by other verbs. */
#include "app/head/ctl/ctl.h"
#include "app/head/ctl_relay.h"
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
     "The state directory of the service. The default is ~/.shoal/cluster."},
    {"wait", 0, OPTION_FLAG, offsetof(struct ctl_fields, waits), NULL, NULL,
     "Wait up to ten seconds for a service that has just started."},
    {"ask", 0, OPTION_TEXT, offsetof(struct ctl_fields, ask), "WHAT", NULL,
     "Send this request, such as terminate, instead of reading standard input, and wait for the "
     "answer."},
};

/* Replaces standard input with one request. */
static bool verb_ctl_put_request(const char *what, struct err *err)
{
    int ends[2];
    AUTO_BUF struct buf text;
    buf_init(&text, CTL_LINE_BYTES_MAX);
    ctl_request_write(&(struct ctl_request){.what = str_from(what)}, &text);
    /* A pipe buffer holds far more than one line. */
    if (pipe(ends) != 0 || write(ends[1], text.ptr, text.len) != (ssize_t)text.len ||
        dup2(ends[0], STDIN_FILENO) < 0) {
        return err_set(err, ERR_IO, "cannot build the request: %s", strerror(errno));
    }
    close(ends[0]);
    close(ends[1]);
    return true;
}

static int verb_ctl_run(const struct cli *cli, const void *fields)
{
    const struct ctl_fields *given = fields;
    struct err err;
    if (given->ask && !verb_ctl_put_request(given->ask, &err)) {
        return output_error(cli, &err);
    }
    return ctl_relay(given->folder, given->waits ? WAIT_MS : 0);
}

const struct verb verb_ctl = {
    .name = "ctl",
    .summary = "talk to the service on this head",
    .description = "Connects standard input and output to the service on the head. Requests are "
                   "JSON, one per line. Other shoal commands run this command over ssh.",
    VERB_ROWS(option),
    .exit_status = "0 if the service could be reached, 1 if not.",
    .fields_size = sizeof(struct ctl_fields),
    .run = verb_ctl_run,
};

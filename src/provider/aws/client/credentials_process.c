/* credentials_process.c: credentials printed by the user's credential_process. */
#include "provider/aws/client/credentials_internal.h"

#include <string.h>

enum { PROGRAM_MS = 60 * 1000, NOISE_BYTES_MAX = 8 * 1024 };

/* The last non-blank line, which usually explains a failure. */
static struct str last_line(struct str text)
{
    text = str_trim(text);
    for (size_t i = text.len; i-- > 0;) {
        if (text.ptr[i] == '\n') {
            return str_trim(str_sub(text, i + 1, text.len));
        }
    }
    return text;
}

static void on_child(void *context, const struct child_result *result)
{
    struct credentials_fetch *fetch = context;
    struct aws_credentials keys;
    struct err err = {0};
    fetch->child = NULL;
    if (!child_was_fine(result)) {
        struct str line = last_line(result->output[CHILD_STDERR]);
        fetch_fail(fetch, ERR_AUTH, "%s%s%.*s", result->err.text, line.len > 0 ? ": " : "",
                   STR_ARG(str_sub(line, 0, 300)));
        return;
    }
    if (result->is_cut[CHILD_STDOUT]) {
        fetch_fail(fetch, ERR_AUTH, "the program's output is too large");
    } else if (!credential_from_process(result->output[CHILD_STDOUT], &fetch->arena, &keys, &err)) {
        fetch_fail(fetch, ERR_AUTH, "invalid output of the program: %s", err.text);
    } else {
        fetch_take_keys(fetch, &keys);
    }
}

void fetch_from_process(struct credentials_fetch *fetch)
{
    const struct aws_source *source = fetch->source;
    const char **argv = ARENA_ARRAY(&fetch->arena, source->process.argc + 1, const char *);
    for (size_t i = 0; i < source->process.argc; i++) {
        argv[i] = source->process.argv[i].ptr;
    }
    struct child_spec spec = {
        .argv = argv,
        .env_extra = fetch->client->setup.environ, /* the user's program, so all of it */
        .output = {[CHILD_STDOUT] = {.bytes_max = CREDENTIAL_BYTES_MAX},
                   [CHILD_STDERR] = {.bytes_max = NOISE_BYTES_MAX, .keeps_tail = true}},
        .deadline_ms = PROGRAM_MS,
        .done = on_child,
        .context = fetch,
    };
    fetch->child = child_start(fetch->client->setup.children, &spec);
}

/* output.c: writing results. */
#include "cli/output.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool output_wants_colour(FILE *stream, const char *when)
{
    if (when && strcmp(when, "auto") != 0) {
        return strcmp(when, "always") == 0;
    }
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    if ((no_colour && *no_colour) || getenv("CI") || !terminal || strcmp(terminal, "dumb") == 0) {
        return false;
    }
    return isatty(fileno(stream)) == 1;
}

struct diag_style output_style(bool colour)
{
    if (!colour) {
        return (struct diag_style){"", "", "", ""};
    }
    return (struct diag_style){"\033[1;31m", "\033[1;33m", "\033[2m", "\033[0m"};
}

int output_error(const struct cli *cli, const struct err *err)
{
    AUTO_BUF struct buf text;
    struct diag_style style = output_style(cli->colour_err);
    buf_init(&text, sizeof(err->text) * 4);
    utf8_add_visible(&text, str_from(err->text), true);
    fprintf(cli->err, "shoal: %serror:%s %.*s\n", style.error, style.reset,
            STR_ARG(buf_str(&text)));
    return err_exit_status(err->kind);
}

int output_write(const struct cli *cli, FILE *stream, const struct buf *text)
{
    struct err err;
    if (text->is_full) {
        err_set(&err, ERR_INTERNAL, "the output is larger than %d bytes", OUTPUT_BYTES_MAX);
        return output_error(cli, &err);
    }
    size_t written = text->len ? fwrite(text->ptr, 1, text->len, stream) : 0;
    if (written == text->len && fflush(stream) == 0) {
        return 0;
    }
    if (errno == EPIPE) {
        return 1; /* the reader has seen enough */
    }
    err_set(&err, ERR_IO, "cannot write: %s", strerror(errno));
    return output_error(cli, &err);
}

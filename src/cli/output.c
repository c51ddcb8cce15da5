/* output.c: writes results. */
#include "cli/output.h"

#include "base/utf8.h"
#include "cli/columns.h"

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

/* Columns of the terminal behind a stream; 0 if it is not a terminal. */
static size_t output_width(FILE *stream)
{
    int fd = fileno(stream);
    return isatty(fd) == 1 ? columns_of_screen(fd).columns : 0;
}

void output_print(FILE *stream, struct str text)
{
    AUTO_BUF struct buf folded;
    buf_init(&folded, OUTPUT_BYTES_MAX);
    columns_fold(&folded, text, output_width(stream));
    fwrite(folded.ptr ? folded.ptr : "", 1, folded.len, stream);
}

int output_error(const struct cli *cli, const struct err *err)
{
    AUTO_BUF struct buf text;
    struct diag_style style = output_style(cli->colour_err);
    buf_init(&text, sizeof(err->text) * 4 + 100);
    buf_addf(&text, "shoal: %serror:%s ", style.error, style.reset);
    utf8_add_visible(&text, str_from(err->text), true);
    buf_add_char(&text, '\n');
    output_print(cli->err, buf_str(&text));
    if (cli->end) {
        cli->end->err = *err;
    }
    return err_exit_status(err->kind);
}

int output_write(const struct cli *cli, FILE *stream, const struct buf *text)
{
    struct err err;
    if (cli->end && stream == cli->out) {
        cli->end->has_output = true;
    }
    if (text->is_full) {
        err_set(&err, ERR_INTERNAL, "the output is larger than %d bytes", OUTPUT_BYTES_MAX);
        return output_error(cli, &err);
    }
    size_t written = text->len ? fwrite(text->ptr, 1, text->len, stream) : 0;
    if (written == text->len && fflush(stream) == 0) {
        return 0;
    }
    if (errno == EPIPE) {
        return 1; /* the reader has closed the pipe */
    }
    err_set(&err, ERR_IO, "cannot write: %s", strerror(errno));
    return output_error(cli, &err);
}

int output_write_text(const struct cli *cli, FILE *stream, const struct buf *text)
{
    AUTO_BUF struct buf folded;
    buf_init(&folded, OUTPUT_BYTES_MAX);
    columns_fold(&folded, buf_str(text), output_width(stream));
    return output_write(cli, stream, text->is_full ? text : &folded);
}

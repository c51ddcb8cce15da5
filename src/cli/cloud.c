/* cloud.c: prints notes, warnings and the credential search to standard error. */
#include "cli/cloud.h"

#include "base/utf8.h"
#include "cli/output.h"

#include <string.h>

enum { NOTE_BYTES_MAX = 64 * 1024 };

void cloud_print_lines(const struct cli *cli, const char *level, struct str text)
{
    struct diag_style style = output_style(cli->colour_err);
    const char *colour = strcmp(level, "warning") == 0 ? style.warning : "";
    while (text.len > 0) {
        AUTO_BUF struct buf line;
        buf_init(&line, NOTE_BYTES_MAX);
        buf_addf(&line, "shoal: %s%s:%s ", colour, level, *colour ? style.reset : "");
        utf8_add_visible(&line, str_cut(&text, '\n'), false);
        buf_add_char(&line, '\n');
        output_print(cli->err, buf_str(&line));
    }
}

void cloud_announce(const struct cli *cli, const struct cloud_session *session)
{
    AUTO_BUF struct buf text;
    buf_init(&text, NOTE_BYTES_MAX);
    cloud_session_overrides(cloud_session_aws(session).environ, session->redact, &text);
    cloud_print_lines(cli, "note", buf_str(&text));
}

void cloud_print_sources(const struct cli *cli, struct str report)
{
    enum { NAME_WIDTH = 20 };
    fputc('\n', cli->err);
    while (report.len > 0) {
        AUTO_BUF struct buf line;
        struct str says = str_cut(&report, '\n');
        struct str name = str_trim(str_cut(&says, ':'));
        buf_init(&line, NOTE_BYTES_MAX);
        utf8_add_visible(&line, str_trim(says), false);
        fprintf(cli->err, "  %-*.*s%.*s\n", NAME_WIDTH, STR_ARG(name), STR_ARG(buf_str(&line)));
    }
    fputs("\n-> select a profile (--profile NAME or AWS_PROFILE), or create one: aws configure\n",
          cli->err);
}

/* confirm.c: asks for confirmation. */
#include "cli/confirm.h"

#include "base/buf.h"
#include "base/str.h"
#include "cli/output.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { ANSWER_BYTES = 64, QUESTION_BYTES_MAX = 1 << 20 };

static bool confirm_is_one_of(const char *answer, const char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        if (strcasecmp(answer, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool confirm(const struct cli *cli, const char *question, bool is_yes, struct err *err)
{
    static const char *const yes[] = {"y", "yes", "true", "1", NULL};
    static const char *const no[] = {"", "n", "no", "false", "0", NULL};
    char answer[ANSWER_BYTES];
    AUTO_BUF struct buf prompt;
    buf_init(&prompt, QUESTION_BYTES_MAX);
    buf_addf(&prompt, "%s Confirm [y/N]: ", question);
    if (is_yes) {
        return true;
    }
    if (isatty(STDIN_FILENO) != 1) {
        return err_set(err, ERR_CANCELLED,
                       "confirmation needed, but there is no terminal to ask on; add --yes");
    }
    for (;;) {
        output_print(cli->err, buf_str(&prompt));
        fflush(cli->err);
        if (!fgets(answer, sizeof(answer), stdin)) {
            fputc('\n', cli->err);
            return err_set(err, ERR_CANCELLED, "not confirmed; nothing was changed");
        }
        answer[strcspn(answer, "\r\n")] = '\0';
        if (confirm_is_one_of(answer, yes)) {
            return true;
        }
        if (confirm_is_one_of(answer, no)) {
            return err_set(err, ERR_CANCELLED, "not confirmed; nothing was changed");
        }
        fputs("Please answer y or n.\n", cli->err);
    }
}

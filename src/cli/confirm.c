/* confirm.c: a question and its answer. */
#include "cli/confirm.h"

#include "base/str.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { ANSWER_BYTES = 64 };

static bool is_one_of(const char *answer, const char *const *words)
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
    if (is_yes) {
        return true;
    }
    if (isatty(STDIN_FILENO) != 1) {
        return err_set(err, ERR_CANCELLED,
                       "this needs a confirmation, and there is no terminal to ask: add --yes");
    }
    for (;;) {
        fprintf(cli->err, "%s Confirm [y/N]: ", question);
        fflush(cli->err);
        if (!fgets(answer, sizeof(answer), stdin)) {
            fputc('\n', cli->err);
            return err_set(err, ERR_CANCELLED, "not confirmed; nothing was changed");
        }
        answer[strcspn(answer, "\r\n")] = '\0';
        if (is_one_of(answer, yes)) {
            return true;
        }
        if (is_one_of(answer, no)) {
            return err_set(err, ERR_CANCELLED, "not confirmed; nothing was changed");
        }
        fputs("Please answer y or n.\n", cli->err);
    }
}

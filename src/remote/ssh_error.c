/* ssh_error.c: a table of OpenSSH's error messages. */
#include "remote/ssh_error.h"

#include "base/attr.h"

static const struct {
    const char *words;
    enum ssh_error trouble;
} table[] = {
    {"connect to host ", SSH_UNREACHABLE},
    {"Could not resolve hostname", SSH_UNREACHABLE},
    {"Permission denied (", SSH_DENIED},
    {"Too many authentication failures", SSH_DENIED},
    {"Host key verification failed", SSH_HOST_KEY},
    {"REMOTE HOST IDENTIFICATION HAS CHANGED", SSH_HOST_KEY},
    {"Bad configuration option", SSH_MISUSED},
    {"bad configuration options", SSH_MISUSED},
    {"Bad owner or permissions on", SSH_MISUSED},
    {"UNPROTECTED PRIVATE KEY FILE", SSH_MISUSED},
    {"Cannot execute command-line and remote command", SSH_MISUSED},
    {"command-line line 0: ", SSH_MISUSED}, /* an invalid option value */
    {"percent_expand: ", SSH_MISUSED},
    {"percent_dollar_expand: ", SSH_MISUSED},
    {"unix_listener: path", SSH_MISUSED}, /* the ControlPath is too long */
};

enum ssh_error ssh_error_of(struct str line)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (str_find(line, table[i].words) != SIZE_MAX) {
            return table[i].trouble;
        }
    }
    return SSH_OTHER;
}

bool ssh_is_chatter(struct str line)
{
    static const char *const beginnings[] = {
        "@@@@", "** ", "Warning: ", "debug1: ", "Killed by signal", "Shared connection to",
    };
    for (size_t i = 0; i < ARRAY_LEN(beginnings); i++) {
        if (str_starts(line, beginnings[i])) {
            return true;
        }
    }
    return str_trim(line).len == 0;
}

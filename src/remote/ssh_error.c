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

static bool ssh_starts_with(struct str line, const char *const *beginnings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_starts(line, beginnings[i])) {
            return true;
        }
    }
    return false;
}

/* Of level VERBOSE: after the login, and at the end of a session. */
static bool ssh_is_of_session(struct str line)
{
    static const char *const beginnings[] = {"Authenticated to ",
                                             "Transferred: ", "Bytes per second: "};
    return ssh_starts_with(line, beginnings, ARRAY_LEN(beginnings));
}

bool ssh_is_chatter(struct str line)
{
    static const char *const beginnings[] = {
        "@@@@",
        "** ",
        "Warning: ",
        "debug1: ",
        "Killed by signal",
        "Shared connection to",
        /* gcloud compute start-iap-tunnel, without NumPy */
        "To increase the performance of the tunnel",
        "please see https://cloud.google.com/iap/",
    };
    return ssh_starts_with(line, beginnings, ARRAY_LEN(beginnings)) || ssh_is_of_session(line) ||
           str_is(str_trim(line), "WARNING:") || str_trim(line).len == 0;
}

bool ssh_is_proxys_end(struct str line)
{
    return str_find(line, "UNKNOWN port 65535") != SIZE_MAX ||
           str_starts(line, "kex_exchange_identification: Connection closed");
}

bool ssh_has_logged_in(struct str log)
{
    while (log.len > 0) {
        if (ssh_is_of_session(str_trim(str_cut(&log, '\n')))) {
            return true;
        }
    }
    return false;
}

bool ssh_has_connected(struct str log)
{
    bool is_explained = false;
    for (struct str rest = log; rest.len > 0;) {
        is_explained = !ssh_is_chatter(str_trim(str_cut(&rest, '\n'))) || is_explained;
    }
    return !is_explained || ssh_has_logged_in(log);
}

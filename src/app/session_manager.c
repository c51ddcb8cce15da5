/* session_manager.c: the proxy command, and the programs that it needs. */
#include "app/session_manager.h"

#include "base/buf.h"
#include "base/shell_quote.h"

#include <stdio.h>
#include <unistd.h>

static const char *const programs[SESSION_MANAGER_PROGRAMS] = {"aws", "session-manager-plugin"};

/* ssh expands "%x", so a "%" is doubled. */
static void session_manager_add_option(struct buf *out, const char *name, struct str value)
{
    AUTO_BUF struct buf quoted;
    buf_init(&quoted, 4096);
    if (value.len == 0) {
        return;
    }
    shell_quote(&quoted, value);
    buf_addf(out, " %s ", name);
    for (size_t i = 0; i < quoted.len; i++) {
        buf_add(out, quoted.ptr[i] == '%' ? STR("%%") : str_sub(buf_str(&quoted), i, i + 1));
    }
}

struct str session_manager_proxy(const struct config *config, struct str profile,
                                 struct arena *arena)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 8192);
    buf_add_c(&out, "aws ssm start-session --target %h --document-name AWS-StartSSHSession "
                    "--parameters portNumber=%p");
    session_manager_add_option(&out, "--region",
                               value_text(value_get_c(config->provider, "region")));
    session_manager_add_option(&out, "--profile", profile);
    return arena_str(arena, buf_str(&out));
}

static bool session_manager_has(const char *path, const char *program)
{
    struct str rest = str_from(path ? path : "");
    while (rest.len > 0) {
        char file[4096];
        struct str folder = str_cut(&rest, ':');
        snprintf(file, sizeof(file), "%.*s/%s", STR_ARG(folder.len > 0 ? folder : STR(".")),
                 program);
        if (access(file, X_OK) == 0) {
            return true;
        }
    }
    return false;
}

void session_manager_missing(const char *path,
                             const char *ret_missing[SESSION_MANAGER_PROGRAMS + 1])
{
    size_t count = 0;
    for (size_t i = 0; i < SESSION_MANAGER_PROGRAMS; i++) {
        if (!session_manager_has(path, programs[i])) {
            ret_missing[count++] = programs[i];
        }
    }
    ret_missing[count] = NULL;
}

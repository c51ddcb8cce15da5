/* check_files.c: paths on this machine that the cluster will need. Ray notices a missing one after
 * the head is paid for. */
#include "config/check/check.h"

static void check_mount(const struct check *check, const struct value_entry *mount,
                        bool uses_docker)
{
    if (mount->value->kind != VALUE_STRING) {
        return;
    }
    struct str path = check->host->expand(check->host, check->arena, mount->value->text);
    struct host_file file = check->host->look(check->host, path);
    if (file.kind == HOST_MISSING) {
        struct diag *diag = diag_error(check->diags, "missing-file", mount->value->place,
                                       "file_mounts: there is no \"%.*s\" on this machine",
                                       STR_ARG(mount->value->text));
        if (!str_starts(path, "/")) {
            diag_hint(check->diags, diag, "the path is taken from the folder you are in");
        }
    } else if (file.kind == HOST_FILE && uses_docker) {
        struct diag *diag = diag_warn(check->diags, "file-in-docker", mount->value->place,
                                      "a single file mounted into a container does not see later "
                                      "changes");
        diag_hint(check->diags, diag, "mount its folder instead");
    }
}

static void check_mounts(const struct check *check)
{
    const struct value *mounts = value_get_c(check->tree, "file_mounts");
    bool uses_docker = value_is_true(value_path(check->tree, "docker.container_name"));
    for (size_t i = 0; value_is(mounts, VALUE_MAP) && i < mounts->map.count; i++) {
        check_mount(check, &mounts->map.entries[i], uses_docker);
    }
}

static void check_key(const struct check *check, const char *name, bool is_private)
{
    const struct value *value = value_get_c(value_get_c(check->tree, "auth"), name);
    if (!value_is(value, VALUE_STRING) || !check_is_written(value)) {
        return;
    }
    struct str path = check->host->expand(check->host, check->arena, value->text);
    struct host_file file = check->host->look(check->host, path);
    if (file.kind == HOST_MISSING) {
        diag_error(check->diags, "missing-file", value->place,
                   "auth.%s: there is no \"%.*s\" on this machine", name, STR_ARG(value->text));
    } else if (file.kind != HOST_FILE) {
        diag_error(check->diags, "missing-file", value->place, "auth.%s: \"%.*s\" is not a file",
                   name, STR_ARG(value->text));
    } else if (is_private && (file.mode & 077)) {
        struct diag *diag = diag_error(check->diags, "open-key", value->place,
                                       "others can read this private key (mode %03o); ssh will "
                                       "refuse it",
                                       file.mode & 0777);
        diag_hint(check->diags, diag, "chmod 600 %.*s", STR_ARG(value->text));
    }
}

void check_files(const struct check *check)
{
    check_mounts(check);
    check_key(check, "ssh_private_key", true);
    check_key(check, "ssh_public_key", false);
}

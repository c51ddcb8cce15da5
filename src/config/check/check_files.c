/* check_files.c: local paths that the cluster needs. Ray notices a missing one only after the head
 * was launched. */
#include "config/check/check.h"

static void check_files_report_missing(const struct check *check, const struct value *mount,
                                       struct str path)
{
    struct diag *diag = diag_error(check->diags, "missing-file", mount->place,
                                   "file_mounts: \"%.*s\" does not exist on this machine",
                                   STR_ARG(mount->text));
    if (str_find(mount->text, "://") != SIZE_MAX) {
        diag_hint(check->diags, diag, "a URL cannot be mounted; download it in setup_commands");
    } else if (!str_starts(path, "/")) {
        diag_hint(check->diags, diag, "the path is relative to the current directory");
    }
}

static void check_mount(const struct check *check, const struct value *mount, bool uses_docker)
{
    if (mount->kind != VALUE_STRING) {
        return;
    }
    struct str path = check->host->expand(check->host, check->arena, mount->text);
    struct host_file file = check->host->look(check->host, path);
    if (file.kind == HOST_MISSING) {
        check_files_report_missing(check, mount, path);
    } else if (file.kind == HOST_OTHER) {
        diag_error(check->diags, "missing-file", mount->place,
                   "file_mounts: \"%.*s\" is neither a file nor a directory", STR_ARG(mount->text));
    } else if (!file.is_readable) {
        diag_error(check->diags, "unreadable-file", mount->place,
                   "file_mounts: no permission to read \"%.*s\"", STR_ARG(mount->text));
    } else if (file.kind == HOST_FILE && uses_docker) {
        struct diag *diag = diag_warn(check->diags, "file-in-docker", mount->place,
                                      "if this file changes later, the container does not see "
                                      "it, because it is mounted as a single file");
        diag_hint(check->diags, diag, "mount its directory instead");
    }
}

static void check_mounts(const struct check *check)
{
    const struct value *mounts = value_get_c(check->tree, "file_mounts");
    bool uses_docker = value_is_true(value_path(check->tree, "docker.container_name"));
    for (size_t i = 0; value_is(mounts, VALUE_MAP) && i < mounts->map.count; i++) {
        check_mount(check, mounts->map.entries[i].value, uses_docker);
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
                   "auth.%s: \"%.*s\" does not exist on this machine", name, STR_ARG(value->text));
    } else if (file.kind != HOST_FILE) {
        diag_error(check->diags, "missing-file", value->place, "auth.%s: \"%.*s\" is not a file",
                   name, STR_ARG(value->text));
    } else if (!file.is_readable) {
        diag_error(check->diags, "unreadable-file", value->place,
                   "auth.%s: no permission to read \"%.*s\"", name, STR_ARG(value->text));
    } else if (is_private && (file.mode & 077)) {
        struct diag *diag = diag_error(check->diags, "open-key", value->place,
                                       "other users can access this private key (mode %03o); ssh "
                                       "will reject it",
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

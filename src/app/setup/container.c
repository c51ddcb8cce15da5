/* container.c: builds the commands of Ray's DockerCommandRunner. */
#include "app/setup/container.h"

#include "base/shell_quote.h"
#include "io/json_line.h"
#include "provider/local/host_script.h"

#include <string.h>

enum { LINE_BYTES_MAX = 1 << 20 };

#define MOUNTS_FOLDER "~/.shoal/mounts"
#define MOUNTS_FOLDER_OF_RAY "/tmp/ray_tmp_mount/"

/* Ray's default: 30 % of the memory, at most 200 GB. The container gets a tenth more. */
static const double SHM_SHARE = 0.3 * 1.1;
static const double SHM_BYTES_MAX = 200e9;

/* ---- the specification ---- */

bool container_is_used(const struct config_node_type *type)
{
    return type->docker.image.len > 0 && type->docker.container_name.len > 0;
}

const char *container_program(const struct config_docker *docker)
{
    return docker->use_podman ? "podman" : "docker";
}

bool container_runs_on_host(const struct config_docker *docker, struct str command)
{
    return str_starts(command, container_program(docker));
}

struct container_spec container_spec_of(const struct config *config,
                                        const struct config_node_type *type, struct arena *arena)
{
    const struct config_docker *docker = &type->docker;
    struct str *mounts = ARENA_ARRAY(arena, config->mount_count, struct str);
    for (size_t i = 0; i < config->mount_count; i++) {
        mounts[i] = config->mounts[i].remote;
    }
    return (struct container_spec){
        .program = container_program(docker),
        .name = docker->container_name,
        .image = docker->image,
        .cluster = config->cluster_name,
        .is_own = config_is_local(config),
        .pulls = docker->pull_before_run,
        .detects_runtime = docker->detect_runtime,
        .detects_shm = docker->detect_shm_size,
        .has_gpus = resource_amount(type->resources, STR("GPU")) > 0,
        .options = docker->run_options,
        .mounts = {mounts, config->mount_count},
    };
}

static json_t *container_list(struct config_texts texts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < texts.count; i++) {
        json_array_append_new(list, json_stringn(texts.items[i].ptr, texts.items[i].len));
    }
    return list;
}

void container_spec_write(const struct container_spec *spec, struct buf *out)
{
    json_t *object = json_object();
    json_put_flag(object, "podman", strcmp(spec->program, "podman") == 0);
    json_put_text(object, "name", spec->name);
    json_put_text(object, "image", spec->image);
    json_put_text(object, "cluster", spec->cluster);
    if (spec->is_own) {
        json_put_flag(object, "own", true);
    }
    json_put_flag(object, "pulls", spec->pulls);
    json_put_flag(object, "runtime", spec->detects_runtime);
    json_put_flag(object, "shm", spec->detects_shm);
    if (spec->has_gpus) {
        json_put_flag(object, "gpus", true);
    }
    json_object_set_new(object, "options", container_list(spec->options));
    json_object_set_new(object, "mounts", container_list(spec->mounts));
    json_put_out(object, false, out);
}

static struct config_texts container_take_list(const json_t *object, const char *name,
                                               struct arena *arena)
{
    const json_t *list = json_object_get(object, name);
    size_t count = json_array_size(list);
    struct str *items = ARENA_ARRAY(arena, count, struct str);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        struct str text = {json_string_value(item), json_string_length(item)};
        items[i] = arena_str(arena, text.ptr ? text : STR(""));
    }
    return (struct config_texts){items, count};
}

bool container_spec_read(struct str text, struct arena *arena, struct container_spec *ret_spec,
                         struct err *err)
{
    json_t *object;
    if (!json_line_read(text, "a container", &object, err)) {
        return false;
    }
    *ret_spec = (struct container_spec){
        .program = json_is_true(json_object_get(object, "podman")) ? "podman" : "docker",
        .name = json_take_text(object, "name", arena),
        .image = json_take_text(object, "image", arena),
        .cluster = json_take_text(object, "cluster", arena),
        .is_own = json_is_true(json_object_get(object, "own")),
        .pulls = json_is_true(json_object_get(object, "pulls")),
        .detects_runtime = json_is_true(json_object_get(object, "runtime")),
        .detects_shm = json_is_true(json_object_get(object, "shm")),
        .has_gpus = json_is_true(json_object_get(object, "gpus")),
        .options = container_take_list(object, "options", arena),
        .mounts = container_take_list(object, "mounts", arena),
    };
    json_decref(object);
    return (ret_spec->name.len > 0 && ret_spec->image.len > 0) ||
           err_set(err, ERR_PROTOCOL, "a container needs a name and an image");
}

/* ---- mounts ---- */

struct str container_host_path(struct str cluster, struct str remote, struct arena *arena)
{
    while (str_starts(remote, "/")) {
        remote = str_sub(remote, 1, remote.len);
    }
    return arena_printf(arena, MOUNTS_FOLDER "/%.*s/%.*s", STR_ARG(cluster), STR_ARG(remote));
}

struct str container_copy_path(const struct config *config, const struct config_node_type *type,
                               struct str remote, struct arena *arena)
{
    return container_is_used(type) ? container_host_path(config->cluster_name, remote, arena)
                                   : remote;
}

/* "~/x" with this home. */
static struct str container_expand(struct str path, struct str home, struct arena *arena)
{
    return str_starts(path, "~/")
               ? arena_printf(arena, "%.*s%.*s", STR_ARG(home), STR_ARG(str_sub(path, 1, path.len)))
               : path;
}

struct str container_home(struct str env_json, struct arena *arena)
{
    static const char name[] = "HOME=";
    json_t *list = json_loadb(env_json.ptr ? env_json.ptr : "", env_json.len, 0, NULL);
    struct str home = STR("/root");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text && strncmp(text, name, strlen(name)) == 0) {
            home = arena_str(arena, str_from(text + strlen(name)));
            break;
        }
    }
    json_decref(list);
    return home;
}

/* Python's path.strip("/") */
static struct str container_strip(struct str path)
{
    while (str_starts(path, "/")) {
        path = str_sub(path, 1, path.len);
    }
    while (str_ends(path, "/")) {
        path = str_sub(path, 0, path.len - 1);
    }
    return path;
}

static bool container_is_mounted(const json_t *list, struct str path)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *mount = json_array_get(list, i);
        const char *there = json_string_value(json_object_get(mount, "Destination"));
        const char *here = json_string_value(json_object_get(mount, "Source"));
        if (there && str_eq(container_strip(str_from(there)), container_strip(path))) {
            return !here || !str_starts(str_from(here), MOUNTS_FOLDER_OF_RAY);
        }
    }
    return false;
}

bool container_has_mounts(const struct container_spec *spec, struct str home,
                          struct str mounts_json, struct str *ret_missing, struct arena *arena)
{
    json_t *list = json_loadb(mounts_json.ptr ? mounts_json.ptr : "", mounts_json.len, 0, NULL);
    bool has_all = true;
    for (size_t i = 0; list && i < spec->mounts.count && has_all; i++) {
        struct str path = container_expand(spec->mounts.items[i], home, arena);
        has_all = container_is_mounted(list, path);
        *ret_missing = path;
    }
    json_decref(list);
    return has_all;
}

bool container_is_ours(const struct container_spec *spec, struct str labels_json,
                       struct str mounts_json, struct str machine_home, bool is_recorded)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    json_t *labels = json_loadb(labels_json.ptr ? labels_json.ptr : "", labels_json.len, 0, NULL);
    json_t *list = json_loadb(mounts_json.ptr ? mounts_json.ptr : "", mounts_json.len, 0, NULL);
    const char *label = json_string_value(json_object_get(labels, HOST_CONTAINER_LABEL));
    struct str folder = arena_printf(&arena, "%.*s%s/%.*s/", STR_ARG(machine_home),
                                     &MOUNTS_FOLDER[1], STR_ARG(spec->cluster));
    bool is_ours = label ? str_is(spec->cluster, label) : is_recorded;
    for (size_t i = 0; !label && i < json_array_size(list) && !is_ours; i++) {
        const char *here = json_string_value(json_object_get(json_array_get(list, i), "Source"));
        is_ours = here && str_starts(str_from(here), folder.ptr);
    }
    json_decref(labels);
    json_decref(list);
    return is_ours;
}

/* ---- docker run ---- */

int64_t container_shm_bytes(struct str meminfo)
{
    static const char name[] = "MemAvailable:";
    while (meminfo.len > 0) {
        struct str line = str_cut(&meminfo, '\n');
        if (!str_starts(line, name)) {
            continue;
        }
        struct str rest = str_trim(str_sub(line, sizeof(name) - 1, line.len));
        int64_t kilobytes;
        if (!str_to_i64(str_cut(&rest, ' '), &kilobytes) || kilobytes <= 0) {
            return 0;
        }
        double bytes = (double)kilobytes * 1024 * SHM_SHARE;
        return (int64_t)(bytes < SHM_BYTES_MAX ? bytes : SHM_BYTES_MAX);
    }
    return 0;
}

bool container_has_option(const struct container_spec *spec, const char *word)
{
    bool has = false;
    for (size_t i = 0; i < spec->options.count; i++) {
        has = has || str_find(spec->options.items[i], word) != SIZE_MAX;
    }
    return has;
}

bool container_wants_shm(const struct container_spec *spec)
{
    return spec->detects_shm && !container_has_option(spec, "--shm-size");
}

bool container_wants_gpu(const struct container_spec *spec)
{
    return spec->has_gpus && spec->detects_runtime && !container_has_option(spec, "gpu") &&
           !container_has_option(spec, "nvidia");
}

static void container_add_mounts(const struct container_spec *spec, const struct container_run *run,
                                 struct arena *arena, struct buf *out)
{
    for (size_t i = 0; i < spec->mounts.count; i++) {
        struct str path = spec->mounts.items[i];
        struct str here = container_host_path(spec->cluster, path, arena);
        struct str pair = arena_printf(
            arena, "%.*s:%.*s%s", STR_ARG(container_expand(here, run->machine_home, arena)),
            STR_ARG(container_expand(path, run->home, arena)), run->is_relabelled ? ":z" : "");
        buf_add_c(out, " -v ");
        shell_quote(out, pair);
    }
}

struct str container_run_line(const struct container_spec *spec, const struct container_run *run,
                              struct arena *arena)
{
    AUTO_BUF struct buf out;
    buf_init(&out, LINE_BYTES_MAX);
    buf_addf(&out, "%s run --rm --name ", spec->program);
    shell_quote(&out, spec->name);
    buf_add_c(&out, " -d -it");
    if (spec->is_own) {
        buf_add_c(&out, " --label ");
        shell_quote(&out,
                    arena_printf(arena, HOST_CONTAINER_LABEL "=%.*s", STR_ARG(spec->cluster)));
    }
    container_add_mounts(spec, run, arena, &out);
    buf_add_c(&out, " -e LC_ALL=C.UTF-8 -e LANG=C.UTF-8");
    for (size_t i = 0; i < spec->options.count; i++) {
        buf_addf(&out, " %.*s", STR_ARG(spec->options.items[i]));
    }
    if (run->shm_bytes > 0) {
        buf_addf(&out, " --shm-size=%lldb", (long long)run->shm_bytes);
    }
    if (run->has_gpu) {
        buf_add_c(&out, strcmp(spec->program, "podman") == 0 ? " --device nvidia.com/gpu=all"
                                                             : " --runtime=nvidia");
    }
    buf_add_c(&out, " --net=host ");
    shell_quote(&out, spec->image);
    buf_add_c(&out, " bash");
    return arena_str(arena, buf_str(&out));
}

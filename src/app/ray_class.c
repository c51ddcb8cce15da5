/* ray_class.c: the command, environment and first request of the adapter. */
#include "app/ray_class.h"

#include "app/paths.h"
#include "app/plugin_command.h"
#include "config/document/json_write.h"
#include "config/embedded_data.h"
#include "io/file.h"
#include "io/json_line.h"

#include <string.h>

extern const struct embedded_file class_scripts[];

#define CLASS_LOADER "import os;exec(compile(os.environ['SHOAL_ADAPTER'],'ray_class.py','exec'))"
#define CLASS_PREPARED "ray-class-bootstrap.json" /* as in ray_class.py */

enum {
    FILE_BYTES_MAX = 512 * 1024,
    CONFIG_BYTES_MAX = 2 << 20,
    DEADLINE_MS = 300 * 1000, /* the adapter itself gives up earlier */
};

/* ---- the module ---- */

/* The file of `module: NAME.CLASS` next to the cluster file; empty if NAME has a dot. */
static struct str module_file(const struct config *config, struct arena *arena)
{
    struct str class = value_text(value_get_c(config->provider, "module"));
    struct str name = str_cut(&class, '.');
    bool is_name = name.len > 0 && class.len > 0 && str_find_char(class, '.') == SIZE_MAX &&
                   str_find_char(name, '/') == SIZE_MAX;
    return is_name ? arena_printf(arena, "%.*s.py", STR_ARG(name)) : STR("");
}

static struct str folder_here(const struct config *config, struct arena *arena)
{
    return plugin_command_path(config->provider, STR("."), arena);
}

static bool ray_class_add_file(const char *path, struct str there, struct arena *arena,
                               struct node_file *files, size_t *count, struct err *err)
{
    AUTO_BUF struct buf text;
    buf_init(&text, FILE_BYTES_MAX);
    if (file_stat(path).kind == FILE_MISSING) {
        return true;
    }
    if (!file_read(path, &text, err)) {
        return err_wrap(err, "provider.module, which the head also needs");
    }
    files[(*count)++] = (struct node_file){there, arena_str(arena, buf_str(&text)), 0600};
    return true;
}

bool ray_class_files(const struct config *config, const char *state_folder, struct arena *arena,
                     struct node_file *files, size_t *ret_count, struct err *err)
{
    struct str module = module_file(config, arena);
    *ret_count = 0;
    if (!config_is_ray_class(config)) {
        return true;
    }
    struct str here = arena_printf(arena, "%.*s/%.*s", STR_ARG(folder_here(config, arena)),
                                   STR_ARG(module));
    struct str there = arena_printf(arena, SERVICE_FOLDER "/plug-in/%.*s", STR_ARG(module));
    return (module.len == 0 || ray_class_add_file(here.ptr, there, arena, files, ret_count, err)) &&
           (!state_folder ||
            ray_class_add_file(arena_printf(arena, "%s/" CLASS_PREPARED, state_folder).ptr,
                               STR(SERVICE_FOLDER "/plug-in/" CLASS_PREPARED), arena, files,
                               ret_count, err));
}

/* ---- the start ---- */

static const char *const *ray_class_argv(const struct config *config, bool is_on_head,
                                         struct arena *arena)
{
    struct str python = value_text(value_get_c(config->shoal, "python"));
    const char **argv = ARENA_ARRAY(arena, 4, const char *);
    argv[0] = python.len == 0 || is_on_head ? "python3"
                                            : arena_str(arena, file_expand_home(arena, python)).ptr;
    argv[1] = "-c";
    argv[2] = CLASS_LOADER;
    return argv;
}

static const char *const *ray_class_env(const struct config *config, const char *const *env,
                                        struct arena *arena)
{
    struct str python = value_text(value_get_c(config->shoal, "python"));
    size_t count = 0;
    while (env[count]) {
        count++;
    }
    const char **all = ARENA_ARRAY(arena, count + 3, const char *);
    memcpy(all, env, count * sizeof(*all));
    all[count++] =
        arena_printf(arena, "SHOAL_ADAPTER=%s", (const char *)class_scripts[0].bytes).ptr;
    all[count] = arena_printf(arena, "SHOAL_ADAPTER_PYTHON=%.*s", STR_ARG(python)).ptr;
    return all;
}

static bool ray_class_config(const struct config *config, json_t *more, struct err *err)
{
    AUTO_BUF struct buf text;
    json_t *tree;
    buf_init(&text, CONFIG_BYTES_MAX);
    if (!json_write(&text, config->tree, JSON_TIGHT, err)) {
        return false;
    }
    if (text.is_full) {
        return err_set(err, ERR_CONFIG, "the configuration is larger than 2 MB");
    }
    if (!json_line_read(buf_str(&text), "the configuration", &tree, err)) {
        return false;
    }
    json_object_set_new(more, "config", tree);
    return true;
}

/* The field "ray" of hello. */
static bool ray_class_more(const struct config *config, const struct cloud_provider_head *head,
                           struct arena *arena, struct str *ret_text, struct err *err)
{
    struct cluster_state here;
    AUTO_BUF struct buf text;
    json_t *more = json_object();
    json_t *modules = json_array();
    struct str folder = head ? file_expand_home(arena, STR(SERVICE_FOLDER "/plug-in"))
                             : folder_here(config, arena);
    bool ok = head || cluster_state_open(config, false, arena, &here, err);
    buf_init(&text, CONFIG_BYTES_MAX + FILE_BYTES_MAX);
    json_object_set_new(more, "modules", modules);
    if (ok) {
        const char *key = head ? head->identity : here.own_key;
        json_put_text(more, "where", head ? STR("head") : STR("laptop"));
        json_put_text(more, "folder", str_from(head ? head->state->folder : here.folder));
        json_put_text(more, "key", key ? str_from(key) : STR(""));
        json_put_text(more, "user_data_key", config_user_data_key(config));
        json_array_append_new(modules, json_stringn(folder.ptr, folder.len));
        ok = ray_class_config(config, more, err);
    }
    if (ok && !json_add(more, &text)) {
        ok = err_set(err, ERR_CONFIG, "the configuration is larger than 2 MB");
    }
    *ret_text = ok ? arena_str(arena, buf_str(&text)) : STR("");
    json_decref(more);
    return ok;
}

bool ray_class_setup(const struct config *config, const struct cloud_provider_head *head,
                     const char *const *env, struct arena *arena, struct external_setup *setup,
                     struct err *err)
{
    struct str more;
    bool is_module = value_get_c(config->provider, "module") != NULL;
    if (!ray_class_more(config, head, arena, &more, err)) {
        return false;
    }
    setup->argv = ray_class_argv(config, head != NULL, arena);
    setup->env = ray_class_env(config, env, arena);
    setup->deadline_ms = DEADLINE_MS;
    setup->what = is_module ? "the class in provider.module" : "Ray's class for provider.type";
    setup->path = is_module ? "provider.module" : "provider.type";
    setup->more = more.ptr;
    return true;
}

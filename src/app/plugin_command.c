/* plugin_command.c: maps the words of provider.command. */
#include "app/plugin_command.h"

#include "app/paths.h"
#include "io/file.h"

#include <string.h>

enum { FILE_BYTES_MAX = 512 * 1024, FILE_MODE = 0700 };

static bool is_own_file(struct str word)
{
    return str_starts(word, "~/") || str_starts(word, "./") || str_starts(word, "../");
}

/* The position keeps files of the same name apart. */
static struct str path_on_head(struct str word, size_t index, struct arena *arena)
{
    const char *slash = strrchr(arena_str(arena, word).ptr, '/');
    return arena_printf(arena, SERVICE_FOLDER "/plug-in/%zu-%s", index, slash + 1);
}

struct str plugin_command_path(const struct value *value, struct str path, struct arena *arena)
{
    const struct source *source = value->place.source;
    struct str folder = source ? source->name : STR("");
    while (folder.len > 0 && folder.ptr[folder.len - 1] != '/') {
        folder.len--;
    }
    return folder.len > 0 ? arena_printf(arena, "%.*s%.*s", STR_ARG(folder), STR_ARG(path)) : path;
}

/* Where the user's file of this word is on this machine. */
static struct str plugin_command_own(const struct value *word, struct arena *arena)
{
    struct str text = value_text(word);
    return str_starts(text, "~/") ? file_expand_home(arena, text)
                                  : plugin_command_path(word, text, arena);
}

const char *const *plugin_command_argv(const struct config *config, bool is_on_head,
                                       struct arena *arena)
{
    const struct value *command = config_plugin(config);
    size_t count = command ? command->list.count : 0;
    const char **argv = ARENA_ARRAY(arena, count + 1, const char *);
    for (size_t i = 0; i < count; i++) {
        struct str word = value_text(command->list.items[i]);
        bool is_own = is_own_file(word);
        struct str path = !is_own      ? word
                          : is_on_head ? file_expand_home(arena, path_on_head(word, i, arena))
                                       : plugin_command_own(command->list.items[i], arena);
        argv[i] = arena_str(arena, path).ptr;
    }
    return argv;
}

bool plugin_command_files(const struct config *config, struct arena *arena,
                          struct node_file **ret_files, size_t *ret_count, struct err *err)
{
    const struct value *command = config_plugin(config);
    size_t words = command ? command->list.count : 0;
    struct node_file *files = ARENA_ARRAY(arena, words, struct node_file);
    size_t count = 0;
    for (size_t i = 0; i < words; i++) {
        AUTO_BUF struct buf text;
        struct str word = value_text(command->list.items[i]);
        buf_init(&text, FILE_BYTES_MAX);
        if (!is_own_file(word)) {
            continue;
        }
        struct str path = plugin_command_own(command->list.items[i], arena);
        if (!file_read(arena_str(arena, path).ptr, &text, err)) {
            return err_wrap(err, "provider.command, which the head also needs");
        }
        files[count++] = (struct node_file){path_on_head(word, i, arena),
                                            arena_str(arena, buf_str(&text)), FILE_MODE};
    }
    *ret_files = files;
    *ret_count = count;
    return true;
}

/* ray_find.c: finds the Ray that a shell would start, and its Python. */
#include "app/setup/ray_find.h"

#include "app/setup/node_tools.h"
#include "io/file.h"
#include "ray/version.h"

#include <string.h>

enum { SCRIPT_BYTES = 64 * 1024, VERSION_BYTES = 256 };

/* Searches the package folders directly, because importing importlib.metadata takes 50 ms. */
static const char script[] =
    "import os, sys\n"
    "def find():\n"
    "    for folder in sys.path:\n"
    "        try:\n"
    "            names = os.listdir(folder or '.')\n"
    "        except OSError:\n"
    "            continue\n"
    "        for name in names:\n"
    "            if name.startswith('ray-') and name.endswith('.dist-info'):\n"
    "                return name[4:-10]\n"
    "    try:\n"
    "        from importlib.metadata import version\n"
    "        return version('ray')\n"
    "    except Exception:\n"
    "        return ''\n"
    "print('ray', find())\n"
    "print('python', '%d.%d.%d' % sys.version_info[:3])\n";

bool ray_find(struct arena *arena, struct str *ret_path)
{
    if (tools_find(arena, "ray", NULL, ret_path)) {
        return true;
    }
    const char *ready = tools_home(arena, RAY_FIND_VENV "/ready");
    const char *own = tools_home(arena, RAY_FIND_VENV "/bin/ray");
    if (file_stat(ready).kind != FILE_REGULAR || file_stat(own).kind != FILE_REGULAR) {
        return false;
    }
    *ret_path = str_from(own);
    return true;
}

static bool is_python(struct str path)
{
    size_t slash = 0;
    for (size_t i = 0; i < path.len; i++) {
        slash = path.ptr[i] == '/' ? i + 1 : slash;
    }
    return str_starts(str_sub(path, slash, path.len), "python");
}

/* The first word, quoted or not. */
static struct str first_word(struct str text)
{
    text = str_trim(text);
    if (text.len > 0 && text.ptr[0] == '"') {
        text = str_sub(text, 1, text.len);
        return str_cut(&text, '"');
    }
    return str_cut(&text, ' ');
}

struct str ray_find_interpreter(struct str text)
{
    struct str line = str_cut(&text, '\n');
    if (!str_starts(line, "#!")) {
        return STR("");
    }
    struct str rest = str_trim(str_sub(line, 2, line.len));
    struct str word = first_word(rest);
    if (str_ends(word, "/env")) {
        word = first_word(str_sub(rest, word.len, rest.len));
    } else if (str_starts(text, "'''exec' ")) {
        /* Written by pip if a path is too long. */
        word = first_word(str_sub(text, 9, text.len));
    }
    return is_python(word) ? word : STR("");
}

/* The Python next to the script, if the script does not name one: a shim, or a binary. */
static const char *python_beside(struct arena *arena, struct str path)
{
    static const char *const names[] = {"python3", "python"};
    size_t slash = 0;
    for (size_t i = 0; i < path.len; i++) {
        slash = path.ptr[i] == '/' ? i + 1 : slash;
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str near = arena_printf(arena, "%.*s%s", STR_ARG(str_sub(path, 0, slash)), names[i]);
        if (file_stat(near.ptr).kind == FILE_REGULAR) {
            return near.ptr;
        }
    }
    return "python3";
}

const char *const *ray_find_argv(struct arena *arena, struct str path)
{
    AUTO_BUF struct buf text;
    buf_init(&text, SCRIPT_BYTES);
    struct err err;
    struct str python = {0};
    if (file_read(arena_str(arena, path).ptr, &text, &err)) {
        python = ray_find_interpreter(buf_str(&text));
    }
    const char **words = ARENA_ARRAY(arena, 4, const char *);
    words[0] = python.len > 0 ? arena_str(arena, python).ptr : python_beside(arena, path);
    words[1] = "-c";
    words[2] = script;
    return words;
}

bool ray_find_read(struct str said, struct arena *arena, struct ray_found *ret_found)
{
    struct ray_found found = {0};
    while (said.len > 0) {
        struct str line = str_cut(&said, '\n');
        struct str name = str_cut(&line, ' ');
        if (str_is(name, "ray")) {
            found.ray = arena_str(arena, str_trim(line));
        } else if (str_is(name, "python")) {
            found.python = arena_str(arena, str_trim(line));
        }
    }
    *ret_found = found;
    return found.python.len > 0;
}

/* ---- the stored version ---- */

bool ray_find_note(struct arena *arena, struct str version, struct err *err)
{
    return file_write(tools_home(arena, RAY_FIND_NOTE), version, 0644, err);
}

struct str ray_find_noted(struct arena *arena)
{
    AUTO_BUF struct buf text;
    struct err err;
    buf_init(&text, VERSION_BYTES);
    return file_read(tools_home(arena, RAY_FIND_NOTE), &text, &err)
               ? arena_str(arena, str_trim(buf_str(&text)))
               : STR("");
}

bool ray_find_is_old(struct str version)
{
    return version.len > 0 && !tools_at_least(version, STR(RAY_VERSION_TOKEN));
}

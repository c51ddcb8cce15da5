/* cluster_file.c: reads cluster files. */
#include "app/cluster_file.h"

#include "config/document/yaml_read.h"
#include "io/file.h"

/* The last part of the URL if it is a plain file name, else "cluster.yaml". */
static struct str cluster_file_name_for(struct str url)
{
    struct str rest = str_sub(url, 0, str_find_char(url, '?'));
    struct str name = STR("");
    while (rest.len > 0) {
        name = str_cut(&rest, '/');
    }
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
        if (!is_plain) {
            return STR("cluster.yaml");
        }
    }
    return name.len > 0 && name.ptr[0] != '-' ? name : STR("cluster.yaml");
}

static bool refuse_url(struct str url, struct err *err)
{
    struct str name = cluster_file_name_for(url);
    bool is_quotable = str_find_char(url, '\'') == SIZE_MAX && url.len < 200;
    return err_set(err, ERR_UNAVAILABLE,
                   "shoal cannot fetch a cluster file from a URL yet\n"
                   "  fetch it first:  curl -fsSL -o %.*s %s%.*s%s\n"
                   "  then use the file:  %.*s",
                   STR_ARG(name), is_quotable ? "'" : "", STR_ARG(is_quotable ? url : STR("URL")),
                   is_quotable ? "'" : "", STR_ARG(name));
}

bool cluster_file_read(struct arena *arena, const char *file, struct source *ret_source,
                       struct err *err)
{
    AUTO_BUF struct buf text;
    struct str name = str_from(file);
    buf_init(&text, YAML_BYTES_MAX);
    if (str_find(name, "://") != SIZE_MAX) {
        return refuse_url(name, err);
    }
    if (!file_read(file, &text, err)) {
        return false;
    }
    ret_source->name = str_is(name, "-") ? STR("(standard input)") : arena_str(arena, name);
    ret_source->text = arena_str(arena, buf_str(&text));
    ret_source->is_built_in = false;
    return true;
}

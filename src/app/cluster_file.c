/* cluster_file.c: where cluster files come from. */
#include "app/cluster_file.h"

#include "config/document/yaml_read.h"
#include "io/file.h"

#include <string.h>

static bool refuse_url(const char *url, struct err *err)
{
    const char *slash = strrchr(url, '/');
    const char *name = slash && slash[1] ? slash + 1 : "cluster.yaml";
    return err_set(err, ERR_UNAVAILABLE,
                   "shoal cannot fetch a cluster file from a URL yet\n"
                   "  fetch it first: curl -fsSL -o %s '%s'\n"
                   "  then name the file: %s",
                   name, url, name);
}

bool cluster_file_read(struct arena *arena, const char *file, struct source *ret_source,
                       struct err *err)
{
    AUTO_BUF struct buf text;
    struct str name = str_from(file);
    buf_init(&text, YAML_BYTES_MAX);
    if (str_starts(name, "http://") || str_starts(name, "https://")) {
        return refuse_url(file, err);
    }
    if (!file_read(file, &text, err)) {
        return false;
    }
    ret_source->name = str_is(name, "-") ? STR("(standard input)") : arena_str(arena, name);
    ret_source->text = arena_str(arena, buf_str(&text));
    ret_source->is_built_in = false;
    return true;
}

/* cluster_choice.c: the default cluster file, and clusters by name. */
#include "cli/cluster_choice.h"

#include "io/file.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_FILE "cluster.yaml"

enum { REGIONS_MAX = 4 };

const char *const cluster_choice_missing = "missing argument FILE: there is no " DEFAULT_FILE
                                           " in this directory, and SHOAL_CLUSTER is "
                                           "not set";

static bool is_file_name(struct str word)
{
    return str_ends(word, ".yaml") || str_ends(word, ".yml") || str_ends(word, ".json") ||
           str_is(word, "-") || str_find(word, "://") != SIZE_MAX;
}

static bool is_known(struct str word)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct cluster_known known;
    return cluster_state_known(word, &arena, &known, 1) > 0;
}

/* A word that could be something else (a command, a node, a script) is a cluster only if it is
 * known as one, or if it is a file and nothing is missing behind it. */
static bool is_cluster(const char *word, bool is_short)
{
    struct str text = str_from(word);
    bool is_script = str_ends(text, ".py");
    bool is_file = !is_short && !is_script && file_stat(word).kind == FILE_REGULAR;
    return is_file_name(text) || is_file || is_known(text);
}

const char *cluster_choice(const char *word, bool is_short)
{
    const char *wanted = getenv("SHOAL_CLUSTER");
    if (word && is_cluster(word, is_short)) {
        return NULL;
    }
    if (wanted && wanted[0] != '\0') {
        return wanted;
    }
    return file_stat(DEFAULT_FILE).kind == FILE_REGULAR ? DEFAULT_FILE : NULL;
}

static bool refuse_owners(struct str name, const struct cluster_known *known, struct err *err)
{
    struct str one = known[0].owner;
    struct str two = known[1].owner;
    return err_set(err, ERR_USAGE,
                   "this machine knows clusters named %.*s of %.*s and of %.*s; give the cluster "
                   "file instead",
                   STR_ARG(str_sub(name, 0, 100)),
                   STR_ARG(one.len > 0 ? one : STR("an older release")),
                   STR_ARG(two.len > 0 ? two : STR("an older release")));
}

bool cluster_choice_named(const char *word, struct arena *arena, struct cluster_known *ret_known,
                          struct err *err)
{
    struct cluster_known known[REGIONS_MAX];
    struct str name = str_from(word);
    err->kind = ERR_NONE;
    if (is_file_name(name) || file_stat(word).kind != FILE_MISSING) {
        return false;
    }
    size_t count = cluster_state_known(name, arena, known, REGIONS_MAX);
    bool is_one_file = count > 1;
    for (size_t i = 1; i < count; i++) {
        is_one_file = is_one_file && known[0].file && known[i].file &&
                      strcmp(known[0].file, known[i].file) == 0;
    }
    if (is_one_file && str_eq(known[0].region, known[1].region)) {
        count = 1; /* of two owners: the credentials choose */
    }
    if (count > 1) {
        if (str_eq(known[0].region, known[1].region)) {
            return refuse_owners(name, known, err);
        }
        return err_set(err, ERR_USAGE,
                       "several clusters named %.*s were started from this machine, for example "
                       "in %.*s and %.*s; give the cluster file instead",
                       STR_ARG(str_sub(name, 0, 100)), STR_ARG(known[0].region),
                       STR_ARG(known[1].region));
    }
    *ret_known = count == 1 ? known[0] : (struct cluster_known){0};
    return count == 1;
}

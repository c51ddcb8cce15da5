/*
 * param.h: the parameters of an AWS call as a tree with boto3's names, such as the node_config of a
 * cluster file. Allocated in an arena; order is kept.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* auth.ssh_private_key on the head, as in Ray: the key for its workers, which belongs to no key
 * pair. */
#define PROVIDER_HEAD_KEY "~/ray_bootstrap_key.pem"

enum param_kind { PARAM_TEXT, PARAM_NUMBER, PARAM_BOOL, PARAM_LIST, PARAM_MAP };

struct param {
    enum param_kind kind;
    bool boolean;
    int64_t number;
    struct str text;
    struct str name;     /* key in its map; empty in a list */
    struct param *first; /* child of a list or map */
    struct param *last;
    struct param *next;
};

struct param *param_new_map(struct arena *arena);

/*
 * Each appends to a map (by name) or to a list (`name` is ignored) and returns the new node.
 * Strings are not copied.
 */
struct param *param_add_text(struct param *parent, const char *name, struct str text,
                             struct arena *arena);
struct param *param_add_number(struct param *parent, const char *name, int64_t number,
                               struct arena *arena);
struct param *param_add_bool(struct param *parent, const char *name, bool boolean,
                             struct arena *arena);
struct param *param_add_list(struct param *parent, const char *name, struct arena *arena);
struct param *param_add_map(struct param *parent, const char *name, struct arena *arena);

/* NULL if the map has none of that name. */
struct param *param_find(const struct param *map, const char *name);

/* The same for a given kind; `map` may be NULL. */
const struct param *param_get(const struct param *map, enum param_kind kind, const char *name);

/* The text; empty if there is none of that name, or it is not text. */
struct str param_text(const struct param *map, const char *name);

/* {"Name": name, "Values": [value, ...]}, the form of EC2's filters, added to a list. */
struct param *param_add_filter(struct param *list, const char *name, const struct str *values,
                               size_t count, struct arena *arena);

/* {"Key": key, "Value": value}, the form of tags, added to a list. */
struct param *param_add_tag(struct param *list, struct str key, struct str value,
                            struct arena *arena);
/* Every text of a map as a tag; `map` may be NULL. */
void param_add_tags(struct param *list, const struct param *map, struct arena *arena);

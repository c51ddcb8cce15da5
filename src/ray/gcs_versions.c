/* gcs_versions.c: what Ray's head has written about its versions. */
#include "ray/gcs.h"

#include <jansson.h>

static struct str text_of(const json_t *object, const char *key, struct arena *arena)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value)) {
        return STR("");
    }
    return arena_str(arena, (struct str){json_string_value(value), json_string_length(value)});
}

bool gcs_versions_from(struct str json, struct arena *arena, struct gcs_versions *ret_versions,
                       struct err *err)
{
    json_error_t error;
    json_t *object = json_loadb(json.ptr ? json.ptr : "", json.len, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(object)) {
        err_set(err, ERR_PROTOCOL, "the cluster's metadata is not understood: %s",
                object ? "no object" : error.text);
        json_decref(object);
        return false;
    }
    ret_versions->ray = text_of(object, "ray_version", arena);
    ret_versions->python = text_of(object, "python_version", arena);
    json_decref(object);
    return true;
}

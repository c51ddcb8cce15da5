/* gcs_versions.c: parses the versions that Ray's head publishes. */
#include "ray/gcs.h"

#include <jansson.h>

static struct str gcs_versions_text_of(const json_t *object, const char *key, struct arena *arena)
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
        err_set(err, ERR_PROTOCOL, "invalid cluster metadata: %s",
                object ? "not an object" : error.text);
        json_decref(object);
        return false;
    }
    ret_versions->ray = gcs_versions_text_of(object, "ray_version", arena);
    ret_versions->python = gcs_versions_text_of(object, "python_version", arena);
    json_decref(object);
    return true;
}

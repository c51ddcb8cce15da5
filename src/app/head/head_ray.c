/* head_ray.c: which Ray runs on the head, and which one ran before a handover that restarts it. */
#include "app/head/head_context.h"

#include <stdio.h>
#include <string.h>

#define BEFORE_NAME "ray-before"
#define HEAD_NAME "ray-head"

bool head_ray_is_restarting(const struct head_context *head)
{
    const struct head_ray *ray = &head->ray;
    return head->handover.restarts_ray && ray->id_before[0] != '\0' &&
           (ray->id[0] == '\0' || strcmp(ray->id, ray->id_before) == 0);
}

bool head_ray_has(const struct head_context *head, uint64_t instance)
{
    return ray_view_node_id(head->ray.view, instance).len > 0;
}

/* Stored for the next process of the service, which needs it before Ray answers. */
void head_ray_note(struct head_context *head)
{
    struct head_ray *ray = &head->ray;
    struct err err = {0};
    if (ray->id[0] == '\0' || !head->journal || strcmp(ray->id, ray->noted_id) == 0) {
        return;
    }
    if (journal_note(head->journal, HEAD_NAME, str_from(ray->id), &err)) {
        memcpy(ray->noted_id, ray->id, sizeof(ray->noted_id));
    } else { /* if this is wrong, workers are set up once more */
        LOG(head, WARNING, "cannot store %s: %s", HEAD_NAME, err.text);
    }
}

bool head_ray_note_before(struct head_context *head, int64_t serial, struct err *err)
{
    struct arena arena;
    struct str id = str_from(head->ray.id);
    arena_init(&arena);
    bool ok = id.len > 0 || journal_get(head->journal, HEAD_NAME, &arena, &id, err);
    if (ok && id.len > 0) {
        struct str text = arena_printf(&arena, "%lld %.*s", (long long)serial, STR_ARG(id));
        ok = journal_note(head->journal, BEFORE_NAME, text, err);
    }
    arena_clear(&arena);
    return ok;
}

void head_ray_read_before(struct head_context *head)
{
    struct arena arena;
    struct str text = STR("");
    struct err err;
    int64_t serial = -1;
    arena_init(&arena);
    if (journal_get(head->journal, BEFORE_NAME, &arena, &text, &err) && text.len > 0) {
        struct str number = str_cut(&text, ' ');
        if (str_to_i64(number, &serial) && serial == head->handover.serial) {
            snprintf(head->ray.id_before, sizeof(head->ray.id_before), "%.*s", STR_ARG(text));
        }
    }
    arena_clear(&arena);
}

/*
 * preflight_foreign.c: instances of another launcher with the cluster's name.
 *
 * Ray identifies a cluster by its name alone. A second cluster of the same name makes Ray's monitor
 * terminate its own head, so Shoal refuses to create a cluster next to one of `ray up`.
 */
#include "provider/aws/preflight/preflight_internal.h"

#include "base/buf.h"
#include "provider/aws/aws_workflow.h"

enum { IDS_SHOWN = 5 };

static bool read_reservation(const struct xml_element *reservation, struct arena *arena,
                             struct preflight_foreign *named, struct err *err)
{
    const struct xml_element *set = xml_child(reservation, "instancesSet");
    for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
        struct str id = xml_child_text(item, "instanceId");
        if (id.len == 0) {
            return err_set(err, ERR_PROTOCOL, "unexpected response: an instance has no id");
        }
        if (tag_in(item, TAG_CLUSTER_UID).len > 0) { /* launched by Shoal */
            if (named->vpc.len == 0 || str_is(tag_in(item, "ray-node-type"), "head")) {
                named->vpc = arena_str(arena, xml_child_text(item, "vpcId"));
            }
            continue;
        }
        ARENA_PUSH(arena, named->ids, named->count, named->capacity) = arena_str(arena, id);
    }
    return true;
}

bool preflight_foreign_read(struct ec2_pages pages, struct arena *arena,
                            struct preflight_foreign *ret_named, struct err *err)
{
    struct preflight_foreign got = {0};
    for (size_t i = 0; i < pages.count; i++) {
        const struct xml_element *set = xml_child(pages.roots[i], "reservationSet");
        if (!set) {
            return err_set(err, ERR_PROTOCOL, "unexpected response: no reservationSet");
        }
        for (const struct xml_element *item = set->first; item; item = item->next) {
            if (!read_reservation(item, arena, &got, err)) {
                return false;
            }
        }
    }
    *ret_named = got;
    return true;
}

void judge_foreign(struct judge *judge)
{
    const struct preflight_foreign *named = &judge->answers->named;
    AUTO_BUF struct buf ids;
    buf_init(&ids, 4096);
    if (!judge_knows(judge, ASK_NAMED) || named->count == 0) {
        return;
    }
    for (size_t i = 0; i < named->count && i < IDS_SHOWN; i++) {
        buf_addf(&ids, "%s%.*s", i > 0 ? ", " : "", STR_ARG(named->ids[i]));
    }
    buf_add_c(&ids, named->count > IDS_SHOWN ? ", ..." : "");
    bool is_one = named->count == 1;
    struct finding *found = judge_add(judge, FINDING_ERROR, "name",
                                      "%zu instance%s of a cluster with this name %s not launched "
                                      "by Shoal: %.*s",
                                      named->count, is_one ? "" : "s", is_one ? "was" : "were",
                                      STR_ARG(buf_str(&ids)));
    found->path = STR("cluster_name");
    found->remedy = STR("remove them first (ray down FILE terminates instances of ray up), or use "
                        "another name: -n OTHER");
}

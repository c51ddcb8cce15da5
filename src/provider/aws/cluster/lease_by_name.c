/* lease_by_name.c: DescribeInstances by the tag ray-cluster-name. */
#include "provider/aws/cluster/lease_by_name.h"

#include "provider/aws/aws_internal.h"

enum { PAGE_INSTANCES = 1000 };

enum aws_ask lease_by_name_ask(struct aws_workflow *op, struct aws_request *request)
{
    static const struct str live[] = {
        {"pending", 7}, {"running", 7}, {"shutting-down", 13}, {"stopping", 8}, {"stopped", 7}};
    struct param *input = param_new_map(&op->arena);
    input_filter(input, "tag:ray-cluster-name", op->provider->cluster->name, &op->arena);
    param_add_filter(param_find(input, "Filters"), "instance-state-name", live, ARRAY_LEN(live),
                     &op->arena);
    param_add_number(input, "MaxResults", PAGE_INSTANCES, &op->arena);
    return ask_pages(request, "DescribeInstances", input);
}

bool lease_by_name_has(const struct lease_by_name *named, struct str uid)
{
    for (size_t i = 0; i < named->uid_count && i < NAMED_UIDS_MAX; i++) {
        if (str_eq(named->uids[i], uid)) {
            return true;
        }
    }
    return false;
}

static void add_instance(struct aws_workflow *op, struct lease_by_name *named,
                         const struct xml_element *item)
{
    struct str uid = tag_in(item, TAG_CLUSTER_UID);
    struct str id = arena_str(&op->arena, xml_child_text(item, "instanceId"));
    if (uid.len == 0) {
        named->without_uid++;
        named->without_uid_example = id;
        return;
    }
    named->example = id;
    if (lease_by_name_has(named, uid)) {
        return;
    }
    if (named->uid_count < NAMED_UIDS_MAX) {
        named->uids[named->uid_count] = arena_str(&op->arena, uid);
    }
    named->uid_count++;
}

/* Checks the filter again: a server that ignores it must not decide our identity. */
static bool lease_by_name_is_named(const struct aws_workflow *op, const struct xml_element *item)
{
    struct str state = xml_child_text(xml_child(item, "instanceState"), "name");
    return str_eq(tag_in(item, "ray-cluster-name"), op->provider->cluster->name) &&
           !str_is(state, "terminated");
}

struct lease_by_name lease_by_name_read(struct aws_workflow *op, const struct aws_result *result)
{
    struct lease_by_name named = {0};
    for (size_t i = 0; i < result->page_count; i++) {
        const struct xml_element *list = xml_child(result->pages[i], "reservationSet");
        for (const struct xml_element *one = list ? list->first : NULL; one; one = one->next) {
            const struct xml_element *set = xml_child(one, "instancesSet");
            for (const struct xml_element *item = set ? set->first : NULL; item;
                 item = item->next) {
                if (lease_by_name_is_named(op, item)) {
                    add_instance(op, &named, item);
                }
            }
        }
    }
    return named;
}

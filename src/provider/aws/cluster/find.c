/* find.c: finds out whether a cluster exists (its lease object, or groups and keys with its name),
 * and to which account the credentials belong. */
#include "provider/aws/aws_internal.h"
#include "provider/aws/cluster/aws_names.h"
#include "provider/aws/cluster/lease_object.h"

enum { FIND_MS = 60 * 1000, OWNER_MS = 25 * 1000 };

struct find_op {
    struct aws_workflow op;
    provider_found_fn *done;
    void *context;
    struct cluster_found found;
    struct str *uids;
    size_t uid_capacity;
};

static struct find_op *find_of(struct aws_workflow *op)
{
    return (struct find_op *)op;
}

/* Reads "EPOCH UNTIL" on the lease object; without it only the versions have the time, which are
 * not read here. */
static int64_t lease_until(const struct aws_result *result, struct str id)
{
    for (size_t i = 0; i < result->page_count; i++) {
        const struct xml_element *list = xml_child(result->pages[i], "launchTemplates");
        for (const struct xml_element *item = list ? list->first : NULL; item; item = item->next) {
            struct str rest = tag_in(item, TAG_LEASE_UNTIL);
            int64_t until;
            (void)str_cut(&rest, ' ');
            if (str_eq(xml_child_text(item, "launchTemplateId"), id) && str_to_i64(rest, &until)) {
                return until;
            }
        }
    }
    return INT64_MAX;
}

static enum aws_next on_lease(struct aws_workflow *op, const struct aws_result *result)
{
    struct find_op *find = find_of(op);
    struct lease_object found;
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    if (lease_object_read(op, result, &found) && found.uid.len > 0) {
        find->found.has_lease = true;
        find->found.uid = found.uid;
        find->found.lease_until = lease_until(result, found.id);
    }
    return NEXT_NEXT;
}

static struct param *find_by_name(struct aws_workflow *op)
{
    struct param *input = param_new_map(&op->arena);
    input_filter(input, "tag:ray-cluster-name", op->provider->cluster->name, &op->arena);
    return input;
}

static void find_add_uid(struct find_op *find, struct str uid)
{
    struct cluster_found *found = &find->found;
    for (size_t i = 0; i < found->uid_count; i++) {
        if (str_eq(find->uids[i], uid)) {
            return;
        }
    }
    ARENA_PUSH(&find->op.arena, find->uids, found->uid_count,
               find->uid_capacity) = arena_str(&find->op.arena, uid);
    found->uids = find->uids;
}

static enum aws_next on_uids(struct aws_workflow *op, const struct aws_result *result,
                             const char *set_name)
{
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    for (size_t i = 0; i < result->page_count; i++) {
        const struct xml_element *set = xml_child(result->pages[i], set_name);
        for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
            struct str uid = tag_in(item, TAG_CLUSTER_UID);
            if (uid.len > 0) {
                find_add_uid(find_of(op), uid);
            }
        }
    }
    return NEXT_NEXT;
}

static enum aws_ask find_ask_groups(struct aws_workflow *op, struct aws_request *request)
{
    return ask_pages(request, "DescribeSecurityGroups", find_by_name(op));
}

static enum aws_next find_on_groups(struct aws_workflow *op, const struct aws_result *result)
{
    return on_uids(op, result, "securityGroupInfo");
}

static enum aws_ask find_request_keys(struct aws_workflow *op, struct aws_request *request)
{
    return ask_pages(request, "DescribeKeyPairs", find_by_name(op));
}

static enum aws_next find_on_keys(struct aws_workflow *op, const struct aws_result *result)
{
    return on_uids(op, result, "keySet");
}

static void find_finish(struct aws_workflow *op)
{
    struct find_op *find = find_of(op);
    bool ok = op->answer.outcome == OUTCOME_DONE;
    find->done(find->context, &op->answer, ok ? &find->found : NULL);
}

void aws_find(struct provider *base, provider_found_fn *done, void *context)
{
    static const struct aws_step steps[] = {
        {lease_object_ask, on_lease},
        {find_ask_groups, find_on_groups},
        {find_request_keys, find_on_keys},
    };
    struct find_op *find = WORKFLOW_NEW(aws_provider_of(base), struct find_op, steps, FIND_MS,
                                        find_finish);
    find->found.lease_until = INT64_MAX;
    find->done = done;
    find->context = context;
    workflow_start(&find->op);
}

void aws_adopt(struct provider *base, struct str uid)
{
    struct aws_provider *provider = aws_provider_of(base);
    if (!str_eq(provider->uid, uid)) {
        provider->uid = arena_str(&provider->own_arena, uid);
        provider->lease_object = provider->own_group = provider->own_key = provider->own_profile =
            STR("");
        provider->is_new = false;
        known_ids_renew(&provider->known, INT64_MAX);
    }
}

/* ---- the owner ---- */

struct owner_op {
    struct aws_workflow op;
    provider_owner_fn *done;
    void *context;
};

/* "arn:aws:sts::123456789012:assumed-role/x/y". Accounts are numbered in each partition. */
struct str aws_owner_of(struct str arn, struct arena *arena)
{
    struct str rest = arn;
    (void)str_cut(&rest, ':');
    struct str partition = str_cut(&rest, ':');
    (void)str_cut(&rest, ':');
    (void)str_cut(&rest, ':');
    struct str account = str_cut(&rest, ':');
    bool is_usual = str_is(partition, "aws");
    return account.len == 0
               ? STR("")
               : arena_printf(arena, "account %.*s%s%.*s", STR_ARG(account), is_usual ? "" : " in ",
                              STR_ARG(is_usual ? STR("") : partition));
}

static enum aws_ask owner_ask(struct aws_workflow *op, struct aws_request *request)
{
    if (op->provider->owner.len > 0) {
        return ASK_NOTHING;
    }
    request->service = AWS_STS;
    return ask_call(request, "GetCallerIdentity", NULL);
}

static enum aws_next owner_on_reply(struct aws_workflow *op, const struct aws_result *result)
{
    struct aws_provider *provider = op->provider;
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    struct str arn = xml_child_text(xml_child(result->root, "GetCallerIdentityResult"), "Arn");
    provider->owner = aws_owner_of(arn, &provider->own_arena);
    return provider->owner.len > 0 ? NEXT_NEXT
                                   : workflow_end(op, OUTCOME_UNKNOWN, ERR_PROTOCOL,
                                                  "AWS does not say to which account the "
                                                  "credentials belong");
}

static void owner_finish(struct aws_workflow *op)
{
    struct owner_op *owner = (struct owner_op *)op;
    owner->done(owner->context, &op->answer, op->provider->owner);
}

void aws_owner(struct provider *base, provider_owner_fn *done, void *context)
{
    static const struct aws_step steps[] = {{owner_ask, owner_on_reply}};
    struct owner_op *owner = WORKFLOW_NEW(aws_provider_of(base), struct owner_op, steps, OWNER_MS,
                                          owner_finish);
    owner->done = done;
    owner->context = context;
    workflow_start(&owner->op);
}

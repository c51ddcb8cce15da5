/*
 * lease_object.c: finds the lease object of a cluster, renews and releases the lease.
 * lease_acquire.c takes it.
 *
 * lease_chain.h says which claim is valid; docs/decisions/0010-anchor.md says why the lease object
 * is a launch template.
 */
#include "provider/aws/cluster/lease_object.h"

#include "provider/aws/cluster/aws_names.h"
#include "provider/aws/cluster/lease_internal.h"

#include <inttypes.h>

enum { VERSIONS_PER_PAGE = 200 };

/* ---- finding ---- */

uint64_t lease_object_number_in(const struct xml_element *item, const char *name)
{
    int64_t number;
    return str_to_i64(xml_child_text(item, name), &number) && number > 0 ? (uint64_t)number : 0;
}

enum aws_ask lease_object_ask(struct aws_workflow *op, struct aws_request *request)
{
    struct param *input = param_new_map(&op->arena);
    input_filter(input, "launch-template-name",
                 aws_lease_name(op->provider->cluster->name, &op->arena), &op->arena);
    return ask_pages(request, "DescribeLaunchTemplates", input);
}

bool lease_object_read(struct aws_workflow *op, const struct aws_result *result,
                       struct lease_object *ret_found)
{
    struct str name = aws_lease_name(op->provider->cluster->name, &op->arena);
    for (size_t i = 0; i < result->page_count; i++) {
        const struct xml_element *list = xml_child(result->pages[i], "launchTemplates");
        for (const struct xml_element *item = list ? list->first : NULL; item; item = item->next) {
            if (str_eq(xml_child_text(item, "launchTemplateName"), name)) {
                *ret_found = (struct lease_object){
                    .id = arena_str(&op->arena, xml_child_text(item, "launchTemplateId")),
                    .uid = arena_str(&op->arena, tag_in(item, TAG_CLUSTER_UID)),
                    .creator = arena_str(&op->arena, xml_child_text(item, "createdBy")),
                    .base = lease_object_number_in(item, "defaultVersionNumber"),
                    .highest = lease_object_number_in(item, "latestVersionNumber"),
                    .has_no_role = str_is(tag_in(item, TAG_LEASE_ROLE), "none")};
                return true;
            }
        }
    }
    return false;
}

enum aws_next lease_object_not_ours(struct aws_workflow *op)
{
    struct str name = aws_lease_name(op->provider->cluster->name, &op->arena);
    return workflow_end(
        op, OUTCOME_INVALID, ERR_EXISTS,
        "the launch template %.*s was not created by Shoal (it has no tag " TAG_CLUSTER_UID
        "): rename the cluster or that template",
        STR_ARG(name));
}

void lease_object_remember(struct aws_provider *provider, const struct lease_object *found)
{
    provider->lease_object = arena_str(&provider->own_arena, found->id);
    provider->has_no_role = found->has_no_role;
    struct str owner = aws_owner_of(found->creator, &provider->own_arena);
    if (owner.len > 0 && provider->account.len == 0) {
        struct str source = aws_client_source(provider->client); /* "profile work: sso" */
        struct str name = str_cut(&source, ':');
        provider->owner = owner;
        (void)str_cut(&owner, ' ');
        provider->account = arena_printf(&provider->own_arena, "%.*s%s%.*s%s", STR_ARG(owner),
                                         name.len > 0 ? " (" : "", STR_ARG(name),
                                         name.len > 0 ? ")" : "");
    }
    if (!str_eq(provider->uid, found->uid)) {
        provider->uid = arena_str(&provider->own_arena, found->uid);
        provider->is_new = false;
        provider->own_group = provider->own_key = provider->own_profile = STR("");
        known_ids_renew(&provider->known, INT64_MAX);
    }
}

enum aws_ask lease_object_ask_find(struct aws_workflow *op, struct aws_request *request)
{
    return op->provider->uid.len > 0 ? ASK_NOTHING : lease_object_ask(op, request);
}

enum aws_next lease_object_on_find(struct aws_workflow *op, const struct aws_result *result)
{
    struct lease_object found;
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    if (!lease_object_read(op, result, &found)) {
        op->has_no_cluster = true;
        return NEXT_END;
    }
    if (found.uid.len == 0) {
        return lease_object_not_ours(op);
    }
    lease_object_remember(op->provider, &found);
    return NEXT_NEXT;
}

/* ---- shared by all lease operations ---- */

int64_t lease_now(const struct aws_workflow *op)
{
    return aws_client_now(op->provider->client);
}

/* A blind claim assumes that version E is epoch E. It is not offered if the lease object was
 * recreated, because there is a base then. */
static struct str hand_over_name(const struct aws_provider *provider)
{
    return provider->epoch_base == 0 ? provider->lease_object : STR("");
}

void lease_tell_own(struct lease_op *lease)
{
    const struct aws_provider *provider = lease->op.provider;
    lease->lease = (struct cluster_lease){.uid = provider->uid,
                                          .epoch = provider->epoch,
                                          .holder = provider->lease_holder,
                                          .since = provider->lease_since,
                                          .until = provider->lease_until,
                                          .lease_object = hand_over_name(provider),
                                          .account = provider->account};
    lease->tells_lease = true;
}

enum aws_next lease_lost_to(struct lease_op *lease, const struct lease_claim *claim, struct str tag)
{
    lease->lease = (struct cluster_lease){.uid = lease->op.provider->uid,
                                          .epoch = lease_claim_epoch(claim),
                                          .holder = claim->holder,
                                          .since = claim->since,
                                          .until = lease_tag_end(claim, tag),
                                          .account = lease->op.provider->account};
    lease->tells_lease = true;
    return workflow_end(&lease->op, OUTCOME_MISMATCH, ERR_EXISTS,
                        "the cluster lease is held by %.*s (epoch %" PRIu64 ")",
                        STR_ARG(claim->holder), lease_claim_epoch(claim));
}

void lease_finish(struct aws_workflow *op)
{
    struct lease_op *lease = lease_of(op);
    lease->done(lease->context, &op->answer, lease->tells_lease ? &lease->lease : NULL);
}

void lease_object_read_claims(struct lease_op *lease, const struct aws_result *result,
                              uint64_t first)
{
    struct arena *arena = &lease->op.arena;
    size_t capacity = 0;
    lease->claim_count = 0;
    for (size_t i = 0; i < result->page_count; i++) {
        const struct xml_element *list = xml_child(result->pages[i], "launchTemplateVersionSet");
        for (const struct xml_element *item = list ? list->first : NULL; item; item = item->next) {
            ARENA_PUSH(arena, lease->claims, lease->claim_count, capacity) = lease_claim_read(
                lease_object_number_in(item, "versionNumber"),
                xml_child_text(item, "versionDescription"), arena);
        }
    }
    lease->chain = lease_chain_walk(lease->claims, lease->claim_count, first);
}

enum aws_ask lease_object_ask_versions(struct lease_op *lease, struct aws_request *request,
                                       struct str id, uint64_t first)
{
    struct arena *arena = &lease->op.arena;
    struct param *input = param_new_map(arena);
    param_add_text(input, "LaunchTemplateId", id, arena);
    param_add_text(input, "MinVersion", arena_printf(arena, "%" PRIu64, first), arena);
    param_add_number(input, "MaxResults", VERSIONS_PER_PAGE, arena);
    return ask_pages(request, "DescribeLaunchTemplateVersions", input);
}

bool lease_object_is_gone(const struct aws_result *result)
{
    return result_has_code(result, "InvalidLaunchTemplateId.NotFound") ||
           result_has_code(result, "InvalidLaunchTemplateId.NotFoundException") ||
           result_has_code(result, "InvalidLaunchTemplateName.NotFoundException");
}

void lease_hold(struct lease_op *lease, int64_t until)
{
    struct aws_provider *provider = lease->op.provider;
    int64_t now_ms = loop_now_ms(provider->loop);
    int64_t until_ms = until * 1000;
    /* The earlier of two limits: from before the claim was sent, and by AWS's clock now. */
    int64_t by_claim = lease->asked_ms > 0 ? lease->asked_ms + lease->lease_ms : INT64_MAX;
    int64_t by_server = now_ms + until_ms - aws_client_now_ms(provider->client);
    provider->lease_until = until;
    provider->lease_ends_ms = by_claim < by_server ? by_claim : by_server;
    aws_client_set_lease(provider->client, &(struct aws_lease){provider->lease_ends_ms, until_ms});
}

void lease_lose(struct aws_provider *provider)
{
    provider->epoch = 0;
    aws_client_set_lease(provider->client, NULL);
}

/* By both clocks: our estimate of AWS's clock may be wrong, and ours does not know the stored
 * time. */
static bool lease_object_has_ended(const struct aws_workflow *op)
{
    const struct aws_provider *provider = op->provider;
    return lease_now(op) >= provider->lease_until ||
           loop_now_ms(provider->loop) >= provider->lease_ends_ms;
}

/* ---- renewing and releasing ---- */

static uint64_t lease_object_own_version(const struct aws_provider *provider)
{
    return provider->epoch - provider->epoch_base;
}

static enum aws_ask ask_still_ours(struct aws_workflow *op, struct aws_request *request)
{
    struct aws_provider *provider = op->provider;
    if (provider->epoch == 0 || (!lease_of(op)->done_release && lease_object_has_ended(op))) {
        lease_lose(provider);
        workflow_end(
            op, lease_of(op)->done_release ? OUTCOME_DONE : OUTCOME_MISMATCH, ERR_EXISTS,
            "the lease expired before it was renewed: this machine was suspended, or AWS did not "
            "answer");
        return ASK_NOTHING;
    }
    return lease_object_ask_versions(lease_of(op), request, provider->lease_object,
                                     lease_object_own_version(provider));
}

static enum aws_next on_still_ours(struct aws_workflow *op, const struct aws_result *result)
{
    struct lease_op *lease = lease_of(op);
    struct aws_provider *provider = op->provider;
    if (lease_object_is_gone(result)) {
        lease_lose(provider);
        return workflow_end(op, OUTCOME_MISMATCH, ERR_NOT_FOUND,
                            "the cluster's lease object was deleted");
    }
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    lease_object_read_claims(lease, result, lease_object_own_version(provider));
    if (!lease->chain.last) {
        return workflow_not_yet(op,
                                "AWS does not list this machine's own claim on the cluster lease");
    }
    if (lease->chain.last->number != lease_object_own_version(provider)) {
        lease_lose(provider);
        return lease_lost_to(lease, lease->chain.last, STR(""));
    }
    return NEXT_NEXT;
}

static enum aws_ask ask_write_end(struct aws_workflow *op, struct aws_request *request)
{
    struct lease_op *lease = lease_of(op);
    struct aws_provider *provider = op->provider;
    struct arena *arena = &op->arena;
    struct param *input = param_new_map(arena);
    lease->asked_ms = loop_now_ms(provider->loop);
    lease->until = lease->done_release ? 0 : lease_now(op) + lease->lease_ms / 1000;
    param_add_text(param_add_list(input, "Resources", arena), "", provider->lease_object, arena);
    param_add_tag(param_add_list(input, "Tags", arena), STR(TAG_LEASE_UNTIL),
                  lease_tag_write(provider->epoch, lease->until, arena), arena);
    return ask_change(request, "CreateTags", input);
}

static enum aws_next on_write_end(struct aws_workflow *op, const struct aws_result *result)
{
    return result->reply->is_ok ? NEXT_NEXT : workflow_fail(op, result);
}

/* A renewal is valid only if it completed before the old expiry: later, another process may already
 * have taken the lease. */
static void finish_renew(struct aws_workflow *op)
{
    struct lease_op *lease = lease_of(op);
    struct aws_provider *provider = op->provider;
    if (op->answer.outcome == OUTCOME_DONE && lease_object_has_ended(op)) {
        workflow_end(op, OUTCOME_MISMATCH, ERR_TIMEOUT,
                     "the lease expired before it could be renewed");
        lease_lose(provider);
    }
    if (op->answer.outcome == OUTCOME_DONE) {
        lease_hold(lease, lease->until);
        lease_tell_own(lease);
    }
    lease_finish(op);
}

void aws_renew(struct provider *base, int64_t lease_ms, provider_lease_fn *done, void *context)
{
    /* Reads first: a former holder must not overwrite the expiry of its successor. */
    static const struct aws_step steps[] = {
        {ask_still_ours, on_still_ours},
        {ask_write_end, on_write_end},
        {ask_still_ours, on_still_ours},
    };
    struct aws_provider *provider = aws_provider_of(base);
    struct lease_op *lease = WORKFLOW_NEW(provider, struct lease_op, steps, LEASE_OP_MS,
                                          finish_renew);
    lease->lease_ms = lease_ms;
    lease->done = done;
    lease->context = context;
    workflow_start(&lease->op);
}

static void finish_release(struct aws_workflow *op)
{
    struct lease_op *lease = lease_of(op);
    if (op->answer.outcome == OUTCOME_DONE || op->answer.outcome == OUTCOME_MISMATCH) {
        op->answer.outcome = OUTCOME_DONE; /* the lease is not ours any more: nothing to do */
        lease_lose(op->provider);
    }
    lease->done_release(lease->context, &op->answer);
}

void aws_release(struct provider *base, provider_done_fn *done, void *context)
{
    static const struct aws_step steps[] = {
        {ask_still_ours, on_still_ours},
        {ask_write_end, on_write_end},
    };
    struct aws_provider *provider = aws_provider_of(base);
    struct lease_op *lease = WORKFLOW_NEW(provider, struct lease_op, steps, LEASE_OP_MS,
                                          finish_release);
    lease->done_release = done;
    lease->context = context;
    workflow_start(&lease->op);
}

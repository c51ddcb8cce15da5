/*
 * lease_acquire.c: takes the lease with a claim on the lease object, which is created if it is
 * missing and that is allowed.
 *
 * Creating it decides which cluster has the name. So instances with this name are listed first:
 * their uid, or the one in the caller's journal, is reused; a new one is generated only if there is
 * neither.
 */
#include "base/encode.h"
#include "base/panic.h"
#include "provider/aws/cluster/aws_names.h"
#include "provider/aws/cluster/lease_internal.h"

#include <inttypes.h>
#include <openssl/rand.h>

enum {
    UID_BYTES = 16,
    OLD_CLAIMS_MAX = 100,  /* if there are more claims, old ones are deleted; AWS allows 10,000 */
    DELETED_AT_ONCE = 200, /* AWS's limit per call */
    BLIND_LATE_S = 5,
};

enum {
    TAKE_FIND,
    TAKE_NAMED,
    TAKE_CREATE,
    TAKE_READ,
    TAKE_ASK_END,
    TAKE_CLAIM,
    TAKE_MOVE_BASE,
    TAKE_DELETE
};

static struct str random_hex(size_t bytes, struct arena *arena)
{
    uint8_t noise[UID_BYTES];
    AUTO_BUF struct buf out;
    if (bytes > sizeof(noise) || RAND_bytes(noise, (int)bytes) != 1) {
        panic("cannot read random bytes from the system");
    }
    buf_init(&out, 2 * sizeof(noise));
    encode_hex(&out, noise, bytes);
    return arena_str(arena, buf_str(&out));
}

/* Nothing is launched from the template, but AWS requires some content. */
static void add_template_data(struct param *input, struct arena *arena)
{
    param_add_text(param_add_map(input, "LaunchTemplateData", arena),
                   "InstanceInitiatedShutdownBehavior", STR("terminate"), arena);
}

static enum aws_next won(struct lease_op *lease, const struct lease_claim *claim)
{
    struct aws_provider *provider = lease->op.provider;
    provider->epoch = lease_claim_epoch(claim);
    provider->epoch_base = claim->base;
    provider->lease_since = claim->since;
    lease_hold(lease, claim->until);
    provider->lease_holder = arena_str(&provider->own_arena, lease->holder);
    lease_tell_own(lease);
    bool has_many = lease->found.base > 0 && claim->number - lease->found.base >= OLD_CLAIMS_MAX;
    return has_many ? workflow_goto(&lease->op, TAKE_MOVE_BASE) : NEXT_END;
}

/* ---- finding the lease object ---- */

static enum aws_next take_on_find(struct aws_workflow *op, const struct aws_result *result)
{
    struct lease_op *lease = lease_of(op);
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    lease->has_looked = true;
    lease->is_blind = false;
    if (!lease_object_read(op, result, &lease->found)) {
        lease->found = (struct lease_object){0};
        return workflow_goto(op, lease->has_named ? TAKE_CREATE : TAKE_NAMED);
    }
    if (lease->found.uid.len == 0) {
        return lease_object_not_ours(op);
    }
    if (lease->known_uid.len > 0 && !str_eq(lease->found.uid, lease->known_uid)) {
        return workflow_goto(op, TAKE_NAMED); /* is the journal's cluster still alive? */
    }
    lease_object_remember(op->provider, &lease->found);
    return workflow_goto(op, TAKE_READ);
}

/* ---- instances with this name ---- */

/* The lease object belongs to another cluster. The caller's journal may be dropped only if nothing
 * of its own cluster is left. */
static enum aws_next meet_other(struct lease_op *lease, const struct lease_by_name *named)
{
    if (lease_by_name_has(named, lease->known_uid)) {
        return workflow_end(
            &lease->op, OUTCOME_INVALID, ERR_EXISTS,
            "two clusters are called %.*s: the journal on this machine belongs to the one with "
            "shoal-cluster-uid %.*s, which still has instances, but the lease object belongs to "
            "%.*s. Terminate the instances of one of them, then run the command again",
            STR_ARG(lease->op.provider->cluster->name), STR_ARG(lease->known_uid),
            STR_ARG(lease->found.uid));
    }
    lease_object_remember(lease->op.provider, &lease->found);
    return workflow_goto(&lease->op, TAKE_READ);
}

static enum aws_next too_many(struct lease_op *lease, const struct lease_by_name *named)
{
    return workflow_end(
        &lease->op, OUTCOME_INVALID, ERR_EXISTS,
        "the lease object of %.*s (launch template %.*s) is missing, and the instances with that "
        "cluster name belong to %zu clusters (shoal-cluster-uid %.*s, %.*s%s). Terminate the "
        "instances of all but one of them, then run the command again",
        STR_ARG(lease->op.provider->cluster->name),
        STR_ARG(aws_lease_name(lease->op.provider->cluster->name, &lease->op.arena)),
        named->uid_count, STR_ARG(named->uids[0]), STR_ARG(named->uids[1]),
        named->uid_count > 2 ? ", ..." : "");
}

/* The epochs of a recreated lease object must be above all epochs of the old one, because launch
 * tokens contain them. A lease is never taken once per second for years, so the seconds since 2025
 * are large enough. They fit in 32 bits until 2161. */
static uint64_t base_for_again(const struct lease_op *lease)
{
    enum { START_OF_2025 = 1735689600 };
    int64_t passed = lease_now(&lease->op) - START_OF_2025;
    uint64_t base = passed > 0 ? (uint64_t)passed : 0;
    return base > lease->known_epoch ? base : lease->known_epoch;
}

/* There is none, and we must not create it. Operations that need only the uid still work. */
static enum aws_next lease_acquire_is_missing(struct lease_op *lease)
{
    struct aws_provider *provider = lease->op.provider;
    if (lease->new_uid.len > 0) {
        lease_object_remember(provider, &(struct lease_object){.uid = lease->new_uid});
    }
    lease->lease = (struct cluster_lease){.uid = provider->uid};
    lease->tells_lease = true;
    return workflow_end(&lease->op, OUTCOME_NOT_FOUND, ERR_NOT_FOUND,
                        "the lease object (launch template %.*s) does not exist",
                        STR_ARG(aws_lease_name(provider->cluster->name, &lease->op.arena)));
}

static enum aws_next take_on_named(struct aws_workflow *op, const struct aws_result *result)
{
    struct lease_op *lease = lease_of(op);
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    struct lease_by_name named = lease_by_name_read(op, result);
    if (lease->found.id.len > 0) {
        return meet_other(lease, &named);
    }
    if (named.uid_count > 1) {
        return too_many(lease, &named);
    }
    lease->has_named = true;
    lease->new_uid = named.uid_count > 0 ? named.uids[0] : lease->known_uid;
    if (!lease->may_create) {
        return lease_acquire_is_missing(lease);
    }
    lease->is_minted = lease->new_uid.len == 0;
    lease->new_base = lease->is_minted ? 0 : base_for_again(lease);
    if (lease->is_minted) {
        lease->new_uid = random_hex(UID_BYTES, &op->arena);
    }
    return NEXT_NEXT;
}

/* ---- creating the lease object ---- */

/* Builds a claim on the state that was read. Built only once: retries must send the same text. */
static struct str new_claim(struct lease_op *lease, uint64_t after, uint64_t base)
{
    int64_t now = lease_now(&lease->op);
    lease->asked_ms = loop_now_ms(lease->op.provider->loop);
    lease->until = now + lease->lease_ms / 1000;
    return lease_claim_write(&(struct lease_claim){.after = after,
                                                   .base = base,
                                                   .since = now,
                                                   .until = lease->until,
                                                   .nonce = lease->nonce,
                                                   .holder = lease->holder},
                             &lease->op.arena);
}

/* The file names the head's instance profile. */
static bool makes_no_role(const struct aws_provider *provider)
{
    bool makes_none = provider->has_facts;
    for (size_t i = 0; makes_none && i < provider->cluster->type_count; i++) {
        makes_none = !provider->facts.types[i].makes_profile;
    }
    return makes_none;
}

static enum aws_ask take_ask_create(struct aws_workflow *op, struct aws_request *request)
{
    struct lease_op *lease = lease_of(op);
    struct arena *arena = &op->arena;
    struct param *input = param_new_map(arena);
    if (lease->first_claim.len == 0) {
        lease->first_claim = new_claim(lease, 0, lease->new_base);
    }
    param_add_text(input, "LaunchTemplateName", aws_lease_name(op->provider->cluster->name, arena),
                   arena);
    param_add_text(input, "VersionDescription", lease->first_claim, arena);
    add_template_data(input, arena);
    struct param *spec = param_add_map(param_add_list(input, "TagSpecifications", arena), "",
                                       arena);
    param_add_text(spec, "ResourceType", STR("launch-template"), arena);
    struct param *tags = param_add_list(spec, "Tags", arena);
    param_add_tag(tags, STR(TAG_CLUSTER_UID), lease->new_uid, arena);
    param_add_tag(tags, STR("ray-cluster-name"), op->provider->cluster->name, arena);
    if (lease->is_minted && makes_no_role(op->provider)) {
        param_add_tag(tags, STR(TAG_LEASE_ROLE), STR("none"), arena);
    }
    param_add_tags(tags, provider_tags(op->provider->cluster), arena);
    param_add_text(input, "ClientToken", lease->nonce, arena);
    return ask_change(request, "CreateLaunchTemplate", input);
}

/* On a head: its role may claim the lease but not create the lease object. */
static enum aws_next cannot_create(struct aws_workflow *op, const struct aws_result *result)
{
    struct str name = aws_lease_name(op->provider->cluster->name, &op->arena);
    return workflow_end(
        op, OUTCOME_DENIED, result->reply->err.kind,
        "the lease object (launch template %.*s) does not exist, and this machine is not allowed "
        "to create it; run `shoal up` on the machine that created the cluster: %s",
        STR_ARG(name), result->reply->err.text);
}

static enum aws_next take_on_create(struct aws_workflow *op, const struct aws_result *result)
{
    struct lease_op *lease = lease_of(op);
    if (result_has_code(result, "InvalidLaunchTemplateName.AlreadyExistsException") ||
        result_has_code(result, "IdempotentParameterMismatch")) {
        op->at = TAKE_FIND; /* another process was first, or our own reply was lost */
        return lease->has_looked ? workflow_wait(op, result) : NEXT_REPEAT;
    }
    bool is_denied = !result->reply->is_ok && result->reply->error.class == AWS_AUTH;
    if (is_denied && !lease->has_looked) {
        return workflow_goto(op, TAKE_FIND); /* taking one may still be allowed */
    }
    if (is_denied) {
        return cannot_create(op, result);
    }
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    const struct xml_element *made = xml_child(result->root, "launchTemplate");
    if (xml_child_text(made, "launchTemplateId").len == 0) {
        op->at = TAKE_FIND;
        return workflow_wait(op, result);
    }
    lease_object_remember(
        op->provider,
        &(struct lease_object){.id = xml_child_text(made, "launchTemplateId"),
                               .uid = lease->new_uid,
                               .has_no_role = lease->is_minted && makes_no_role(op->provider),
                               .creator = xml_child_text(made, "createdBy")});
    op->provider->is_new = lease->is_minted;
    struct lease_claim claim = lease_claim_read(1, lease->first_claim, &op->arena);
    return won(lease, &claim);
}

static enum aws_ask take_ask_read(struct aws_workflow *op, struct aws_request *request)
{
    struct lease_op *lease = lease_of(op);
    return lease_object_ask_versions(lease, request, lease->found.id, lease->found.base);
}

/* The number of our own claim among those read; 0 if it is not there. */
static uint64_t own_number(const struct lease_op *lease)
{
    for (size_t i = 0; i < lease->claim_count; i++) {
        if (lease->claims[i].is_readable && str_eq(lease->claims[i].nonce, lease->nonce)) {
            return lease->claims[i].number;
        }
    }
    return 0;
}

static enum aws_next take_on_read(struct aws_workflow *op, const struct aws_result *result)
{
    struct lease_op *lease = lease_of(op);
    if (lease_object_is_gone(result)) {
        op->at = TAKE_FIND;
        return workflow_wait(op, result);
    }
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    lease_object_read_claims(lease, result, lease->found.base);
    const struct lease_claim *last = lease->chain.last;
    uint64_t own = own_number(lease);
    /* Numbers have no gaps: a missing one exists but is not visible yet. */
    if (!lease->chain.is_whole || lease->chain.highest < lease->found.highest ||
        lease->chain.highest < lease->made) {
        return workflow_not_yet(op, "AWS does not list all claims on the cluster lease");
    }
    if (own > 0) {
        return own == last->number ? won(lease, last) : lease_lost_to(lease, last, STR(""));
    }
    return NEXT_NEXT;
}

static enum aws_ask take_ask_end(struct aws_workflow *op, struct aws_request *request)
{
    struct lease_op *lease = lease_of(op);
    struct param *input = param_new_map(&op->arena);
    input_filter(input, "resource-id", lease->found.id, &op->arena);
    return ask_pages(request, "DescribeTags", input);
}

static struct str lease_tag(const struct aws_result *result)
{
    for (size_t i = 0; i < result->page_count; i++) {
        const struct xml_element *list = xml_child(result->pages[i], "tagSet");
        for (const struct xml_element *item = list ? list->first : NULL; item; item = item->next) {
            if (str_is(xml_child_text(item, "key"), TAG_LEASE_UNTIL)) {
                return xml_child_text(item, "value");
            }
        }
    }
    return STR("");
}

static enum aws_next take_on_end(struct aws_workflow *op, const struct aws_result *result)
{
    struct lease_op *lease = lease_of(op);
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    const struct lease_claim *last = lease->chain.last;
    struct str tag = lease_tag(result);
    if (!lease_is_free(last, tag, lease_now(op)) && lease->take_from != lease_claim_epoch(last)) {
        return lease_lost_to(lease, last, tag);
    }
    lease->claim = new_claim(lease, last->number, last->base);
    return NEXT_NEXT;
}

static enum aws_ask take_ask_claim(struct aws_workflow *op, struct aws_request *request)
{
    struct lease_op *lease = lease_of(op);
    struct arena *arena = &op->arena;
    struct param *input = param_new_map(arena);
    param_add_text(input, "LaunchTemplateId", lease->found.id, arena);
    param_add_text(input, "VersionDescription", lease->claim, arena);
    add_template_data(input, arena);
    param_add_text(input, "ClientToken", lease->nonce, arena);
    return ask_change(request, "CreateLaunchTemplateVersion", input);
}

/*
 * A blind claim may be the first call of this process: if it was refused once because of a wrong
 * clock, its times are wrong, and others would rely on them.
 */
static bool is_timely(const struct aws_workflow *op, const struct lease_claim *claim)
{
    int64_t late = lease_now(op) - claim->since;
    return late >= -BLIND_LATE_S && late <= BLIND_LATE_S;
}

/* Replaces our own lease by one with correct times. */
static enum aws_next take_again(struct lease_op *lease)
{
    lease->take_from = lease->made; /* blind claims have no base */
    lease->made = 0;
    lease->nonce = random_hex(LEASE_NONCE_LEN / 2, &lease->op.arena);
    return workflow_goto(&lease->op, TAKE_FIND);
}

static enum aws_next take_on_claim(struct aws_workflow *op, const struct aws_result *result)
{
    struct lease_op *lease = lease_of(op);
    if (lease_object_is_gone(result)) {
        op->at = TAKE_FIND;
        return workflow_wait(op, result);
    }
    if (result_has_code(result, "IdempotentParameterMismatch")) {
        /* An earlier try created it, but it is not visible yet. */
        op->at = lease->is_blind ? TAKE_FIND : TAKE_READ;
        return workflow_wait(op, result);
    }
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    lease->made = lease_object_number_in(xml_child(result->root, "launchTemplateVersion"),
                                         "versionNumber");
    struct lease_claim claim = lease_claim_read(lease->made, lease->claim, &op->arena);
    bool is_next = lease->made == lease->chain.highest + 1; /* no other claim in between */
    if (is_next && lease->is_blind && !is_timely(op, &claim)) {
        return take_again(lease);
    }
    if (is_next) {
        return won(lease, &claim);
    }
    return workflow_goto(op, lease->is_blind ? TAKE_FIND : TAKE_READ);
}

/* ---- deleting old claims ---- */

/* Failures from here on are retried by the next process that takes the lease. */
static enum aws_next on_and_go_on(struct aws_workflow *op, const struct aws_result *result)
{
    if (!result->reply->is_ok) {
        log_write(op->provider->log, LOG_LEVEL_DEBUG, "cannot delete old claims error=%s",
                  result->reply->err.text);
        return NEXT_END;
    }
    return NEXT_NEXT;
}

static uint64_t lease_acquire_own_version(const struct aws_provider *provider)
{
    return provider->epoch - provider->epoch_base;
}

static enum aws_ask take_ask_move_base(struct aws_workflow *op, struct aws_request *request)
{
    struct arena *arena = &op->arena;
    struct param *input = param_new_map(arena);
    param_add_text(input, "LaunchTemplateId", op->provider->lease_object, arena);
    param_add_text(input, "DefaultVersion",
                   arena_printf(arena, "%" PRIu64, lease_acquire_own_version(op->provider)), arena);
    return ask_change(request, "ModifyLaunchTemplate", input);
}

static enum aws_ask take_ask_delete(struct aws_workflow *op, struct aws_request *request)
{
    const struct lease_op *lease = lease_of(op);
    struct arena *arena = &op->arena;
    struct param *input = param_new_map(arena);
    param_add_text(input, "LaunchTemplateId", op->provider->lease_object, arena);
    struct param *list = param_add_list(input, "LaunchTemplateVersions", arena);
    uint64_t first = lease->found.base;
    for (uint64_t i = first;
         i < lease_acquire_own_version(op->provider) && i < first + DELETED_AT_ONCE; i++) {
        param_add_text(list, "", arena_printf(arena, "%" PRIu64, i), arena);
    }
    return ask_change(request, "DeleteLaunchTemplateVersions", input);
}

static void finish_take(struct aws_workflow *op)
{
    struct lease_op *lease = lease_of(op);
    if (lease->tells_lease && op->provider->epoch > 0 &&
        lease->lease.epoch == op->provider->epoch) {
        op->answer.outcome = OUTCOME_DONE;
    }
    /* If this process tries again, it may find that it already has the lease. */
    bool is_open = op->may_have_acted && op->answer.outcome != OUTCOME_DONE &&
                   op->answer.outcome != OUTCOME_MISMATCH;
    op->provider->open_nonce = is_open ? arena_str(&op->provider->own_arena, lease->nonce)
                                       : STR("");
    lease_finish(op);
}

/*
 * Chooses the first step. A process to which the lease was handed over knows the state of the lease
 * object and need not read it: if that state is outdated, AWS gives the claim a number other than
 * the next one, and the claim is invalid.
 */
static size_t first_step(struct lease_op *lease, const struct take_request *request)
{
    struct aws_provider *provider = lease->op.provider;
    if (provider->open_nonce.len > 0) {
        return TAKE_FIND; /* we may already have it */
    }
    if (request->from > 0 && request->lease_object.len > 0 && request->uid.len > 0) {
        struct arena *arena = &lease->op.arena;
        lease->found = (struct lease_object){.id = arena_str(arena, request->lease_object),
                                             .uid = arena_str(arena, request->uid)};
        lease_object_remember(provider, &lease->found);
        lease->chain.highest = request->from;
        lease->claim = new_claim(lease, request->from, 0);
        lease->is_blind = true;
        return TAKE_CLAIM;
    }
    return request->is_new && provider->lease_object.len == 0 ? TAKE_NAMED : TAKE_FIND;
}

void aws_take(struct provider *base, const struct take_request *request, provider_lease_fn *done,
              void *context)
{
    static const struct aws_step steps[] = {
        [TAKE_FIND] = {lease_object_ask, take_on_find},
        [TAKE_NAMED] = {lease_by_name_ask, take_on_named},
        [TAKE_CREATE] = {take_ask_create, take_on_create},
        [TAKE_READ] = {take_ask_read, take_on_read},
        [TAKE_ASK_END] = {take_ask_end, take_on_end},
        [TAKE_CLAIM] = {take_ask_claim, take_on_claim},
        [TAKE_MOVE_BASE] = {take_ask_move_base, on_and_go_on},
        [TAKE_DELETE] = {take_ask_delete, on_and_go_on},
    };
    struct aws_provider *provider = aws_provider_of(base);
    struct lease_op *lease = WORKFLOW_NEW(provider, struct lease_op, steps, LEASE_OP_MS,
                                          finish_take);
    lease->holder = arena_str(&lease->op.arena, request->holder);
    lease->lease_ms = request->lease_ms;
    lease->take_from = request->from;
    lease->may_create = request->may_create;
    lease->known_uid = arena_str(&lease->op.arena, request->known_uid);
    lease->known_epoch = request->known_epoch;
    lease->done = done;
    lease->context = context;
    lease->nonce = provider->open_nonce.len > 0 ? provider->open_nonce
                                                : random_hex(LEASE_NONCE_LEN / 2, &lease->op.arena);
    lease->op.at = first_step(lease, request);
    lease_lose(provider);
    workflow_start(&lease->op);
}

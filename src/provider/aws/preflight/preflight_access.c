/* preflight_access.c: checks the key pair and the instance profiles. */
#include "provider/aws/preflight/preflight_internal.h"

#include "base/buf.h"
#include "base/suggest.h"

enum { KEYS_SHOWN = 5 };

/* ---- key pairs ---- */

static const struct ec2_key *preflight_access_find_key(const struct judge *judge, struct str name)
{
    const struct ec2_keys *keys = &judge->answers->keys;
    for (size_t i = 0; i < keys->count; i++) {
        if (str_eq(keys->items[i].name, name)) {
            return &keys->items[i];
        }
    }
    return NULL;
}

/* Suggests the most similar one, or lists the existing ones. */
static struct str key_remedy(const struct judge *judge, struct str name)
{
    AUTO_BUF struct buf out;
    const struct ec2_keys *keys = &judge->answers->keys;
    struct suggest suggest;
    suggest_start(&suggest, name);
    buf_init(&out, 4096);
    for (size_t i = 0; i < keys->count; i++) {
        suggest_offer(&suggest, keys->items[i].name);
        if (i < KEYS_SHOWN) {
            buf_addf(&out, "%s%.*s",
                     i > 0 ? ", " : "existing key pairs: ", STR_ARG(keys->items[i].name));
        }
    }
    struct str best = suggest_best(&suggest);
    if (best.len > 0) {
        return arena_printf(judge->arena, "did you mean \"%.*s\"?", STR_ARG(best));
    }
    if (keys->count == 0) {
        return STR("there are no key pairs; remove KeyName and auth.ssh_private_key, and Shoal "
                   "creates one");
    }
    buf_add_c(&out, keys->count > KEYS_SHOWN ? ", ..." : "");
    return arena_str(judge->arena, buf_str(&out));
}

static void describe_key(struct judge *judge, const struct ec2_key *key, struct str types)
{
    const struct preflight_answers *answers = judge->answers;
    struct str file = judge->request->private_key;
    struct str rest = key->public_key;
    struct str kind = str_cut(&rest, ' ');
    if (answers->key_state == PREFLIGHT_KEY_READ && key->public_key.len > 0) {
        judge_add(judge, FINDING_FINE, "key", "%.*s, %.*s, with %.*s%.*s", STR_ARG(key->name),
                  STR_ARG(kind), STR_ARG(file), STR_ARG(types));
        return;
    }
    const char *why = answers->key_state == PREFLIGHT_KEY_LOCKED ? "it has a passphrase"
                      : key->public_key.len == 0 ? "AWS does not return its public key"
                                                 : "it could not be read";
    judge_add(judge, FINDING_FINE, "key", "%.*s (not compared with %.*s: %s)%.*s",
              STR_ARG(key->name), STR_ARG(file), why, STR_ARG(types));
}

static void judge_named_key(struct judge *judge, const struct requested_type *type,
                            const bool *counts)
{
    const struct preflight_answers *answers = judge->answers;
    const struct ec2_key *key = preflight_access_find_key(judge, type->key);
    if (!key) {
        struct finding *missing = judge_add(judge, FINDING_ERROR, "key",
                                            "key pair \"%.*s\" does not exist in %.*s",
                                            STR_ARG(type->key), STR_ARG(answers->region));
        missing->path = judge_path(judge, type, "KeyName");
        missing->remedy = key_remedy(judge, type->key);
    } else if (answers->key_state == PREFLIGHT_KEY_READ && key->public_key.len > 0 &&
               !preflight_key_fits(key->public_key, answers->key_half)) {
        struct finding *other = judge_add(judge, FINDING_ERROR, "key",
                                          "%.*s is not the private key of key pair \"%.*s\"",
                                          STR_ARG(judge->request->private_key), STR_ARG(type->key));
        other->path = STR("auth.ssh_private_key");
        other->remedy = STR("set auth.ssh_private_key to the private key of this key pair, or "
                            "change KeyName");
    } else {
        describe_key(judge, key, judge_types(judge, counts));
    }
}

/* The file has auth.ssh_private_key. */
static void judge_own_keys(struct judge *judge, bool *counts)
{
    for (size_t i = 0; i < judge->request->type_count; i++) {
        const struct requested_type *type = &judge->request->types[i];
        bool is_first = type->key.len > 0;
        for (size_t j = 0; j < judge->request->type_count; j++) {
            counts[j] = str_eq(judge->request->types[j].key, type->key);
            is_first = is_first && (j >= i || !counts[j]);
        }
        judge->facts.types[i].key = type->key;
        if (is_first && judge_knows(judge, ASK_KEYS)) {
            judge_named_key(judge, type, counts);
        }
    }
}

/* The file has no auth.ssh_private_key: Ray then replaces KeyName with its own key pair. */
static void judge_made_key(struct judge *judge)
{
    const struct preflight_request *request = judge->request;
    bool is_there = request->key_pair.len > 0 &&
                    preflight_access_find_key(judge, request->key_pair);
    bool is_used = is_there && judge->answers->has_key_file;
    for (size_t i = 0; i < request->type_count; i++) {
        const struct requested_type *type = &request->types[i];
        judge->facts.types[i].key = is_used ? request->key_pair : STR("");
        judge->facts.types[i].makes_key = !is_used;
        if (type->key.len > 0 && !str_eq(type->key, request->key_pair)) {
            struct finding *unused = judge_add(judge, FINDING_WARNING, "key",
                                               "KeyName %.*s is ignored, as in Ray, because "
                                               "auth.ssh_private_key is not set",
                                               STR_ARG(type->key));
            unused->path = judge_path(judge, type, "KeyName");
            unused->remedy = STR("add: auth: {ssh_private_key: PATH}");
        }
    }
    if (is_used) {
        judge_add(judge, FINDING_FINE, "key", "%.*s, with ~/.ssh/%.*s.pem",
                  STR_ARG(request->key_pair), STR_ARG(request->key_pair));
    } else {
        judge_add(judge, FINDING_FINE, "key", "the cluster's own, created by shoal up%s%.*s%s",
                  is_there ? " (~/.ssh/" : "", STR_ARG(is_there ? request->key_pair : STR("")),
                  is_there ? ".pem does not exist)" : "");
    }
}

void judge_keys(struct judge *judge)
{
    bool *counts = ARENA_ARRAY(judge->arena, judge->request->type_count, bool);
    if (judge->request->private_key.len > 0) {
        judge_own_keys(judge, counts);
    } else {
        judge_made_key(judge);
    }
}

/* ---- instance profiles ---- */

static const struct requested_type *type_with_profile(const struct judge *judge, struct str name)
{
    for (size_t i = 0; i < judge->request->type_count; i++) {
        if (str_eq(preflight_profile_name(judge->request->types[i].profile), name)) {
            return &judge->request->types[i];
        }
    }
    return NULL;
}

static void judge_profile(struct judge *judge, const struct preflight_profile *profile)
{
    const struct requested_type *type = type_with_profile(judge, profile->name);
    struct finding *finding = NULL;
    if (profile->is_missing) {
        finding = judge_add(judge, FINDING_ERROR, "profile",
                            "instance profile \"%.*s\" does not exist in account %.*s",
                            STR_ARG(profile->name), STR_ARG(judge->facts.account));
    } else if (profile->is_found && profile->found.role.len == 0) {
        finding = judge_add(judge, FINDING_ERROR, "profile",
                            "instance profile \"%.*s\" has no role, so it grants no permissions",
                            STR_ARG(profile->name));
        finding->remedy = STR("add one: aws iam add-role-to-instance-profile");
    } else if (profile->is_found) {
        judge_add(judge, FINDING_FINE, "profile", "%.*s with role %.*s", STR_ARG(profile->name),
                  STR_ARG(profile->found.role));
    }
    if (finding && type) {
        finding->path = judge_path(judge, type, "IamInstanceProfile");
    }
}

/* A launch has parameters of ours for these, which replace the template's. */
static void judge_template_facts(struct judge *judge, size_t type)
{
    struct aws_type_facts *facts = &judge->facts.types[type];
    const struct param *data = judge->answers->templates ? judge->answers->templates[type] : NULL;
    facts->template = param_text(data, "LaunchTemplateId");
    facts->user_data = param_text(data, "UserData");
    facts->metadata = param_get(data, PARAM_MAP, "MetadataOptions");
}

/* The role of the head names what it may launch from, and ARNs of placement groups have names. */
static void judge_placement(struct judge *judge, const struct requested_type *type)
{
    const struct param *placement = param_get(type->own, PARAM_MAP, "Placement");
    if (param_text(placement, "GroupId").len > 0) {
        struct finding *finding = judge_add(judge, FINDING_ERROR, "profile",
                                            "the role of the head cannot be limited to a placement "
                                            "group by its id");
        finding->path = judge_path(judge, type, "Placement");
        finding->remedy = STR("use GroupName instead of GroupId, or set an IamInstanceProfile for "
                              "the head");
    }
}

void judge_profiles(struct judge *judge)
{
    bool makes_role = false;
    for (size_t i = 0; i < judge->request->profiles.count; i++) {
        judge_profile(judge, &judge->answers->profiles[i]);
    }
    for (size_t i = 0; i < judge->request->type_count; i++) {
        const struct requested_type *type = &judge->request->types[i];
        judge->facts.types[i].profile = type->profile;
        judge->facts.types[i].makes_profile = type->is_head && type->profile.len == 0;
        judge_template_facts(judge, i);
        if (judge->facts.types[i].makes_profile) {
            makes_role = true;
            judge_add(judge, FINDING_FINE, "profile", "the head's own role, created by shoal up%s",
                      judge->request->has_head_policies ? "" : ", without access to S3");
        }
    }
    for (size_t i = 0; makes_role && i < judge->request->type_count; i++) {
        judge_placement(judge, &judge->request->types[i]);
    }
}

/* prepare_key.c: imports the cluster's key pair, or compares it if it exists. */
#include "provider/aws/cluster/aws_names.h"
#include "provider/aws/cluster/prepare.h"

static struct str key_name(struct aws_workflow *op)
{
    return aws_own_name(op->provider->cluster->name, op->provider->uid, "", &op->arena);
}

static enum aws_ask prepare_key_ask_find(struct aws_workflow *op, struct aws_request *request)
{
    struct param *input = param_new_map(&op->arena);
    if (!prepare_of(op)->wants_key) {
        return ASK_NOTHING;
    }
    if (prepare_only_finds(prepare_of(op))) {
        prepare_add_thing(prepare_of(op), "key pair", key_name(op), "");
        return ASK_NOTHING;
    }
    if (!prepare_looks_first(op)) {
        return ASK_NOTHING;
    }
    input_filter(input, "key-name", key_name(op), &op->arena);
    param_add_bool(input, "IncludePublicKey", true, &op->arena);
    return ask_pages(request, "DescribeKeyPairs", input);
}

/* Compares "ssh-ed25519 AAAA...", without the comment. */
static bool is_same_key(struct str a, struct str b)
{
    struct str left = str_trim(a);
    struct str right = str_trim(b);
    return str_eq(str_cut(&left, ' '), str_cut(&right, ' ')) &&
           str_eq(str_cut(&left, ' '), str_cut(&right, ' '));
}

static enum aws_next prepare_key_on_find(struct aws_workflow *op, const struct aws_result *result)
{
    struct prepare_op *prepare = prepare_of(op);
    struct str name = key_name(op);
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    for (size_t i = 0; i < result->page_count; i++) {
        const struct xml_element *set = xml_child(result->pages[i], "keySet");
        for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
            if (!str_eq(xml_child_text(item, "keyName"), name)) {
                continue;
            }
            if (!str_eq(tag_in(item, TAG_CLUSTER_UID), op->provider->uid)) {
                return prepare_foreign(op, "key pair", name);
            }
            if (!is_same_key(xml_child_text(item, "publicKey"), prepare->public_key)) {
                return workflow_end(
                    op, OUTCOME_INVALID, ERR_AUTH,
                    "the cluster's key pair %.*s in AWS does not match the private key on this "
                    "machine: use the machine that created the cluster, or copy its key here",
                    STR_ARG(name));
            }
            prepare_add_thing(prepare, "key pair", name, "");
            return workflow_goto(op, PREPARE_FIND_GROUP);
        }
    }
    return NEXT_NEXT;
}

static enum aws_ask ask_import(struct aws_workflow *op, struct aws_request *request)
{
    struct param *input = param_new_map(&op->arena);
    if (!prepare_of(op)->wants_key || prepare_only_finds(prepare_of(op))) {
        return ASK_NOTHING;
    }
    param_add_text(input, "KeyName", key_name(op), &op->arena);
    param_add_text(input, "PublicKeyMaterial", prepare_of(op)->public_key, &op->arena);
    input_own_tags(input, op->provider, "key-pair", &op->arena);
    return ask_change(request, "ImportKeyPair", input);
}

static enum aws_next on_import(struct aws_workflow *op, const struct aws_result *result)
{
    if (result_has_code(result, "InvalidKeyPair.Duplicate")) {
        /* Created by our earlier try whose reply was lost, or by another owner. */
        return prepare_look(op, result, PREPARE_FIND_KEY);
    }
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    prepare_add_thing(prepare_of(op), "key pair", key_name(op), "new");
    return NEXT_NEXT;
}

const struct aws_step prepare_find_key = {prepare_key_ask_find, prepare_key_on_find};
const struct aws_step prepare_import_key = {ask_import, on_import};

/* prepare_key.c: the cluster's key pair: imported, and compared when it is there. */
#include "provider/aws/cluster/aws_names.h"
#include "provider/aws/cluster/prepare.h"

static struct str key_name(struct aws_script *op)
{
    return aws_own_name(op->provider->cluster->name, op->provider->uid, "", &op->arena);
}

static enum aws_ask ask_find(struct aws_script *op, struct aws_request *request)
{
    struct param *input = param_new_map(&op->arena);
    if (!prepare_of(op)->wants_key) {
        return ASK_NOTHING;
    }
    if (prepare_of(op)->only_finds) {
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

/* "ssh-ed25519 AAAA...": without the comment, which says nothing. */
static bool is_same_key(struct str a, struct str b)
{
    struct str left = str_trim(a);
    struct str right = str_trim(b);
    return str_eq(str_cut(&left, ' '), str_cut(&right, ' ')) &&
           str_eq(str_cut(&left, ' '), str_cut(&right, ' '));
}

static enum aws_turn hear_find(struct aws_script *op, const struct aws_heard *heard)
{
    struct prepare_op *prepare = prepare_of(op);
    struct str name = key_name(op);
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    for (size_t i = 0; i < heard->page_count; i++) {
        const struct xml_element *set = xml_child(heard->pages[i], "keySet");
        for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
            if (!str_eq(xml_child_text(item, "keyName"), name)) {
                continue;
            }
            if (!str_eq(tag_in(item, TAG_CLUSTER_UID), op->provider->uid)) {
                return prepare_foreign(op, "key pair", name);
            }
            if (!is_same_key(xml_child_text(item, "publicKey"), prepare->public_key)) {
                return op_end(op, OUTCOME_INVALID, ERR_AUTH,
                              "the cluster's key pair %.*s in AWS belongs to another private key "
                              "than the one on this machine: use the machine that made the "
                              "cluster, or copy its key here",
                              STR_ARG(name));
            }
            prepare_add_thing(prepare, "key pair", name, "");
            return op_goto(op, PREPARE_FIND_GROUP);
        }
    }
    return TURN_NEXT;
}

static enum aws_ask ask_import(struct aws_script *op, struct aws_request *request)
{
    struct param *input = param_new_map(&op->arena);
    if (!prepare_of(op)->wants_key || prepare_of(op)->only_finds) {
        return ASK_NOTHING;
    }
    param_add_text(input, "KeyName", key_name(op), &op->arena);
    param_add_text(input, "PublicKeyMaterial", prepare_of(op)->public_key, &op->arena);
    input_own_tags(input, op->provider, "key-pair", &op->arena);
    return ask_change(request, "ImportKeyPair", input);
}

static enum aws_turn hear_import(struct aws_script *op, const struct aws_heard *heard)
{
    if (heard_code(heard, "InvalidKeyPair.Duplicate")) {
        /* Ours, made by a try that was not answered, or another's. */
        return prepare_look(op, heard, PREPARE_FIND_KEY);
    }
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    prepare_add_thing(prepare_of(op), "key pair", key_name(op), "new");
    return TURN_NEXT;
}

const struct aws_step prepare_find_key = {ask_find, hear_find};
const struct aws_step prepare_import_key = {ask_import, hear_import};

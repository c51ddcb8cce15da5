/* sts_reply.c: reads STS replies; incomplete keys are an error. */
#include "provider/aws/wire/sts_reply.h"

#include "provider/aws/wire/xml_tree.h"
#include "provider/aws_time.h"

enum { BYTES_MAX = 256 * 1024 };

/* The element below <ActionResponse><ActionResult>; NULL with an error for any other reply. */
static const struct xml_element *result_of(struct str xml, struct arena *arena, struct err *err)
{
    const struct xml_element *root;
    if (xml.len > BYTES_MAX) {
        err_set(err, ERR_PROTOCOL, "more than %d bytes", BYTES_MAX);
        return NULL;
    }
    if (!xml_tree_parse(xml, arena, &root, err)) {
        return NULL;
    }
    const struct xml_element *result = root->first;
    if (!str_ends(root->name, "Response") || !result || !str_ends(result->name, "Result")) {
        err_set(err, ERR_PROTOCOL, "unexpected response");
        return NULL;
    }
    return result;
}

/* Visible ASCII only, because keys are sent in headers. */
static bool sts_reply_get(const struct xml_element *element, const char *name, struct str *ret_text,
                          struct err *err)
{
    struct str text = xml_child_text(element, name);
    if (text.len == 0) {
        return err_set(err, ERR_PROTOCOL, "%s is missing", name);
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~') {
            return err_set(err, ERR_PROTOCOL, "%s contains an invalid character", name);
        }
    }
    *ret_text = text;
    return true;
}

bool sts_identity_read(struct str xml, struct arena *arena, struct sts_identity *ret_identity,
                       struct err *err)
{
    struct sts_identity got;
    const struct xml_element *result = result_of(xml, arena, err);
    if (!result || !sts_reply_get(result, "Account", &got.account, err) ||
        !sts_reply_get(result, "Arn", &got.arn, err) ||
        !sts_reply_get(result, "UserId", &got.user_id, err)) {
        return false;
    }
    *ret_identity = got;
    return true;
}

bool sts_credentials_read(struct str xml, struct arena *arena,
                          struct aws_credentials *ret_credentials, struct err *err)
{
    struct aws_credentials got = {.account_id = STR("")};
    struct str expiration;
    const struct xml_element *result = result_of(xml, arena, err);
    if (!result) {
        return false;
    }
    const struct xml_element *keys = xml_child(result, "Credentials");
    if (!sts_reply_get(keys, "AccessKeyId", &got.access_key, err) ||
        !sts_reply_get(keys, "SecretAccessKey", &got.secret_key, err) ||
        !sts_reply_get(keys, "SessionToken", &got.session_token, err) ||
        !sts_reply_get(keys, "Expiration", &expiration, err)) {
        return false;
    }
    if (!aws_time_parse(expiration, &got.expires_at)) {
        return err_set(err, ERR_PROTOCOL, "Expiration is not a time");
    }
    *ret_credentials = got;
    return true;
}

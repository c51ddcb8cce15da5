/* query.c: derives wire names and writes the body. */
#include "provider/aws/wire/query.h"

#include "base/encode.h"

#include <inttypes.h>

enum { PREFIX_BYTES_MAX = 4096 };

/* ---- names ---- */

/* EC2 lists whose wire name is not the singular. */
static const struct {
    const char *parent; /* NULL: any parent */
    const char *name;
    const char *wire;
} odd_lists[] = {
    {"NetworkInterfaces", "Groups", "SecurityGroupId"},
    {"NetworkInterfaces", "Ipv6Addresses", "Ipv6Addresses"},
    {"NetworkInterfaces", "PrivateIpAddresses", "PrivateIpAddresses"},
    {"", "Groups", "GroupId"},
    {"", "Resources", "ResourceId"},
    {"", "ExecutableUsers", "ExecutableBy"},
    {"", "Versions", "LaunchTemplateVersion"},
    {NULL, "IpPermissions", "IpPermissions"},
    {NULL, "UserIdGroupPairs", "Groups"},
    {NULL, "IpRanges", "IpRanges"},
    {NULL, "Ipv6Ranges", "Ipv6Ranges"},
    {NULL, "PrefixListIds", "PrefixListIds"},
};

/* "Tags" to "Tag", "Addresses" to "Address", "Prefixes" to "Prefix", "Entries" to "Entry". */
static struct str singular(struct str name, struct arena *arena)
{
    if (str_ends(name, "ies")) {
        return arena_printf(arena, "%.*sy", STR_ARG(str_sub(name, 0, name.len - 3)));
    }
    if (str_ends(name, "sses") || str_ends(name, "xes")) {
        return str_sub(name, 0, name.len - 2);
    }
    return str_ends(name, "s") ? str_sub(name, 0, name.len - 1) : name;
}

/* The EC2 wire name of a list's items: "SecurityGroupIds" gives "SecurityGroupId". `parent` is the
 * name of the containing map, empty at the top. */
static struct str query_ec2_list_name(struct str parent, struct str name, struct arena *arena)
{
    for (size_t i = 0; i < ARRAY_LEN(odd_lists); i++) {
        if (str_is(name, odd_lists[i].name) &&
            (!odd_lists[i].parent || str_is(parent, odd_lists[i].parent))) {
            return str_from(odd_lists[i].wire);
        }
    }
    return singular(name, arena);
}

/* ---- writing ---- */

struct query_writer {
    enum query_service service;
    struct str action;
    struct buf *out;
    struct buf prefix; /* "BlockDeviceMapping.1.Ebs" */
    struct arena arena;
    int depth;
};

static void query_add_pair(struct query_writer *writer, struct str value)
{
    buf_add_c(writer->out, writer->out->len > 0 ? "&" : "");
    encode_uri(writer->out, buf_str(&writer->prefix), "");
    buf_add_char(writer->out, '=');
    encode_uri(writer->out, value, "");
}

/* Parameters that are base64 on the wire but plain text in the input. */
static bool is_blob(const struct query_writer *writer, const struct param *param)
{
    return writer->service == QUERY_EC2 && writer->depth == 1 &&
           ((str_is(writer->action, "RunInstances") && str_is(param->name, "UserData")) ||
            (str_is(writer->action, "ImportKeyPair") && str_is(param->name, "PublicKeyMaterial")));
}

static void query_write_text(struct query_writer *writer, const struct param *param)
{
    AUTO_BUF struct buf encoded;
    buf_init(&encoded, writer->out->cap);
    if (is_blob(writer, param)) {
        encode_base64(&encoded, param->text);
        query_add_pair(writer, buf_str(&encoded));
        /* A truncated text must not look complete. */
        writer->out->is_full = writer->out->is_full || encoded.is_full;
    } else {
        query_add_pair(writer, param->text);
    }
}

static void cut_prefix(struct query_writer *writer, size_t len)
{
    writer->prefix.len = len;
    if (writer->prefix.ptr) {
        writer->prefix.ptr[len] = '\0';
    }
}

static struct str wire_name(struct query_writer *writer, struct str parent,
                            const struct param *param)
{
    if (writer->service != QUERY_EC2) {
        return param->name;
    }
    if (param->kind == PARAM_LIST) {
        return query_ec2_list_name(parent, param->name, &writer->arena);
    }
    bool is_group = str_is(writer->action, "CreateSecurityGroup") && writer->depth == 0;
    bool is_default = str_is(writer->action, "ModifyLaunchTemplate") &&
                      str_is(param->name, "DefaultVersion");
    return is_group && str_is(param->name, "Description") ? STR("GroupDescription")
           : is_default                                   ? STR("SetDefaultVersion")
                                                          : param->name;
}

static bool write_param(struct query_writer *writer, const struct param *param, struct str parent,
                        struct err *err);

static bool query_write_map(struct query_writer *writer, const struct param *map, struct str parent,
                            struct err *err)
{
    size_t len = writer->prefix.len;
    for (const struct param *child = map->first; child; child = child->next) {
        buf_add_c(&writer->prefix, len > 0 ? "." : "");
        buf_add(&writer->prefix, wire_name(writer, parent, child));
        if (!write_param(writer, child, child->name, err)) {
            return false;
        }
        cut_prefix(writer, len);
    }
    return true;
}

static bool query_write_list(struct query_writer *writer, const struct param *list,
                             struct str parent, struct err *err)
{
    if (!list->first && writer->service != QUERY_EC2) {
        query_add_pair(writer, STR("")); /* IAM sends an empty list, EC2 does not */
    }
    buf_add_c(&writer->prefix, writer->service == QUERY_EC2 ? "" : ".member");
    size_t len = writer->prefix.len;
    size_t number = 1;
    for (const struct param *item = list->first; item; item = item->next, number++) {
        buf_addf(&writer->prefix, ".%zu", number);
        if (!write_param(writer, item, parent, err)) {
            return false;
        }
        cut_prefix(writer, len);
    }
    return true;
}

static bool query_write_value(struct query_writer *writer, const struct param *param,
                              struct str parent, struct err *err)
{
    char number[32];
    switch (param->kind) {
    case PARAM_TEXT:
        query_write_text(writer, param);
        return true;
    case PARAM_NUMBER:
        snprintf(number, sizeof(number), "%" PRId64, param->number);
        query_add_pair(writer, str_from(number));
        return true;
    case PARAM_BOOL:
        query_add_pair(writer, param->boolean ? STR("true") : STR("false"));
        return true;
    case PARAM_LIST:
        return query_write_list(writer, param, parent, err);
    case PARAM_MAP:
        return query_write_map(writer, param, parent, err);
    }
    return true;
}

/* `parent` is the name of the innermost named map or list. */
static bool write_param(struct query_writer *writer, const struct param *param, struct str parent,
                        struct err *err)
{
    if (writer->depth == QUERY_DEPTH_MAX || writer->prefix.is_full) {
        return err_set(err, ERR_CONFIG, "parameters of %.*s are nested too deeply",
                       STR_ARG(writer->action));
    }
    writer->depth++;
    bool ok = query_write_value(writer, param, parent, err);
    writer->depth--;
    return ok;
}

bool query_write(enum query_service service, const char *action, const struct param *input,
                 struct buf *out, struct err *err)
{
    static const char *const versions[] = {
        [QUERY_EC2] = "2016-11-15", [QUERY_IAM] = "2010-05-08", [QUERY_STS] = "2011-06-15"};
    struct query_writer writer = {.service = service, .action = str_from(action), .out = out};
    buf_init(&writer.prefix, PREFIX_BYTES_MAX);
    arena_init(&writer.arena);
    buf_addf(out, "Action=%s&Version=%s", action, versions[service]);
    bool ok = !input || query_write_map(&writer, input, STR(""), err);
    arena_clear(&writer.arena);
    buf_clear(&writer.prefix);
    if (ok && out->is_full) {
        ok = err_set(err, ERR_CONFIG, "the parameters of %s have more than %zu bytes", action,
                     out->cap);
    }
    return ok;
}

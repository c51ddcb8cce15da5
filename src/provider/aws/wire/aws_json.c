/* aws_json.c: writes parameters as JSON. */
#include "provider/aws/wire/aws_json.h"

#include "base/utf8.h"
#include "provider/aws/wire/query.h"

#include <inttypes.h>

static bool aws_json_write_value(const struct param *param, int depth, struct buf *out,
                                 struct err *err);

static bool aws_json_write_text(struct str text, struct buf *out, struct err *err)
{
    if (!utf8_is_valid(text)) {
        return err_set(err, ERR_CONFIG, "a parameter is not UTF-8");
    }
    buf_add_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '"' || c == '\\') {
            buf_add_char(out, '\\');
            buf_add_char(out, c);
        } else if ((unsigned char)c < ' ') {
            buf_addf(out, "\\u%04x", (unsigned)c);
        } else {
            buf_add_char(out, c);
        }
    }
    buf_add_char(out, '"');
    return true;
}

static bool write_children(const struct param *parent, int depth, struct buf *out, struct err *err)
{
    bool is_map = parent->kind == PARAM_MAP;
    buf_add_char(out, is_map ? '{' : '[');
    for (const struct param *child = parent->first; child; child = child->next) {
        buf_add_c(out, child == parent->first ? "" : ",");
        if (is_map) {
            if (!aws_json_write_text(child->name, out, err)) {
                return false;
            }
            buf_add_char(out, ':');
        }
        if (!aws_json_write_value(child, depth + 1, out, err)) {
            return false;
        }
    }
    buf_add_char(out, is_map ? '}' : ']');
    return true;
}

static bool aws_json_write_value(const struct param *param, int depth, struct buf *out,
                                 struct err *err)
{
    if (depth > QUERY_DEPTH_MAX) {
        return err_set(err, ERR_CONFIG, "parameters are nested too deeply");
    }
    switch (param->kind) {
    case PARAM_TEXT:
        return aws_json_write_text(param->text, out, err);
    case PARAM_NUMBER:
        buf_addf(out, "%" PRId64, param->number);
        return true;
    case PARAM_BOOL:
        buf_add_c(out, param->boolean ? "true" : "false");
        return true;
    case PARAM_LIST:
    case PARAM_MAP:
        return write_children(param, depth, out, err);
    }
    return true;
}

bool aws_json_write(const struct param *input, struct buf *out, struct err *err)
{
    static const struct param nothing = {.kind = PARAM_MAP};
    if (!aws_json_write_value(input ? input : &nothing, 0, out, err)) {
        return false;
    }
    return !out->is_full ||
           err_set(err, ERR_CONFIG, "the parameters have more than %zu bytes", out->cap);
}

/* check_names.c: names that fail later, and values that YAML reads as dates. */
#include "config/check/check.h"

#include "base/utf8.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

static bool check_names_is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

static void report_name(const struct check *check, const struct value *name, size_t at)
{
    size_t len;
    utf8_decode(str_sub(name->text, at, name->text.len), &len);
    struct str letter = str_sub(name->text, at, at + len);
    bool is_blank = letter.ptr[0] == ' ';
    struct diag *diag = diag_warn(check->diags, "cluster-name", name->place,
                                  "cluster_name contains %s%.*s%s, which some tools do not accept "
                                  "in names",
                                  is_blank ? "a space" : "\"", STR_ARG(is_blank ? STR("") : letter),
                                  is_blank ? "" : "\"");
    diag_hint(check->diags, diag, "use letters, digits, - and _");
}

static void check_cluster_name(const struct check *check)
{
    const struct value *name = value_get_c(check->tree, "cluster_name");
    if (!name) {
        return; /* reported by the schema */
    }
    if (!check_is_written(name)) {
        struct place top = {check->tree->place.source, 1, 1, 1};
        struct diag *diag = diag_error(check->diags, "missing-key", top,
                                       "\"cluster_name\" is missing");
        diag_hint(check->diags, diag, "add: cluster_name: demo");
        diag_mark_missing(diag, NULL, STR("cluster_name"));
        return;
    }
    struct str text = value_text(name);
    for (size_t i = 0; i < text.len; i++) {
        if (!check_names_is_name_char(text.ptr[i])) {
            report_name(check, name, i);
            return;
        }
    }
}

/* A date has no JSON form, and Ray fails on it ("not JSON serializable") without a line number. */
static void check_dates(const struct check *check, const struct value *value)
{
    if (value->kind == VALUE_DATE || value->kind == VALUE_DATE_TIME || value->kind == VALUE_BYTES ||
        value->kind == VALUE_SET) {
        if (check_is_written(value) && !diag_has(check->diags, NULL, value->place)) {
            struct diag *diag = diag_warn(check->diags, "date", value->place,
                                          "YAML reads this value as %s, which makes `ray up` fail",
                                          value_kind_text(value));
            diag_hint(check->diags, diag, "put it in quotes");
        }
    } else if (value->kind == VALUE_LIST || value->kind == VALUE_PAIR) {
        for (size_t i = 0; i < value->list.count; i++) {
            check_dates(check, value->list.items[i]);
        }
    } else if (value->kind == VALUE_MAP) {
        for (size_t i = 0; i < value->map.count; i++) {
            check_dates(check, value->map.entries[i].value);
        }
    }
}

/* A host name would be resolved on the head, where an error is not visible. */
static void check_metrics_address(const struct check *check)
{
    const struct value *value = value_path(check->tree, "metadata.shoal.metrics_address");
    struct in6_addr parsed;
    char text[INET6_ADDRSTRLEN + 1];
    struct str address = value_text(value);
    if (!value || value->kind != VALUE_STRING || str_is(address, "none")) {
        return;
    }
    snprintf(text, sizeof(text), "%.*s", STR_ARG(address));
    if (address.len >= sizeof(text) ||
        (inet_pton(AF_INET, text, &parsed) != 1 && inet_pton(AF_INET6, text, &parsed) != 1)) {
        struct diag *diag = diag_error(check->diags, "metrics-address", value->place,
                                       "\"%.*s\" is not an IP address",
                                       STR_ARG(str_sub(address, 0, 60)));
        diag_hint(check->diags, diag, "use 127.0.0.1, an address of the head, 0.0.0.0 or none");
    }
}

void check_names(const struct check *check)
{
    check_metrics_address(check);
    check_cluster_name(check);
    check_dates(check, check->tree);
}

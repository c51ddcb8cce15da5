/* gcp_names.c: writes and reads the names, descriptions and records of a cluster's resources. */
#include "provider/gcp/wire/gcp_names.h"

#include "base/encode.h"
#include "io/sha256.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "provider/host_record.h"

enum { PART_MAX = 16, PART_HASH_BYTES = 4, UID_SHOWN = 8, NAME_SHOWN = 200 };

#define RULE_FIRST "Ray cluster "
#define RULE_SECOND ", launched by Shoal; " TAG_CLUSTER_UID "="

struct str gcp_name_part(struct str name, struct arena *arena)
{
    uint8_t digest[SHA256_BYTES];
    char text[PART_MAX + 1];
    char hex[2 * PART_HASH_BYTES + 1];
    size_t len = 0;
    for (; len < name.len && len < PART_MAX; len++) {
        char c = name.ptr[len];
        c = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        text[len] = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
    }
    text[len] = '\0';
    sha256(name, digest);
    encode_hex_to(hex, digest, PART_HASH_BYTES);
    return arena_printf(arena, "%s-%s", text, hex);
}

struct str gcp_rule_prefix(struct str part, struct str uid, struct arena *arena)
{
    return arena_printf(arena, "shoal-%.*s-%.*s", STR_ARG(part),
                        STR_ARG(str_sub(uid, 0, UID_SHOWN)));
}

struct str gcp_rule_description(struct str name, struct str uid, struct arena *arena)
{
    return arena_printf(arena, RULE_FIRST "%.*s" RULE_SECOND "%.*s",
                        STR_ARG(str_sub(name, 0, NAME_SHOWN)), STR_ARG(uid));
}

struct str gcp_rule_uid(struct str description)
{
    size_t at = str_find(description, TAG_CLUSTER_UID "=");
    return at == SIZE_MAX ? STR("")
                          : str_sub(description, at + sizeof(TAG_CLUSTER_UID), description.len);
}

struct str gcp_rule_cluster(struct str description)
{
    size_t end = str_find(description, RULE_SECOND);
    return end != SIZE_MAX && str_starts(description, RULE_FIRST)
               ? str_sub(description, sizeof(RULE_FIRST) - 1, end)
               : STR("");
}

int64_t gcp_record_version(struct str name, struct str part)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str prefix = arena_printf(&arena, "shoal-%.*s-", STR_ARG(part));
    int64_t version;
    return str_starts(name, prefix.ptr) &&
                   str_to_i64(str_sub(name, prefix.len, name.len), &version) && version > 0
               ? version
               : 0;
}

json_t *gcp_record_parse(const json_t *template)
{
    const json_t *metadata = json_object_get(json_object_get(template, "properties"), "metadata");
    struct str text = gcp_metadata_get(json_object_get(metadata, "items"), GCP_RECORD_KEY);
    json_t *record = text.len > 0 ? json_loadb(text.ptr, text.len, 0, NULL) : NULL;
    if (record && !json_is_object(record)) {
        json_decref(record);
        return NULL;
    }
    return record;
}

/* hash_probe.c: prints our hashes for each record, a YAML map {op: launch, node_config, auth} or
 * {op: runtime, file_mounts, cluster_synced_files, extra}; compared with Ray's functions. */
#include "app/local_host.h"
#include "config/document/yaml_read.h"
#include "config/hash.h"
#include "records.h"

#include <stdio.h>

static bool print_launch(struct arena *arena, const struct value *record, struct err *err)
{
    struct str hash;
    if (!hash_launch(arena, local_host(), value_get_c(record, "node_config"),
                     value_get_c(record, "auth"), &hash, err)) {
        return false;
    }
    printf("%.*s\n", STR_ARG(hash));
    return true;
}

static bool print_runtime(struct arena *arena, const struct value *record, struct err *err)
{
    struct hash_runtime_input input = {value_get_c(record, "file_mounts"),
                                       value_get_c(record, "cluster_synced_files"),
                                       value_get_c(record, "extra")};
    struct str runtime;
    struct str contents;
    if (!hash_runtime(arena, local_host(), &input, &runtime, &contents, err)) {
        return false;
    }
    printf("%.*s %.*s\n", STR_ARG(runtime), STR_ARG(contents));
    return true;
}

static void answer(struct str document)
{
    struct arena arena;
    struct diag_list diags;
    struct err err = {ERR_CONFIG, "not a record"};
    struct source source = {STR("record"), document, false};
    arena_init(&arena);
    diag_list_init(&diags, &arena);
    const struct value *record = yaml_read(&arena, &source, &diags);
    bool is_launch = str_is(value_text(value_get_c(record, "op")), "launch");
    bool ok = record && (is_launch ? print_launch(&arena, record, &err)
                                   : print_runtime(&arena, record, &err));
    if (!ok) {
        printf("!error %s\n", err.text);
    }
    arena_clear(&arena);
}

int main(void)
{
    AUTO_BUF struct buf record;
    buf_init(&record, (size_t)64 * 1024 * 1024);
    while (record_next(&record)) {
        answer(buf_str(&record));
    }
    return 0;
}

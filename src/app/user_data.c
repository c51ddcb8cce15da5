/* user_data.c: one MIME message has all user data of an instance. */
#include "app/user_data.h"

#include "app/contact.h"
#include "remote/first_boot.h"

bool user_data_compose(const struct user_data_parts *parts, struct arena *arena,
                       struct str *ret_text, struct err *err)
{
    const struct config *config = parts->config;
    const struct config_node_type *type = &config->node_types[parts->type];
    struct str own = value_text(value_get(type->node_config, config_user_data_key(config)));
    AUTO_BUF struct buf text;
    buf_init(&text, FIRST_BOOT_BYTES_MAX);
    bool ok = first_boot_compose(
        &(struct first_boot_setup){
            .host_key = parts->host_key,
            .boot_hook = contact_hook(contact_timeout_ms(config->shoal), parts->is_head, arena),
            .user_data = own.len > 0 ? own : parts->template,
            .user = config->ssh_user,
            .authorized_key = parts->cluster_key,
        },
        &text, err);
    *ret_text = arena_str(arena, buf_str(&text));
    return ok || err_wrap(err, "available_node_types.%.*s.node_config.%s", STR_ARG(type->name),
                          own.len > 0 ? "UserData" : "LaunchTemplate");
}

bool user_data_check(const struct config *config, size_t type, struct str template,
                     struct arena *arena, struct err *err)
{
    static const struct ssh_key no_key = {0};
    struct user_data_parts parts = {
        .config = config,
        .type = type,
        .is_head = type == config->head_type,
        .host_key = &no_key,
        .cluster_key = STR("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                           "AAAAAAAAAAAAAAAA"),
        .template = template};
    struct str text;
    return user_data_compose(&parts, arena, &text, err);
}

/*
 * host_key.c: the ssh host key that a new instance has reported to Google.
 *
 * Google's agent writes its host keys to the instance's attributes at the first boot. Any process
 * on the instance can change them later, so the key is read once, before user code runs.
 *
 * An open ssh port, which costs no call, shows that the instance has booted. Behind a proxy it
 * stays closed for this machine: then the attributes are read from time to time.
 */
#include "base/encode.h"
#include "provider/gcp/gcp_operation.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "provider/host_record.h"

enum {
    SSH_PORT = 22,
    RULES_MS = 50, /* between two looks at the rules, which take no call */
    FIRST_MS = 500,
    MOST_MS = 3 * 1000,
    BLIND_MS = 10 * 1000, /* while the port is closed */
    WAIT_MS = 10 * 60 * 1000,
    GONE_MS = 15 * 1000, /* a new instance may be unknown at first */
    KEY_BYTES_MAX = 1024 /* as base64; an ed25519 key has 68 */
};

static void host_key_finish(struct gcp_operation *operation)
{
    operation->host_keyed(operation->context, &operation->answer, operation->listed[0].id,
                          operation->key);
    gcp_end(operation);
}

/* Base64 only: the key becomes a line of known_hosts. */
static bool host_key_is_clean(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && c != '+' && c != '/' && c != '=') {
            return false;
        }
    }
    return text.len > 0 && text.len <= KEY_BYTES_MAX;
}

static struct str host_key_find(const json_t *body, struct arena *arena)
{
    const json_t *items = json_object_get(json_object_get(body, "queryValue"), "items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        struct str value = str_trim(host_record_text(item, "value"));
        if (str_is(host_record_text(item, "key"), "ssh-ed25519") && host_key_is_clean(value)) {
            return arena_printf(arena, "ssh-ed25519 %.*s", STR_ARG(value));
        }
    }
    return STR("");
}

static void host_key_ask(struct gcp_operation *operation);

static void host_key_later(struct gcp_operation *operation)
{
    int64_t delay = FIRST_MS << (operation->tries < 3 ? operation->tries : 3);
    operation->is_sent = false;
    if (operation->port) {
        gcp_later(operation, BLIND_MS, host_key_ask);
        return;
    }
    operation->tries++;
    gcp_later(operation, delay < MOST_MS ? delay : MOST_MS, host_key_ask);
}

static void host_key_on_open(void *context)
{
    struct gcp_operation *operation = context;
    tcp_probe_end(operation->port);
    operation->port = NULL;
    if (!operation->is_sent) {
        gcp_later(operation, 0, host_key_ask);
    }
}

/* "The resource 'projects/.../instances/NAME' was not found". Of another resource: the instance has
 * not reported its key yet. */
static bool host_key_is_gone(struct gcp_operation *operation, const struct gcp_reply *reply)
{
    int64_t now = loop_now_ms(operation->provider->loop);
    struct str path = arena_printf(&operation->arena, "/instances/%.*s' ",
                                   STR_ARG(operation->listed[0].id));
    bool is_missing = !reply->is_ok &&
                      str_find(str_from(reply->failure.message), path.ptr) != SIZE_MAX;
    operation->created = !is_missing ? 0 : operation->created > 0 ? operation->created : now;
    return operation->created > 0 && now >= operation->created + GONE_MS;
}

static void host_key_on_attributes(struct gcp_operation *operation, const struct gcp_reply *reply)
{
    if (!reply->is_ok && reply->failure.outcome == OUTCOME_DENIED) {
        gcp_failed(operation, OUTCOME_DENIED, ERR_AUTH,
                   "the ssh host key of the instance cannot be read: %s Your organization's "
                   "constraints/compute.disableGuestAttributesAccess may forbid it, or the "
                   "permission compute.instances.getGuestAttributes is missing",
                   reply->failure.message);
        host_key_finish(operation);
        return;
    }
    if (!reply->is_ok && reply->failure.outcome != OUTCOME_NOT_FOUND) {
        gcp_fail_with(operation, reply);
        host_key_finish(operation);
        return;
    }
    if (host_key_is_gone(operation, reply)) {
        gcp_failed(operation, OUTCOME_NOT_FOUND, ERR_NOT_FOUND, "%s", reply->err.text);
        host_key_finish(operation);
        return;
    }
    operation->key = reply->is_ok ? host_key_find(reply->body, &operation->arena) : STR("");
    if (operation->key.len > 0) {
        host_key_finish(operation);
        return;
    }
    if (loop_now_ms(operation->provider->loop) >= operation->until_ms) {
        gcp_failed(operation, OUTCOME_INVALID, ERR_TIMEOUT,
                   "the instance has not reported its ssh host key within %d minutes: use an image "
                   "with google-guest-agent, and look at the instance's serial console",
                   WAIT_MS / 60000);
        host_key_finish(operation);
        return;
    }
    host_key_later(operation);
}

static void host_key_ask(struct gcp_operation *operation)
{
    const struct machine *machine = &operation->listed[0];
    operation->is_sent = true;
    gcp_ask(operation,
            (struct gcp_request){
                .name = "instances.getGuestAttributes",
                .path = arena_printf(
                    &operation->arena,
                    "zones/%.*s/instances/%.*s/getGuestAttributes?queryPath=hostkeys%%2F",
                    STR_ARG(machine->zone), STR_ARG(machine->id))},
            host_key_on_attributes);
}

/* Without its firewall rules the cluster cannot work. */
static void host_key_begin(struct gcp_operation *operation)
{
    const struct gcp_provider *provider = operation->provider;
    if (provider->rules_pending > 0) {
        gcp_later(operation, RULES_MS, host_key_begin);
        return;
    }
    if (provider->rules.outcome != OUTCOME_DONE) {
        operation->answer = provider->rules;
        host_key_finish(operation);
        return;
    }
    operation->port = tcp_probe_start(provider->loop, operation->listed[0].public_ip, SSH_PORT,
                                      host_key_on_open, operation);
    gcp_later(operation, operation->port ? BLIND_MS : 0, host_key_ask);
}

void gcp_host_key(struct provider *base, struct str id, struct str zone, struct str address,
                  provider_host_key_fn *done, void *context)
{
    struct gcp_operation *operation = gcp_begin(gcp_of(base), context);
    struct arena *arena = &operation->arena;
    struct machine *machine = ARENA_NEW(arena, struct machine);
    machine->id = arena_str(arena, id);
    machine->zone = arena_str(arena, zone);
    machine->public_ip = arena_str(arena, address);
    operation->host_keyed = done;
    operation->listed = machine;
    operation->listed_count = 1;
    operation->until_ms = loop_now_ms(operation->provider->loop) + WAIT_MS;
    gcp_later(operation, 0, host_key_begin);
}

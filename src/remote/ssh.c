/* ssh.c: options of ssh, in one place. */
#include "remote/ssh.h"

#include <string.h>

enum { WORDS_MAX = 128, CONNECT_S = 10 };

struct words {
    struct arena *arena;
    const char **items;
    size_t count;
};

static void add(struct words *words, const char *word)
{
    words->items[words->count++] = word;
}

static void add_option(struct words *words, const char *name, struct str value)
{
    add(words, "-o");
    add(words, arena_printf(words->arena, "%s=%.*s", name, STR_ARG(value)).ptr);
}

/* ---- what may be given ---- */

/* Letters, digits and what names and addresses are made of; never a dash first, which would be an
 * option. */
static bool is_plain(struct str text)
{
    static const char others[] = ".:-_@%[]";
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && (c == '\0' || !strchr(others, c))) {
            return false;
        }
    }
    return text.len > 0 && text.ptr[0] != '-';
}

static bool check_place(const struct ssh_place *place, struct err *err)
{
    if (!is_plain(place->address) || !is_plain(place->user) || !is_plain(place->machine) ||
        (place->jump.len > 0 && !is_plain(place->jump))) {
        return err_set(err, ERR_CONFIG, "\"%.*s@%.*s\" is no user at an address for ssh",
                       STR_ARG(place->user), STR_ARG(place->address));
    }
    return true;
}

/* ---- options ---- */

static void add_trust(struct words *words, const struct ssh_place *place)
{
    add_option(words, "StrictHostKeyChecking", STR("yes"));
    add_option(words, "UserKnownHostsFile", str_from(place->known_hosts));
    add_option(words, "GlobalKnownHostsFile", STR("/dev/null"));
    add_option(words, "HostKeyAlias", place->machine);
    add_option(words, "CheckHostIP", STR("no"));
    add_option(words, "UpdateHostKeys", STR("no"));
    add_option(words, "ForwardAgent", STR("no"));
    add_option(words, "PermitLocalCommand", STR("no"));
    if (place->identity) {
        add_option(words, "IdentitiesOnly", STR("yes"));
        add(words, "-i");
        add(words, place->identity);
    }
}

static void add_way(struct words *words, const struct ssh_place *place, bool is_master)
{
    int64_t seconds = place->connect_s > 0 ? place->connect_s : CONNECT_S;
    add_option(words, "ConnectTimeout", arena_printf(words->arena, "%lld", (long long)seconds));
    add_option(words, "ServerAliveInterval", STR("5"));
    add_option(words, "ServerAliveCountMax", STR("3"));
    if (place->proxy_command.len > 0) {
        add_option(words, "ProxyCommand", place->proxy_command);
    } else if (place->jump.len > 0) {
        add_option(words, "ProxyJump", place->jump);
    }
    if (place->control) {
        add_option(words, "ControlMaster", STR("auto"));
        add_option(words, "ControlPath", str_from(place->control));
        add_option(words, "ControlPersist", is_master ? STR("no") : STR("60"));
    }
    if (place->is_near) {
        /* Those against the quantum computers to come take ssh 90 ms of a processor's time: for a
         * head with a thousand workers a minute and a half. They are for wires that others tap. */
        add_option(words, "KexAlgorithms",
                   STR("curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256"));
    }
    if (place->port > 0) {
        add_option(words, "Port", arena_printf(words->arena, "%u", place->port));
    }
}

static void add_forwards(struct words *words, const struct ssh_session *session)
{
    if (session->forward_count > 0) {
        add_option(words, "ExitOnForwardFailure", STR("yes"));
    }
    for (size_t i = 0; i < session->forward_count; i++) {
        const struct ssh_forward *forward = &session->forwards[i];
        add(words, "-L");
        add(words,
            arena_printf(words->arena, "127.0.0.1:%u:localhost:%u", forward->local, forward->remote)
                .ptr);
    }
}

bool ssh_words(const struct ssh_place *place, const struct ssh_session *session,
               struct arena *arena, const char *const **ret_argv, struct err *err)
{
    enum { FORWARDS_MAX = 32 };
    struct words words = {.arena = arena, .items = ARENA_ARRAY(arena, WORDS_MAX, const char *)};
    if (!check_place(place, err)) {
        return false;
    }
    if (session->forward_count > FORWARDS_MAX) {
        return err_set(err, ERR_USAGE, "more than %d forwarded ports", FORWARDS_MAX);
    }
    add(&words, "ssh");
    add(&words, session->is_interactive ? "-tt" : "-T");
    if (session->has_no_command) {
        add(&words, "-N");
    }
    add_option(&words, "BatchMode", session->is_interactive ? STR("no") : STR("yes"));
    add_trust(&words, place);
    if (place->identity && !session->is_interactive) {
        /* Not Kerberos first, which Debian's ssh tries: it asks name servers before it gives up. */
        add_option(&words, "PreferredAuthentications", STR("publickey"));
    }
    add_way(&words, place, session->is_master);
    add_forwards(&words, session);
    add(&words, "-l");
    add(&words, arena_str(arena, place->user).ptr);
    add(&words, "--");
    add(&words, arena_str(arena, place->address).ptr);
    if (session->command.len > 0) {
        add(&words, arena_str(arena, session->command).ptr);
    }
    add(&words, NULL);
    *ret_argv = words.items;
    return true;
}

/* rsync takes quotes of both kinds, doubled inside themselves. */
bool ssh_for_rsync(const struct ssh_place *place, struct arena *arena, struct str *ret_text,
                   struct err *err)
{
    const char *const *argv;
    struct ssh_session session = {0};
    struct str text = STR("");
    if (!ssh_words(place, &session, arena, &argv, err)) {
        return false;
    }
    /* rsync adds user and address itself. */
    for (size_t i = 0; strcmp(argv[i], "-l") != 0; i++) {
        struct str word = str_from(argv[i]);
        if (str_find_char(word, '\'') != SIZE_MAX) {
            return err_set(err, ERR_CONFIG, "rsync cannot be given \"%s\": it has a quote",
                           argv[i]);
        }
        text = arena_printf(arena, "%.*s%s'%s'", STR_ARG(text), i > 0 ? " " : "", argv[i]);
    }
    *ret_text = text;
    return true;
}

/* ssh.c: builds ssh command lines. */
#include "remote/ssh.h"

#include "base/buf.h"
#include "base/shell_quote.h"

#include <string.h>

enum { WORDS_MAX = 128, CONNECT_S = 10, TEXT_BYTES_MAX = 256 * 1024 };

struct ssh_words {
    struct arena *arena;
    const char **items;
    size_t count;
};

static void ssh_add(struct ssh_words *words, const char *word)
{
    words->items[words->count++] = word;
}

static void ssh_add_option(struct ssh_words *words, const char *name, struct str value)
{
    ssh_add(words, "-o");
    ssh_add(words, arena_printf(words->arena, "%s=%.*s", name, STR_ARG(value)).ptr);
}

/* ---- checking arguments ---- */

/* Letters, digits and the punctuation of names and addresses; no leading dash, which would be an
 * option. */
static bool ssh_is_plain(struct str text)
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

static bool check_place(const struct ssh_target *place, struct err *err)
{
    if (!ssh_is_plain(place->address) || !ssh_is_plain(place->user) ||
        !ssh_is_plain(place->machine) || (place->jump.len > 0 && !ssh_is_plain(place->jump))) {
        return err_set(err, ERR_CONFIG, "\"%.*s@%.*s\" is not a valid user and address for ssh",
                       STR_ARG(place->user), STR_ARG(place->address));
    }
    return true;
}

/* ---- paths ---- */

static bool is_plain_path(struct str path)
{
    static const char others[] = "/._-+,:@";
    for (size_t i = 0; i < path.len; i++) {
        char c = path.ptr[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && (c == '\0' || !strchr(others, c))) {
            return false;
        }
    }
    return true;
}

/*
 * ssh splits option values at blanks and expands "%x", so a path is quoted and its "%" doubled.
 * "${" cannot be escaped: check_path() rejects it.
 */
static struct str path_value(struct arena *arena, const char *path)
{
    AUTO_BUF struct buf out;
    struct str text = str_from(path);
    buf_init(&out, text.len * 2 + 3);
    if (is_plain_path(text)) {
        return text;
    }
    buf_add_char(&out, '"');
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '"' || c == '\\') {
            buf_add_char(&out, '\\');
        } else if (c == '%') {
            buf_add_char(&out, '%');
        }
        buf_add_char(&out, c);
    }
    buf_add_char(&out, '"');
    return arena_str(arena, buf_str(&out));
}

static bool check_path(const char *path, struct err *err)
{
    struct str text = str_from(path);
    if (str_find(text, "${") != SIZE_MAX || str_find_char(text, '\n') != SIZE_MAX) {
        return err_set(err, ERR_CONFIG,
                       "ssh cannot use the path %s: it contains \"${\" or a line break. Use a "
                       "directory with another name (HOME, XDG_STATE_HOME or XDG_RUNTIME_DIR)",
                       path);
    }
    return true;
}

static bool check_paths(const struct ssh_target *place, struct err *err)
{
    return check_path(place->known_hosts, err) && check_path(place->user_hosts, err) &&
           check_path(place->identity, err) && check_path(place->control, err);
}

/* ---- options ---- */

static void add_trust(struct ssh_words *words, const struct ssh_target *place)
{
    struct str files = path_value(words->arena, place->known_hosts);
    if (place->user_hosts) {
        files = arena_printf(words->arena, "%.*s %.*s", STR_ARG(files),
                             STR_ARG(path_value(words->arena, place->user_hosts)));
    }
    ssh_add_option(words, "StrictHostKeyChecking",
                   place->user_hosts ? STR("accept-new") : STR("yes"));
    ssh_add_option(words, "UserKnownHostsFile", files);
    ssh_add_option(words, "GlobalKnownHostsFile", STR("/dev/null"));
    ssh_add_option(words, "HostKeyAlias", place->machine);
    ssh_add_option(words, "CheckHostIP", STR("no"));
    ssh_add_option(words, "UpdateHostKeys", STR("no"));
    ssh_add_option(words, "ForwardAgent", STR("no"));
    ssh_add_option(words, "PermitLocalCommand", STR("no"));
    if (place->identity) {
        ssh_add_option(words, "IdentitiesOnly", STR("yes"));
        /* Not -i, which fails for a file name with "%", doubled or not. */
        ssh_add_option(words, "IdentityFile", path_value(words->arena, place->identity));
    }
}

static void add_control(struct ssh_words *words, const struct ssh_target *place, bool is_master)
{
    if (!place->control) {
        return;
    }
    ssh_add_option(words, "ControlMaster", place->is_client ? STR("no") : STR("auto"));
    ssh_add_option(words, "ControlPath", path_value(words->arena, place->control));
    ssh_add_option(words, "ControlPersist", is_master ? STR("no") : STR("60"));
}

static void add_way(struct ssh_words *words, const struct ssh_target *place, bool is_master)
{
    int64_t seconds = place->connect_s > 0 ? place->connect_s : CONNECT_S;
    ssh_add_option(words, "ConnectTimeout", arena_printf(words->arena, "%lld", (long long)seconds));
    ssh_add_option(words, "ServerAliveInterval", STR("5"));
    ssh_add_option(words, "ServerAliveCountMax", STR("3"));
    if (place->proxy_command.len > 0) {
        ssh_add_option(words, "ProxyCommand", place->proxy_command);
    } else if (place->jump.len > 0) {
        ssh_add_option(words, "ProxyJump", place->jump);
    }
    add_control(words, place, is_master);
    if (place->is_near) {
        /* Post-quantum key exchange costs ssh 90 ms of CPU time: 90 s for a head with a thousand
         * workers. It protects against recorded traffic, which a private network does not
         * expose. */
        ssh_add_option(words, "KexAlgorithms",
                       STR("curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256"));
    }
    if (place->port > 0) {
        ssh_add_option(words, "Port", arena_printf(words->arena, "%u", place->port));
    }
}

static void add_forwards(struct ssh_words *words, const struct ssh_session *session)
{
    if (session->forward_count > 0) {
        ssh_add_option(words, "ExitOnForwardFailure", STR("yes"));
    }
    for (size_t i = 0; i < session->forward_count; i++) {
        const struct ssh_forward *forward = &session->forwards[i];
        ssh_add(words, "-L");
        ssh_add(words, arena_printf(words->arena, "127.0.0.1:%u:localhost:%u", forward->local,
                                    forward->remote)
                           .ptr);
    }
}

bool ssh_argv(const struct ssh_target *place, const struct ssh_session *session,
              struct arena *arena, const char *const **ret_argv, struct err *err)
{
    enum { FORWARDS_MAX = 32 };
    struct ssh_words words = {.arena = arena, .items = ARENA_ARRAY(arena, WORDS_MAX, const char *)};
    if (!check_place(place, err) || !check_paths(place, err)) {
        return false;
    }
    if (session->forward_count > FORWARDS_MAX) {
        return err_set(err, ERR_USAGE, "too many forwarded ports; the maximum is %d", FORWARDS_MAX);
    }
    ssh_add(&words, "ssh");
    ssh_add(&words, session->is_interactive ? "-tt" : "-T");
    if (session->has_no_command) {
        ssh_add(&words, "-N");
    }
    if (session->is_background) {
        ssh_add(&words, "-f");
    }
    if (session->is_end) {
        ssh_add(&words, "-O");
        ssh_add(&words, "stop");
    }
    if (session->log) {
        ssh_add(&words, "-E");
        ssh_add(&words, session->log);
        ssh_add_option(&words, "LogLevel", STR("VERBOSE"));
        ssh_add_option(&words, "ControlPath", STR("none"));
    }
    ssh_add_option(&words, "BatchMode", session->is_interactive ? STR("no") : STR("yes"));
    add_trust(&words, place);
    if (place->identity && !session->is_interactive) {
        /* Without this, Debian's ssh tries Kerberos first, which queries name servers. */
        ssh_add_option(&words, "PreferredAuthentications", STR("publickey"));
    }
    add_way(&words, place, session->is_master);
    add_forwards(&words, session);
    ssh_add(&words, "-l");
    ssh_add(&words, arena_str(arena, place->user).ptr);
    ssh_add(&words, "--");
    ssh_add(&words, arena_str(arena, place->address).ptr);
    if (session->command.len > 0) {
        ssh_add(&words, arena_str(arena, session->command).ptr);
    }
    ssh_add(&words, NULL);
    *ret_argv = words.items;
    return true;
}

/* In single quotes; a single quote inside is doubled, as rsync expects. */
static void add_rsync_word(struct buf *out, struct str word)
{
    buf_add_char(out, '\'');
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] == '\'') {
            buf_add_char(out, '\'');
        }
        buf_add_char(out, word.ptr[i]);
    }
    buf_add_char(out, '\'');
}

/* ssh expands "%" in the line, then a shell reads it. */
static void add_proxy_word(struct buf *out, struct str word)
{
    AUTO_BUF struct buf doubled;
    buf_init(&doubled, word.len * 2 + 1);
    for (size_t i = 0; i < word.len; i++) {
        buf_add_c(&doubled, word.ptr[i] == '%' ? "%" : "");
        buf_add_char(&doubled, word.ptr[i]);
    }
    shell_quote(out, buf_str(&doubled));
}

bool ssh_for_proxy(const struct ssh_target *through, struct arena *arena, struct str *ret_text,
                   struct err *err)
{
    AUTO_BUF struct buf text;
    const char *const *argv;
    buf_init(&text, TEXT_BYTES_MAX);
    if (!ssh_argv(through, &(struct ssh_session){0}, arena, &argv, err)) {
        return false;
    }
    for (size_t i = 0; argv[i]; i++) {
        buf_add_c(&text, i > 0 ? " " : "");
        add_proxy_word(&text, str_from(argv[i]));
        buf_add_c(&text, i == 0 ? " -W '[%h]:%p'" : "");
    }
    if (text.is_full) {
        return err_set(err, ERR_CONFIG, "the ssh options for the head are longer than 256 KB");
    }
    *ret_text = arena_str(arena, buf_str(&text));
    return true;
}

bool ssh_for_rsync(const struct ssh_target *place, struct arena *arena, struct str *ret_text,
                   struct err *err)
{
    AUTO_BUF struct buf text;
    const char *const *argv;
    struct ssh_session session = {0};
    buf_init(&text, TEXT_BYTES_MAX);
    if (!ssh_argv(place, &session, arena, &argv, err)) {
        return false;
    }
    /* rsync adds the user and the address itself. */
    for (size_t i = 0; strcmp(argv[i], "-l") != 0; i++) {
        buf_add_c(&text, i > 0 ? " " : "");
        add_rsync_word(&text, str_from(argv[i]));
    }
    if (text.is_full) {
        return err_set(err, ERR_CONFIG, "the ssh options for rsync are longer than 256 KB");
    }
    *ret_text = arena_str(arena, buf_str(&text));
    return true;
}

/* first_boot.c: writes user-data: a cloud-config, alone or in a MIME message with the user's
 * part. */
#include "remote/first_boot.h"

#include "base/encode.h"
#include "base/panic.h"

#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

enum {
    CONFIG_BYTES_MAX = 4096,
    MESSAGE_BYTES_MAX = 16 * 1024 * 1024, /* buffer cap; EC2's limit is checked later */
    BOUNDARY_DIGEST_BYTES = 12,
    BOUNDARY_SIZE = sizeof("shoal-") + (size_t)2 * BOUNDARY_DIGEST_BYTES,
    MIME_LINE_LEN = 76,
    MIME_WORD_BYTES_MAX = 4096 /* how far cloud-init searches for a MIME header */
};

/* The prefixes by which cloud-init recognizes a part, and the MIME type of each. A longer prefix
 * comes before a shorter one that it starts with. */
static const struct form {
    const char *begin;
    const char *mime_type;
} forms[] = {
    {"#!", "text/x-shellscript"},
    {"#cloud-config-archive", "text/cloud-config-archive"},
    {"#cloud-config-jsonp", "text/cloud-config-jsonp"},
    {"#cloud-config", "text/cloud-config"},
    {"#cloud-boothook", "text/cloud-boothook"},
    {"#include-once", "text/x-include-once-url"},
    {"#include", "text/x-include-url"},
    {"#part-handler", "text/part-handler"},
    {"#upstart-job", "text/upstart-job"},
    {"## template: jinja", "text/jinja2"},
};

/* ---- the form of the user's part ---- */

static bool starts_like(struct str text, const char *begin)
{
    size_t len = strlen(begin);
    return text.len >= len && strncasecmp(text.ptr, begin, len) == 0;
}

/* cloud-init ignores leading blanks and letter case. */
static const char *mime_type_of(struct str user_data)
{
    struct str text = str_trim(user_data);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (starts_like(text, forms[i].begin)) {
            return forms[i].mime_type;
        }
    }
    return NULL;
}

/* True if it has the header that cloud-init searches for, or starts with the most common one. */
static bool is_message(struct str user_data)
{
    struct str head = str_sub(user_data, 0, MIME_WORD_BYTES_MAX);
    if (starts_like(head, "Content-Type:")) {
        return true;
    }
    for (; head.len > 0; head = str_sub(head, 1, head.len)) {
        if (starts_like(head, "MIME-Version:")) {
            return true;
        }
    }
    return false;
}

enum first_boot_form first_boot_form_of(struct str user_data)
{
    if (str_trim(user_data).len == 0) {
        return FIRST_BOOT_EMPTY;
    }
    if (str_starts(user_data, "\x1f\x8b")) {
        return FIRST_BOOT_GZIP;
    }
    if (mime_type_of(user_data)) { /* a script may contain a MIME message */
        return FIRST_BOOT_PART;
    }
    return is_message(user_data) ? FIRST_BOOT_MIME : FIRST_BOOT_UNKNOWN;
}

/* ---- our part ---- */

/* Deletes the host keys of the image. cloud-init does not generate keys when some are given. */
static void add_config(struct buf *out, const struct ssh_key *host_key)
{
    AUTO_BUF struct buf text;
    buf_init(&text, SSH_KEY_TEXT_BYTES_MAX);
    ssh_key_add_private(&text, host_key, STR(""));
    buf_add_c(out, "#cloud-config\n"
                   "ssh_deletekeys: true\n"
                   "ssh_keys:\n"
                   "  ed25519_private: |\n");
    for (struct str rest = buf_str(&text); rest.len > 0;) {
        struct str line = str_cut(&rest, '\n');
        buf_addf(out, "    %.*s\n", STR_ARG(line));
    }
    buf_add_c(out, "  ed25519_public: ");
    ssh_key_add_public(out, host_key->public, STR(""));
    buf_add_char(out, '\n');
}

/* ---- the login key ---- */

static bool is_key_text(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && c != '+' && c != '/' && c != '=' && c != '-') {
            return false;
        }
    }
    return text.len > 0;
}

/* A name that needs no quoting in YAML or in a shell. ssh.h accepts no other user names. */
static bool is_user_name(struct str user)
{
    for (size_t i = 0; i < user.len; i++) {
        char c = user.ptr[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && (c == '\0' || !strchr("._-", c))) {
            return false;
        }
    }
    return user.len > 0 && user.ptr[0] != '-';
}

/*
 * cloud-init installs ssh_authorized_keys for the image's default user before sshd starts, together
 * with the key pair of the launch. A user created by the image or by the user's own user-data gets
 * the key from the last command of the first boot. Lists are appended to the user's lists.
 */
static bool add_login(struct buf *out, const struct first_boot_setup *boot, struct err *err)
{
    struct str rest = boot->authorized_key;
    struct str kind = str_cut(&rest, ' ');
    struct str key = str_cut(&rest, ' '); /* drops the comment */
    if (!is_key_text(kind) || !is_key_text(key)) {
        return err_set(err, ERR_INTERNAL, "the cluster's public key is damaged");
    }
    buf_addf(out,
             "#cloud-config\n"
             "merge_how: dict(no_replace,recurse_list)+list(append)+str()\n"
             "ssh_authorized_keys:\n"
             "  - %.*s %.*s\n",
             STR_ARG(kind), STR_ARG(key));
    if (is_user_name(boot->user)) {
        buf_addf(out,
                 "runcmd:\n"
                 "  - - sh\n"
                 "    - -c\n"
                 "    - id -u \"$1\" > /dev/null 2>&1 && su \"$1\" -s /bin/sh -c \"$2\"; true\n"
                 "    - sh\n"
                 "    - '%.*s'\n"
                 "    - cd && umask 077 && mkdir -p .ssh && { grep -qsF '%.*s' .ssh/authorized_keys"
                 " || echo '%.*s %.*s' >> .ssh/authorized_keys; }\n",
                 STR_ARG(boot->user), STR_ARG(key), STR_ARG(kind), STR_ARG(key));
    }
    return true;
}

/* ---- the message ---- */

/* Deterministic: a hash of the user-data, so it does not occur in that text by accident. */
static void boundary_of(struct str user_data, char ret_boundary[BOUNDARY_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[EVP_MAX_MD_SIZE];
    char *end = ret_boundary;
    if (!EVP_Digest(user_data.ptr, user_data.len, digest, NULL, EVP_sha256(), NULL)) {
        panic("SHA-256 failed");
    }
    for (const char *c = "shoal-"; *c; c++) {
        *end++ = *c;
    }
    for (size_t i = 0; i < BOUNDARY_DIGEST_BYTES; i++) {
        *end++ = digits[digest[i] >> 4];
        *end++ = digits[digest[i] & 15];
    }
    *end = '\0';
}

/* Only bytes that a mail parser passes through unchanged. */
static bool is_plain_text(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if ((c < ' ' && c != '\n' && c != '\t') || c > '~') {
            return false;
        }
    }
    return true;
}

static void add_user_part(struct buf *out, struct str user_data)
{
    /* A MIME message is used as the part itself: its headers become the headers of the part. */
    if (first_boot_form_of(user_data) == FIRST_BOOT_MIME) {
        buf_add(out, user_data);
        return;
    }
    buf_addf(out, "Content-Type: %s\n", mime_type_of(user_data));
    if (is_plain_text(user_data)) {
        buf_add_char(out, '\n');
        buf_add(out, user_data);
    } else {
        buf_add_c(out, "Content-Transfer-Encoding: base64\n\n");
        encode_base64_lines(out, user_data, MIME_LINE_LEN);
    }
}

static void begin_part(struct buf *out, const char *boundary)
{
    buf_addf(out, "\n--%s\n", boundary);
}

/* Our configuration is the last part, because cloud-init keeps the later value of a setting that
 * occurs twice. The script is a separate part: lists such as bootcmd would replace the user's. */
static void add_message(struct buf *out, struct str config, struct str login,
                        const struct first_boot_setup *setup)
{
    char boundary[BOUNDARY_SIZE];
    boundary_of(setup->user_data, boundary);
    buf_addf(out,
             "Content-Type: multipart/mixed; boundary=\"%s\"\n"
             "MIME-Version: 1.0\n",
             boundary);
    if (first_boot_form_of(setup->user_data) != FIRST_BOOT_EMPTY) {
        begin_part(out, boundary);
        add_user_part(out, setup->user_data);
    }
    if (setup->boot_hook.len > 0) {
        begin_part(out, boundary);
        buf_add_c(out, "Content-Type: text/cloud-boothook\n\n");
        buf_add(out, setup->boot_hook);
    }
    begin_part(out, boundary);
    buf_add_c(out, "Content-Type: text/cloud-config\n\n");
    buf_add(out, config);
    if (login.len > 0) {
        begin_part(out, boundary);
        buf_add_c(out, "Content-Type: text/cloud-config\n\n");
        buf_add(out, login);
    }
    buf_addf(out, "\n--%s--\n", boundary);
}

/* Without user-data: one cloud-config, no MIME message. */
static void add_alone(struct buf *out, struct str config, struct str login)
{
    struct str rest = login;
    buf_add(out, config);
    (void)str_cut(&rest, '\n'); /* the "#cloud-config" line */
    buf_add(out, rest);
}

static bool first_boot_check_form(enum first_boot_form form, struct err *err)
{
    if (form == FIRST_BOOT_UNKNOWN) {
        return err_set(err, ERR_CONFIG,
                       "UserData does not start with a header that cloud-init knows, such as #! "
                       "or #cloud-config, so Shoal cannot add the host key to it");
    }
    if (form == FIRST_BOOT_GZIP) {
        return err_set(err, ERR_CONFIG, "UserData is compressed; use it uncompressed");
    }
    return true;
}

bool first_boot_compose(const struct first_boot_setup *setup, struct buf *out, struct err *err)
{
    AUTO_BUF struct buf config;
    AUTO_BUF struct buf login;
    AUTO_BUF struct buf message;
    enum first_boot_form form = first_boot_form_of(setup->user_data);
    buf_init(&config, CONFIG_BYTES_MAX);
    buf_init(&login, CONFIG_BYTES_MAX);
    buf_init(&message, MESSAGE_BYTES_MAX);
    if (!first_boot_check_form(form, err) ||
        (setup->authorized_key.len > 0 && !add_login(&login, setup, err))) {
        return false;
    }
    add_config(&config, setup->host_key);
    if (form == FIRST_BOOT_EMPTY && setup->boot_hook.len == 0) {
        add_alone(&message, buf_str(&config), buf_str(&login));
    } else {
        add_message(&message, buf_str(&config), buf_str(&login), setup);
    }
    if (message.is_full || message.len > FIRST_BOOT_BYTES_MAX) {
        return err_set(err, ERR_CONFIG,
                       "UserData has %zu bytes and Shoal adds %zu, but EC2 accepts only %d bytes "
                       "in total; move some of it to setup_commands, or use #include",
                       setup->user_data.len, message.len - setup->user_data.len,
                       FIRST_BOOT_BYTES_MAX);
    }
    buf_add(out, buf_str(&message));
    return true;
}

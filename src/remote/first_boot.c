/* first_boot.c: a cloud-config with the host key, and a MIME message around it and the user's. */
#include "remote/first_boot.h"

#include "base/encode.h"
#include "base/panic.h"

#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

enum {
    CONFIG_BYTES_MAX = 4096,
    MESSAGE_BYTES_MAX = 16 * 1024 * 1024, /* checked against EC2's limit when it is whole */
    BOUNDARY_DIGEST_BYTES = 12,
    BOUNDARY_SIZE = sizeof("shoal-") + (size_t)2 * BOUNDARY_DIGEST_BYTES,
    MIME_LINE_LEN = 76,
    MIME_WORD_BYTES_MAX = 4096 /* so far cloud-init looks for it */
};

/* How cloud-init takes a part by its first bytes, and what it calls that in a message. A longer
 * beginning stands before a shorter one that it starts with. */
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

/* ---- the user's form ---- */

static bool starts_like(struct str text, const char *begin)
{
    size_t len = strlen(begin);
    return text.len >= len && strncasecmp(text.ptr, begin, len) == 0;
}

/* Blanks before it and the case of letters do not matter to cloud-init. */
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

/* By the header that cloud-init looks for, or by the one that most often stands first. */
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
    if (mime_type_of(user_data)) { /* a script may hold a message; a message begins as none */
        return FIRST_BOOT_PART;
    }
    return is_message(user_data) ? FIRST_BOOT_MIME : FIRST_BOOT_UNKNOWN;
}

/* ---- our part ---- */

/*
 * Keys that came with the image go, and given keys keep cloud-init from making others.
 */
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

/* ---- the message ---- */

/* The same for the same user-data, and in no text but one that was made from it. */
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

/* Bytes that a mail parser hands on as they are. */
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
    /* A message is a part as it stands: its headers are the part's. */
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

/* Ours stands last: of a setting that both have, cloud-init keeps the later one. */
static void add_message(struct buf *out, struct str config, struct str user_data)
{
    char boundary[BOUNDARY_SIZE];
    boundary_of(user_data, boundary);
    buf_addf(out,
             "Content-Type: multipart/mixed; boundary=\"%s\"\n"
             "MIME-Version: 1.0\n"
             "\n"
             "--%s\n",
             boundary, boundary);
    add_user_part(out, user_data);
    buf_addf(out,
             "\n--%s\n"
             "Content-Type: text/cloud-config\n"
             "\n",
             boundary);
    buf_add(out, config);
    buf_addf(out, "\n--%s--\n", boundary);
}

bool first_boot_compose(const struct ssh_key *host_key, struct str user_data, struct buf *out,
                        struct err *err)
{
    AUTO_BUF struct buf config;
    AUTO_BUF struct buf message;
    enum first_boot_form form = first_boot_form_of(user_data);
    buf_init(&config, CONFIG_BYTES_MAX);
    buf_init(&message, MESSAGE_BYTES_MAX);
    if (form == FIRST_BOOT_UNKNOWN) {
        return err_set(err, ERR_CONFIG,
                       "UserData begins with nothing that cloud-init knows, such as #! or "
                       "#cloud-config, so the machine's host key cannot be given with it");
    }
    if (form == FIRST_BOOT_GZIP) {
        return err_set(err, ERR_CONFIG, "UserData is compressed; give it as it is");
    }
    add_config(&config, host_key);
    if (form == FIRST_BOOT_EMPTY) {
        buf_add(&message, buf_str(&config));
    } else {
        add_message(&message, buf_str(&config), user_data);
    }
    if (message.is_full || message.len > FIRST_BOOT_BYTES_MAX) {
        return err_set(err, ERR_CONFIG,
                       "UserData has %zu bytes and Shoal adds %zu, but EC2 takes %d in all; move "
                       "some of it into setup_commands, or behind an #include",
                       user_data.len, message.len - user_data.len, FIRST_BOOT_BYTES_MAX);
    }
    buf_add(out, buf_str(&message));
    return true;
}

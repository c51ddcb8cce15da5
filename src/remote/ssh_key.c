/* ssh_key.c: makes keys with OpenSSL and writes them by RFC 8709 and OpenSSH's PROTOCOL.key. */
#include "remote/ssh_key.h"

#include "base/encode.h"
#include "base/panic.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <string.h>

#define KIND "ssh-ed25519"
#define LAUNCH_LABEL "shoal host key of a launch 1"

enum { BLOB_BYTES_MAX = 1024, PEM_LINE_LEN = 70, BLOCK_BYTES = 8, DIGEST_BYTES = 32 };

/* ---- making ---- */

bool ssh_key_from_seed(const uint8_t seed[SSH_SEED_BYTES], struct ssh_key *ret_key, struct err *err)
{
    struct ssh_key key;
    size_t len = sizeof(key.public);
    EVP_PKEY *pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, SSH_SEED_BYTES);
    bool is_made = pair && EVP_PKEY_get_raw_public_key(pair, key.public, &len) == 1 &&
                   len == sizeof(key.public);
    EVP_PKEY_free(pair);
    if (!is_made) {
        return err_set(err, ERR_INTERNAL, "OpenSSL cannot create an ed25519 key");
    }
    memcpy(key.seed, seed, sizeof(key.seed));
    *ret_key = key;
    ssh_key_wipe(&key);
    return true;
}

bool ssh_key_random(struct ssh_key *ret_key, struct err *err)
{
    uint8_t seed[SSH_SEED_BYTES];
    if (RAND_priv_bytes(seed, sizeof(seed)) != 1) {
        return err_set(err, ERR_IO, "cannot read random bytes from the system for a key");
    }
    bool is_made = ssh_key_from_seed(seed, ret_key, err);
    OPENSSL_cleanse(seed, sizeof(seed));
    return is_made;
}

/* The label separates these keys from anything else derived from the cluster's secret. */
bool ssh_key_of_launch(struct str cluster_secret, uint64_t launch, struct ssh_key *ret_key,
                       struct err *err)
{
    uint8_t message[sizeof(LAUNCH_LABEL) + sizeof(launch)] = LAUNCH_LABEL;
    uint8_t seed[EVP_MAX_MD_SIZE];
    if (cluster_secret.len < SSH_SECRET_BYTES_MIN || cluster_secret.len > BLOB_BYTES_MAX) {
        return err_set(err, ERR_INTERNAL, "invalid length of the cluster secret: %zu bytes",
                       cluster_secret.len);
    }
    for (size_t i = 0; i < sizeof(launch); i++) {
        message[sizeof(LAUNCH_LABEL) + i] = (uint8_t)(launch >> (56 - 8 * i));
    }
    if (!HMAC(EVP_sha256(), cluster_secret.ptr, (int)cluster_secret.len, message, sizeof(message),
              seed, NULL)) {
        return err_set(err, ERR_INTERNAL, "HMAC-SHA-256 failed");
    }
    bool is_made = ssh_key_from_seed(seed, ret_key, err);
    OPENSSL_cleanse(seed, sizeof(seed));
    return is_made;
}

void ssh_key_wipe(struct ssh_key *key)
{
    OPENSSL_cleanse(key, sizeof(*key));
}

/* ---- ssh's binary form ---- */

static struct str ssh_key_bytes_of(const uint8_t *bytes, size_t count)
{
    return (struct str){(const char *)bytes, count};
}

static void ssh_key_add_number(struct buf *out, size_t number)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        buf_add_char(out, (char)(number >> shift & 255));
    }
}

static void ssh_key_add_string(struct buf *out, struct str text)
{
    ssh_key_add_number(out, text.len);
    buf_add(out, text);
}

static void add_public_blob(struct buf *out, const uint8_t public[SSH_PUBLIC_BYTES])
{
    ssh_key_add_string(out, STR(KIND));
    ssh_key_add_string(out, ssh_key_bytes_of(public, SSH_PUBLIC_BYTES));
}

/* The section that a passphrase would encrypt. */
static void add_private_section(struct buf *out, const struct ssh_key *key, struct str comment)
{
    /* A number, written twice, by which a reader verifies its passphrase. OpenSSH uses a random
     * one; any value is valid. */
    for (int i = 0; i < 2; i++) {
        buf_add(out, ssh_key_bytes_of(key->public, 4));
    }
    add_public_blob(out, key->public);
    ssh_key_add_number(out, SSH_SEED_BYTES + SSH_PUBLIC_BYTES);
    buf_add(out, ssh_key_bytes_of(key->seed, SSH_SEED_BYTES));
    buf_add(out, ssh_key_bytes_of(key->public, SSH_PUBLIC_BYTES));
    ssh_key_add_string(out, comment);
    for (char pad = 1; out->len % BLOCK_BYTES != 0; pad++) {
        buf_add_char(out, pad);
    }
}

/* ---- text ---- */

/* Allocates the full capacity now: growing would leave copies of the secret in memory. */
static void init_whole(struct buf *buf)
{
    buf_init(buf, BLOB_BYTES_MAX);
    buf_add_spaces(buf, BLOB_BYTES_MAX);
    buf->len = 0;
}

void ssh_key_add_private(struct buf *out, const struct ssh_key *key, struct str comment)
{
    struct buf section;
    struct buf blob;
    AUTO_BUF struct buf public;
    init_whole(&section);
    init_whole(&blob);
    buf_init(&public, BLOB_BYTES_MAX);
    add_public_blob(&public, key->public);
    add_private_section(&section, key, comment);
    buf_add(&blob, (struct str){"openssh-key-v1", sizeof("openssh-key-v1")});
    ssh_key_add_string(&blob, STR("none")); /* cipher */
    ssh_key_add_string(&blob, STR("none")); /* KDF */
    ssh_key_add_string(&blob, STR(""));
    ssh_key_add_number(&blob, 1); /* number of keys */
    ssh_key_add_string(&blob, buf_str(&public));
    ssh_key_add_string(&blob, buf_str(&section));
    if (section.is_full || blob.is_full) {
        panic("a key comment of %zu bytes is too long", comment.len);
    }
    buf_add_c(out, "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    encode_base64_lines(out, buf_str(&blob), PEM_LINE_LEN);
    buf_add_c(out, "-----END OPENSSH PRIVATE KEY-----\n");
    buf_wipe(&section);
    buf_wipe(&blob);
}

void ssh_key_add_public(struct buf *out, const uint8_t public[SSH_PUBLIC_BYTES], struct str comment)
{
    AUTO_BUF struct buf blob;
    buf_init(&blob, BLOB_BYTES_MAX);
    add_public_blob(&blob, public);
    buf_add_c(out, KIND " ");
    encode_base64(out, buf_str(&blob));
    if (comment.len > 0) {
        buf_add_char(out, ' ');
        buf_add(out, comment);
    }
}

void ssh_key_add_fingerprint(struct buf *out, const uint8_t public[SSH_PUBLIC_BYTES])
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    AUTO_BUF struct buf blob;
    AUTO_BUF struct buf text;
    buf_init(&blob, BLOB_BYTES_MAX);
    buf_init(&text, BLOB_BYTES_MAX);
    add_public_blob(&blob, public);
    if (!EVP_Digest(blob.ptr, blob.len, digest, NULL, EVP_sha256(), NULL)) {
        panic("SHA-256 failed");
    }
    encode_base64(&text, ssh_key_bytes_of(digest, DIGEST_BYTES));
    buf_add_c(out, "SHA256:");
    buf_add(out, str_sub(buf_str(&text), 0, str_find_char(buf_str(&text), '='))); /* no padding */
}

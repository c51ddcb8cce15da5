/* payload_digest.c: caches the digests of the last two files. */
#include "remote/payload_digest.h"

#include "base/encode.h"
#include "base/str.h"
#include "io/file.h"
#include "io/os.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <string.h>
#include <sys/stat.h>

/* A head that sets up a thousand machines asks a thousand times for one or two files. The entry is
 * valid while the file's identity and times are unchanged. */
static struct {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
    char digest[PAYLOAD_DIGEST_SIZE];
} known[2];

static bool payload_digest_take(void *hash, struct str bytes)
{
    EVP_DigestUpdate(hash, bytes.ptr, bytes.len);
    return true;
}

static bool digest_file(const char *path, char digest[PAYLOAD_DIGEST_SIZE], struct err *err)
{
    unsigned char bytes[SHA256_DIGEST_LENGTH] = {0};
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    EVP_DigestInit_ex(hash, EVP_sha256(), NULL);
    bool ok = file_stream(path, payload_digest_take, hash, err);
    EVP_DigestFinal_ex(hash, bytes, NULL);
    EVP_MD_CTX_free(hash);
    encode_hex_to(digest, bytes, sizeof(bytes));
    return ok;
}

bool payload_digest(const char *path, char ret_digest[PAYLOAD_DIGEST_SIZE], int64_t *ret_size,
                    struct err *err)
{
    static size_t next;
    struct stat status;
    char digest[PAYLOAD_DIGEST_SIZE];
    if (stat(path, &status) != 0) {
        return err_set(err, ERR_NOT_FOUND, "%s: %s", path, strerror(errno));
    }
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (known[i].digest[0] && known[i].device == status.st_dev &&
            known[i].inode == status.st_ino && known[i].size == status.st_size &&
            known[i].changed.tv_sec == status.st_ctim.tv_sec &&
            known[i].changed.tv_nsec == status.st_ctim.tv_nsec) {
            memcpy(ret_digest, known[i].digest, PAYLOAD_DIGEST_SIZE);
            *ret_size = (int64_t)status.st_size;
            return true;
        }
    }
    if (!digest_file(path, digest, err)) {
        return false;
    }
    size_t place = next++ % ARRAY_LEN(known);
    known[place].device = status.st_dev;
    known[place].inode = status.st_ino;
    known[place].size = status.st_size;
    known[place].changed = status.st_ctim;
    memcpy(known[place].digest, digest, sizeof(digest));
    memcpy(ret_digest, digest, sizeof(digest));
    *ret_size = (int64_t)status.st_size;
    return true;
}

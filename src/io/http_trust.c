/* http_trust.c: finds the system's CA certificates. */
#include "io/http_trust.h"

#include "io/xalloc.h"

#include <limits.h>
#include <unistd.h>

/* Each is a bundle of all certificates. */
static const char *const usual_files[] = {
    "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Ubuntu, Alpine, Arch */
    "/etc/pki/tls/certs/ca-bundle.crt",                  /* Amazon Linux, RHEL */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora */
    "/etc/ssl/ca-bundle.pem",                            /* SUSE */
    "/etc/ssl/cert.pem",                                 /* macOS */
};

static char *http_trust_copy(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(heap_zeroed(size), text, size);
}

static char *copy_first_set(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) {
            return http_trust_copy(value);
        }
    }
    return NULL;
}

void http_trust_find(struct http_trust *trust, const char *built_in, const char *root)
{
    static const char *const files[] = {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"};
    static const char *const folders[] = {"SSL_CERT_DIR"};
    char path[PATH_MAX];
    trust->file = copy_first_set(files, ARRAY_LEN(files));
    trust->folder = copy_first_set(folders, ARRAY_LEN(folders));
    if (trust->file || trust->folder || (built_in && access(built_in, R_OK) == 0)) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(usual_files) && !trust->file; i++) {
        int len = snprintf(path, sizeof(path), "%s%s", root, usual_files[i]);
        if (len > 0 && (size_t)len < sizeof(path) && access(path, R_OK) == 0) {
            trust->file = http_trust_copy(path);
        }
    }
}

void http_trust_clear(struct http_trust *trust)
{
    free(trust->file);
    free(trust->folder);
    *trust = (struct http_trust){0};
}

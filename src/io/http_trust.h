/*
 * http_trust.h: the CA certificates for verifying servers.
 *
 * Systems keep them in different places, and the portable program, or libcurl, may have been built
 * on another system than the one it runs on.
 */
#pragma once

struct http_trust {
    char *file, *folder; /* NULL: libcurl's default */
};

/*
 * Tries, in this order: the variables SSL_CERT_FILE, CURL_CA_BUNDLE and REQUESTS_CA_BUNDLE
 * (SSL_CERT_DIR for a folder); `built_in` (libcurl's default, may be NULL) if it is readable; the
 * usual locations. `root` is a prefix for the usual locations, for tests; otherwise "".
 */
void http_trust_find(struct http_trust *trust, const char *built_in, const char *root);
void http_trust_clear(struct http_trust *trust);

/*
 * http_trust.h: the certificates that servers are checked against.
 *
 * The portable program has no place for them built in, since every system keeps them elsewhere, and
 * a libcurl may have been built on another system than the one it runs on.
 */
#pragma once

struct http_trust {
    char *file, *folder; /* NULL: libcurl's own */
};

/*
 * From the variables SSL_CERT_FILE, CURL_CA_BUNDLE and REQUESTS_CA_BUNDLE, and SSL_CERT_DIR for a
 * folder; else `built_in` (libcurl's own, may be NULL) if that can be read; else the first of the
 * usual places. `root` stands before the usual places, for tests; "" else.
 */
void http_trust_find(struct http_trust *trust, const char *built_in, const char *root);
void http_trust_clear(struct http_trust *trust);

/* gcs_tls.c: TLS as Ray's own variables ask for it. */
#include "ray/gcs_tls.h"

#include <stdlib.h>
#include <strings.h>

struct gcs_tls gcs_tls_of_environment(void)
{
    return (struct gcs_tls){
        .use_tls = getenv("RAY_USE_TLS"),
        .server_cert = getenv("RAY_TLS_SERVER_CERT"),
        .server_key = getenv("RAY_TLS_SERVER_KEY"),
        .ca_cert = getenv("RAY_TLS_CA_CERT"),
    };
}

bool gcs_tls_is_on(const struct gcs_tls *tls)
{
    const char *word = tls->use_tls ? tls->use_tls : "";
    return strcasecmp(word, "1") == 0 || strcasecmp(word, "true") == 0;
}

const char *gcs_tls_scheme(const struct gcs_tls *tls)
{
    return gcs_tls_is_on(tls) ? "https" : "http";
}

static bool check_file(const char *path, const char *variable, struct err *err)
{
    if (!path || path[0] == '\0') {
        return err_set(err, ERR_CONFIG, "RAY_USE_TLS is on, but %s names no file", variable);
    }
    return true;
}

bool gcs_tls_apply(const struct gcs_tls *tls, struct gcs_setup *setup, struct err *err)
{
    if (!gcs_tls_is_on(tls)) {
        setup->ca_file = setup->cert_file = setup->key_file = NULL;
        return true;
    }
    if (!check_file(tls->server_cert, "RAY_TLS_SERVER_CERT", err) ||
        !check_file(tls->server_key, "RAY_TLS_SERVER_KEY", err) ||
        !check_file(tls->ca_cert, "RAY_TLS_CA_CERT", err)) {
        return false;
    }
    setup->ca_file = tls->ca_cert;
    setup->cert_file = tls->server_cert;
    setup->key_file = tls->server_key;
    return true;
}

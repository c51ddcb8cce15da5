/*
 * gcs_tls.h: TLS as Ray's own variables ask for it.
 *
 * A cluster that was started with RAY_USE_TLS wants a certificate of whoever calls its GCS: the
 * same three files that each of its nodes has.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "ray/gcs.h"

/* The values of Ray's variables. NULL or empty: it is not set. */
struct gcs_tls {
    const char *use_tls;     /* RAY_USE_TLS */
    const char *server_cert; /* RAY_TLS_SERVER_CERT, and so on */
    const char *server_key;
    const char *ca_cert;
};

struct gcs_tls gcs_tls_of_environment(void);

/* As Ray decides it: "1" or "true" in any case. */
bool gcs_tls_is_on(const struct gcs_tls *tls);

/* "http" or "https": how `server` of a setup begins. */
const char *gcs_tls_scheme(const struct gcs_tls *tls);

/* The files of the setup; none when TLS is off. ERR_CONFIG when it is on and one is not named. */
bool gcs_tls_apply(const struct gcs_tls *tls, struct gcs_setup *setup, struct err *err) MUST_USE;

/*
 * adc_file.h: reads a file of Google credentials: the application default credentials that gcloud
 * writes, a service account's key, or the configuration of an external identity.
 *
 * The same files are accepted as in google-auth, and mean the same. Bounded: a value of the wrong
 * type, a control character, or more than ADC_BYTES_MAX bytes fail with ERR_AUTH. Errors name the
 * field and never quote its value, except the type of the file. Pure.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ADC_BYTES_MAX = 256 * 1024, ADC_HEADERS_MAX = 8 };

#define ADC_UNIVERSE "googleapis.com"

enum adc_type {
    ADC_USER,            /* authorized_user: `gcloud auth application-default login` */
    ADC_SERVICE_ACCOUNT, /* service_account: a key */
    ADC_EXTERNAL,        /* external_account: workload or workforce identity federation */
    ADC_EXTERNAL_USER,   /* external_account_authorized_user: a login with workforce identity */
    ADC_IMPERSONATED,    /* impersonated_service_account */
    ADC_TYPE_COUNT
};

enum adc_subject_kind { SUBJECT_FILE, SUBJECT_URL, SUBJECT_PROGRAM, SUBJECT_AWS };

struct adc_header {
    struct str name, value;
};

/* Where the token of an external identity comes from. Texts that are not set are empty. */
struct adc_subject {
    enum adc_subject_kind kind;
    struct str place; /* path, URL or command line; for AWS, the URL of the role's keys */
    struct str field; /* the token is in this field of a JSON object; empty: it is the whole text */
    struct adc_header headers[ADC_HEADERS_MAX]; /* SUBJECT_URL */
    size_t header_count;
    int64_t timeout_ms; /* SUBJECT_PROGRAM, and the next one */
    struct str output_path;
    struct str region_url; /* SUBJECT_AWS, and the next two */
    struct str session_url;
    struct str verify_url; /* the call that proves the identity; "{region}" is replaced */
};

struct adc_list {
    struct str *items;
    size_t count;
};

/* Texts that are not set are empty. Contents are secret. */
struct adc_file {
    enum adc_type type;
    struct str project;
    struct str quota_project;
    struct str universe;    /* never empty */
    struct str token_url;   /* not for ADC_IMPERSONATED */
    struct adc_list scopes; /* ADC_USER and ADC_IMPERSONATED; empty: those of the caller */
    /* ADC_USER and ADC_EXTERNAL_USER; client_* also for ADC_EXTERNAL: */
    struct str client_id, client_secret, refresh_token, rapt_token;
    struct str token;   /* a token that the file contains; empty: none */
    int64_t expires_at; /* of that token */
    /* ADC_SERVICE_ACCOUNT: */
    struct str email, private_key, key_id;
    bool has_key_id;
    bool is_self_signed; /* the signed JWT itself is the token: outside of Google's own universe */
    /* ADC_EXTERNAL: */
    struct str audience, subject_type, user_project;
    struct adc_subject subject;
    /* The service account to impersonate with the first token; empty: none. */
    struct str impersonation_url;
    struct str principal; /* its email address */
    struct str lifetime;  /* in seconds, as text */
    struct adc_list delegates;
    bool has_delegates;
    const struct adc_file *base; /* ADC_IMPERSONATED: has the first token */
};

/* "authorized_user", ...: the type's name in files. */
const char *adc_type_name(enum adc_type type);

/* Allocated in `arena`. */
bool adc_file_read(struct str json, struct arena *arena, struct adc_file *ret_file,
                   struct err *err) MUST_USE;

/* The number or id of the project in an external account's audience; empty: none. */
struct str adc_project_number(const struct adc_file *file);

/* Secrets may be sent there: https, or this machine. */
bool adc_is_safe_url(struct str url);

/* A domain that can be part of a URL. */
bool adc_is_domain(struct str text);

/*
 * store_s3.c: a prefix of a bucket as a place for checkpoints, in S3 or in Google Cloud Storage.
 *
 * Each call runs a loop until it has ended. provider/aws, or store_gs.c for Google, signs, retries
 * with back-off and finds credentials and the endpoint. Files over 64 MB are uploaded in parts; an
 * upload that fails is aborted, so that its parts cost nothing.
 */
#include "app/cloud_session.h"
#include "app/train/store_gs.h"
#include "app/train/store_place.h"
#include "base/encode.h"
#include "io/xalloc.h"
#include "provider/aws/client/aws_client.h"
#include "provider/aws/wire/xml_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum {
    SINGLE_MAX = 64 << 20,
    PART_BYTES = 32 << 20,
    PARTS_MAX = 10000, /* limit of S3 */
    CALL_MS = 10 * 60 * 1000,
    GET_MS = 60 * 60 * 1000,
    REPLY_BYTES = 64 << 20,
    CHILDREN_MAX = 1, /* credential_process */
};

struct s3_place {
    struct store_place base;
    struct loop *loop;
    struct http *http;
    struct child_pool *children;
    struct aws_client *client;
    struct gs_client *google; /* NULL: S3 */
    char region[32];          /* where the bucket is, as far as is known */
    char bucket[256];
    char prefix[1024]; /* ends with a slash */
};

/* ---- one call ---- */

struct s3_call {
    struct s3_place *place;
    const char *action, *method;
    struct str path; /* with its query */
    struct str body;
    enum aws_idempotency care;
    bool is_new; /* does not replace an object */
    int64_t deadline_ms;
    bool has_result; /* S3 reports some errors with status 200: the root must be a result */
    /* a body that is written to a file, or NULL */
    struct s3_file *file;
    /* the reply */
    struct buf reply;
    char etag[GS_ETAG_BYTES];
    bool is_ok, is_elsewhere; /* the bucket is in another region, which is the place's now */
    struct err err;
};

struct s3_file {
    int file;
    int64_t size, limit;
    struct sha256_state *digest;
    bool has_failed;
    struct err err;
};

static void s3_file_begin(void *context)
{
    struct s3_call *call = context;
    sha256_end(call->file->digest, NULL);
    call->file->digest = sha256_begin();
    call->file->size = 0;
    if (ftruncate(call->file->file, 0) != 0 || lseek(call->file->file, 0, SEEK_SET) != 0) {
        call->file->has_failed = true;
    }
}

static void s3_file_bytes(void *context, struct str bytes)
{
    struct s3_file *file = ((struct s3_call *)context)->file;
    sha256_add(file->digest, bytes);
    file->size += (int64_t)bytes.len;
    while (bytes.len > 0 && !file->has_failed) {
        ssize_t written = write(file->file, bytes.ptr, bytes.len);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            file->has_failed = true;
            err_set(&file->err, ERR_IO, "cannot write: %s", strerror(errno));
            break;
        }
        bytes = str_sub(bytes, (size_t)written, bytes.len);
    }
}

static bool s3_check(void *context, struct str body, struct err *err)
{
    const struct s3_call *call = context;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    const struct xml_element *root;
    if (!call->has_result) {
        return true;
    }
    return xml_tree_parse(body, &arena, &root, err) &&
           (str_ends(root->name, "Result") ||
            err_set(err, ERR_PROTOCOL, "S3 answered with %.*s", STR_ARG(root->name)));
}

static void s3_done(void *context, const struct aws_reply *reply)
{
    struct s3_call *call = context;
    call->is_ok = reply->is_ok;
    call->err = reply->err;
    call->is_elsewhere = !reply->is_ok && reply->region.len > 0 &&
                         reply->region.len < sizeof(call->place->region) &&
                         !str_is(reply->region, call->place->region);
    if (call->is_elsewhere) {
        snprintf(call->place->region, sizeof(call->place->region), "%.*s", STR_ARG(reply->region));
    }
    if (reply->is_ok) {
        buf_add(&call->reply, reply->body);
        snprintf(call->etag, sizeof(call->etag), "%.*s", STR_ARG(reply->etag));
    } else if (reply->error.status == 404) {
        call->err.kind = ERR_NOT_FOUND;
    } else if (call->is_new && (reply->error.status == 412 || reply->error.status == 409)) {
        call->err.kind = ERR_EXISTS; /* 409: another one is being stored now */
    } else if (reply->may_have_acted) {
        call->err.kind = ERR_TIMEOUT;
    }
    loop_stop(call->place->loop);
}

static bool s3_run_google(struct s3_call *call, struct err *err)
{
    struct gs_request request = {
        .action = call->action,
        .method = call->method,
        .path = call->path,
        .body = call->body,
        .is_new = call->is_new,
        .deadline_ms = call->deadline_ms > 0 ? call->deadline_ms : CALL_MS,
        .body_max = REPLY_BYTES,
        .begin = call->file ? s3_file_begin : NULL,
        .bytes = call->file ? s3_file_bytes : NULL,
        .context = call,
    };
    return gs_run(call->place->google, &request, &call->reply, call->etag, err) &&
           s3_check(call, buf_str(&call->reply), err);
}

static void s3_run_aws(struct s3_call *call)
{
    aws_call_start(call->place->client,
                   &(struct aws_request){
                       .service = AWS_S3,
                       .region = str_from(call->place->region),
                       .action = call->action,
                       .method = call->method,
                       .path = call->path,
                       .body = call->body,
                       .is_new = call->is_new,
                       .care = call->care,
                       .deadline_ms = call->deadline_ms > 0 ? call->deadline_ms : CALL_MS,
                       .body_max = call->file ? (size_t)call->file->limit + 1 : REPLY_BYTES,
                       .begin = call->file ? s3_file_begin : NULL,
                       .bytes = call->file ? s3_file_bytes : NULL,
                       .check = s3_check,
                       .done = s3_done,
                       .context = call,
                   });
    loop_run(call->place->loop);
}

/* S3 says where a bucket is if a call went to another region: then it is made there, once. */
static bool s3_run(struct s3_call *call, struct err *err)
{
    buf_init(&call->reply, REPLY_BYTES);
    if (call->place->google) {
        return s3_run_google(call, err);
    }
    s3_run_aws(call);
    if (call->is_elsewhere) {
        s3_run_aws(call);
    }
    *err = call->err;
    return call->is_ok;
}

/* "/BUCKET/PREFIX/KEY", encoded. */
static struct str s3_path(const struct s3_place *place, const char *key, struct arena *arena)
{
    AUTO_BUF struct buf path;
    buf_init(&path, (size_t)STORE_KEY_MAX * 4);
    buf_addf(&path, "/%s/", place->bucket);
    encode_uri(&path, str_from(place->prefix), "/");
    encode_uri(&path, str_from(key), "/");
    return arena_str(arena, buf_str(&path));
}

/* ---- storing ---- */

static bool s3_read(int file, char *bytes, size_t size, int64_t at, struct err *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(file, bytes + done, size - done, at + (int64_t)done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return err_set(err, ERR_IO, "a file changed while it was stored");
        }
        done += (size_t)got;
    }
    return true;
}

static bool s3_put_bytes(struct s3_place *place, const char *key, struct str bytes, bool is_new,
                         struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct s3_call call = {.place = place,
                           .action = "PutObject",
                           .method = "PUT",
                           .path = s3_path(place, key, &arena),
                           .body = bytes,
                           .care = AWS_REPEATABLE,
                           .is_new = is_new};
    bool is_put = s3_run(&call, err);
    buf_clear(&call.reply);
    return is_put;
}

struct s3_upload {
    struct s3_place *place;
    struct str path; /* of the object */
    struct str id;   /* encoded */
    struct buf list; /* of the parts, as XML */
};

static bool s3_upload_begin(struct s3_upload *upload, struct arena *arena, struct err *err)
{
    AUTO_BUF struct buf id;
    const struct xml_element *root;
    struct s3_call call = {
        .place = upload->place,
        .action = "CreateMultipartUpload",
        .method = "POST",
        .path = arena_printf(arena, "%.*s?uploads=", STR_ARG(upload->path)),
        .care = AWS_REPEATABLE,
        .has_result = true,
    };
    buf_init(&id, 4096);
    bool is_begun = s3_run(&call, err) && xml_tree_parse(buf_str(&call.reply), arena, &root, err);
    if (is_begun) {
        encode_uri(&id, xml_child_text(root, "UploadId"), "");
        upload->id = arena_str(arena, buf_str(&id));
        is_begun = id.len > 0 || err_set(err, ERR_PROTOCOL, "S3 sent no upload id");
    }
    buf_clear(&call.reply);
    return is_begun;
}

static bool s3_upload_part(struct s3_upload *upload, int number, struct str bytes, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct s3_call call = {
        .place = upload->place,
        .action = "UploadPart",
        .method = "PUT",
        .path = arena_printf(&arena, "%.*s?partNumber=%d&uploadId=%.*s", STR_ARG(upload->path),
                             number, STR_ARG(upload->id)),
        .body = bytes,
        .care = AWS_REPEATABLE,
    };
    bool is_put = s3_run(&call, err);
    if (is_put) {
        buf_addf(&upload->list, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>", number,
                 call.etag);
    }
    buf_clear(&call.reply);
    return is_put;
}

static bool s3_upload_finish(struct s3_upload *upload, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct s3_call call = {
        .place = upload->place,
        .action = "CompleteMultipartUpload",
        .method = "POST",
        .path = arena_printf(&arena, "%.*s?uploadId=%.*s", STR_ARG(upload->path),
                             STR_ARG(upload->id)),
        .body = arena_printf(&arena,
                             "<CompleteMultipartUpload>%.*s"
                             "</CompleteMultipartUpload>",
                             STR_ARG(buf_str(&upload->list))),
        .care = AWS_REPEATABLE,
        .has_result = true,
    };
    bool is_done = s3_run(&call, err);
    buf_clear(&call.reply);
    return is_done;
}

static void s3_upload_abort(struct s3_upload *upload)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct err ignored;
    struct s3_call call = {
        .place = upload->place,
        .action = "AbortMultipartUpload",
        .method = "DELETE",
        .path = arena_printf(&arena, "%.*s?uploadId=%.*s", STR_ARG(upload->path),
                             STR_ARG(upload->id)),
        .care = AWS_REPEATABLE,
        .deadline_ms = 30 * 1000,
    };
    if (!s3_run(&call, &ignored)) {
        fprintf(stderr, "an incomplete upload is left in the bucket: %s\n", ignored.text);
    }
    buf_clear(&call.reply);
}

static bool s3_put_large(struct s3_place *place, const char *key, int file, int64_t size,
                         uint8_t ret_digest[SHA256_BYTES], struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct s3_upload upload = {.place = place, .path = s3_path(place, key, &arena)};
    int64_t least = size / (PARTS_MAX - 1) + 1;
    size_t step = least > PART_BYTES ? (size_t)least : PART_BYTES;
    if (!s3_upload_begin(&upload, &arena, err)) {
        return false;
    }
    buf_init(&upload.list, 4 << 20);
    char *bytes = heap_zeroed(step);
    struct sha256_state *digest = sha256_begin();
    bool is_put = true;
    int number = 1;
    for (int64_t at = 0; is_put && at < size; at += (int64_t)step, number++) {
        size_t part = size - at < (int64_t)step ? (size_t)(size - at) : step;
        is_put = s3_read(file, bytes, part, at, err);
        if (is_put) {
            sha256_add(digest, (struct str){bytes, part});
            is_put = s3_upload_part(&upload, number, (struct str){bytes, part}, err);
        }
    }
    sha256_end(digest, ret_digest);
    free(bytes);
    is_put = is_put && s3_upload_finish(&upload, err);
    if (!is_put) {
        s3_upload_abort(&upload);
    }
    buf_clear(&upload.list);
    return is_put;
}

static bool s3_put(struct store_place *base, const char *key, int file, int64_t size,
                   uint8_t ret_digest[SHA256_BYTES], struct err *err)
{
    struct s3_place *place = (struct s3_place *)base;
    if (size > SINGLE_MAX) {
        return s3_put_large(place, key, file, size, ret_digest, err);
    }
    char *bytes = heap_zeroed((size_t)size + 1);
    bool is_put = s3_read(file, bytes, (size_t)size, 0, err);
    if (is_put) {
        sha256((struct str){bytes, (size_t)size}, ret_digest);
        is_put = s3_put_bytes(place, key, (struct str){bytes, (size_t)size}, false, err);
    }
    free(bytes);
    return is_put;
}

static bool s3_put_text(struct store_place *base, const char *key, struct str text, bool is_new,
                        struct err *err)
{
    return s3_put_bytes((struct s3_place *)base, key, text, is_new, err);
}

/* ---- fetching ---- */

static bool s3_get(struct store_place *base, const char *key, int file, int64_t size,
                   uint8_t ret_digest[SHA256_BYTES], struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct s3_place *place = (struct s3_place *)base;
    struct s3_file target = {.file = file, .limit = size, .digest = sha256_begin()};
    struct s3_call call = {.place = place,
                           .action = "GetObject",
                           .method = "GET",
                           .path = s3_path(place, key, &arena),
                           .care = AWS_READ,
                           .deadline_ms = GET_MS,
                           .file = &target};
    bool is_got = s3_run(&call, err);
    sha256_end(target.digest, ret_digest);
    buf_clear(&call.reply);
    if (is_got && target.has_failed) {
        *err = target.err;
        return false;
    }
    return is_got && (target.size == size ||
                      err_set(err, ERR_PROTOCOL, "%.300s has %" PRId64 " bytes, not %" PRId64, key,
                              target.size, size));
}

static bool s3_get_text(struct store_place *base, const char *key, struct buf *out, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct s3_place *place = (struct s3_place *)base;
    struct s3_call call = {.place = place,
                           .action = "GetObject",
                           .method = "GET",
                           .path = s3_path(place, key, &arena),
                           .care = AWS_READ};
    bool is_got = s3_run(&call, err);
    buf_add(out, buf_str(&call.reply));
    buf_clear(&call.reply);
    return is_got;
}

/* ---- listing ---- */

/* One page; `token` is the place of the next one, or empty. */
static bool s3_list_page(struct s3_place *place, const char *folder, bool is_deep,
                         struct str *token, struct arena *arena,
                         const struct xml_element **ret_root, struct err *err)
{
    AUTO_BUF struct buf path;
    buf_init(&path, (size_t)STORE_KEY_MAX * 4);
    buf_addf(&path, "/%s?", place->bucket);
    if (token->len > 0) {
        buf_add_c(&path, "continuation-token=");
        encode_uri(&path, *token, "");
        buf_add_char(&path, '&');
    }
    buf_addf(&path, "%slist-type=2&prefix=", is_deep ? "" : "delimiter=%2F&");
    encode_uri(&path, str_from(place->prefix), "");
    encode_uri(&path, str_from(folder), "");
    struct s3_call call = {.place = place,
                           .action = "ListObjectsV2",
                           .method = "GET",
                           .path = buf_str(&path),
                           .care = AWS_READ,
                           .has_result = true};
    bool is_listed = s3_run(&call, err) &&
                     xml_tree_parse(arena_str(arena, buf_str(&call.reply)), arena, ret_root, err);
    *token = is_listed ? xml_child_text(*ret_root, "NextContinuationToken") : STR("");
    buf_clear(&call.reply);
    return is_listed;
}

static bool s3_list(struct store_place *base, const char *folder, store_name_fn *take,
                    void *context, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct s3_place *place = (struct s3_place *)base;
    size_t skipped = strlen(place->prefix) + strlen(folder);
    struct str token = STR("");
    do {
        const struct xml_element *root;
        if (!s3_list_page(place, folder, false, &token, &arena, &root, err)) {
            return false;
        }
        for (const struct xml_element *one = root->first; one; one = one->next) {
            bool is_folder = str_is(one->name, "CommonPrefixes");
            if (is_folder || str_is(one->name, "Contents")) {
                struct str name = xml_child_text(one, is_folder ? "Prefix" : "Key");
                name = str_sub(name, skipped, name.len - (is_folder && name.len > 0 ? 1 : 0));
                take(context, name);
            }
        }
    } while (token.len > 0);
    return true;
}

static bool s3_delete(struct s3_place *place, struct str key, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str rest = str_sub(key, strlen(place->prefix), key.len);
    struct s3_call call = {.place = place,
                           .action = "DeleteObject",
                           .method = "DELETE",
                           .path = s3_path(place, arena_str(&arena, rest).ptr, &arena),
                           .care = AWS_REPEATABLE};
    bool is_removed = s3_run(&call, err);
    buf_clear(&call.reply);
    return is_removed;
}

/* Names with "manifest-" are before those with "part-", so it is incomplete from the first one. */
static bool s3_remove(struct store_place *base, const char *folder, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct s3_place *place = (struct s3_place *)base;
    struct str token = STR("");
    do {
        const struct xml_element *root;
        if (!s3_list_page(place, folder, true, &token, &arena, &root, err)) {
            return false;
        }
        for (const struct xml_element *one = root->first; one; one = one->next) {
            if (str_is(one->name, "Contents") &&
                !s3_delete(place, xml_child_text(one, "Key"), err)) {
                return false;
            }
        }
    } while (token.len > 0);
    return true;
}

/* ---- opening ---- */

static void s3_close(struct store_place *base)
{
    struct s3_place *place = (struct s3_place *)base;
    if (place->client) {
        aws_client_close(place->client);
    }
    if (place->google) {
        gs_client_free(place->google);
    }
    if (place->http) {
        http_close(place->http);
    }
    if (place->children) {
        child_pool_free(place->children);
    }
    if (place->loop) {
        loop_close(place->loop);
    }
    free(place);
}

static const struct store_place_ops s3_ops = {s3_put,  s3_put_text, s3_get,  s3_get_text,
                                              s3_list, s3_remove,   s3_close};

/* What the user has set, or the region of the cluster. */
static void s3_set_region(struct s3_place *place)
{
    struct str region = aws_client_region(place->client);
    region = region.len > 0 ? region : str_from(getenv(TRAIN_REGION_VARIABLE));
    region = region.len > 0 ? region : STR("us-east-1");
    snprintf(place->region, sizeof(place->region), "%.*s", STR_ARG(region));
}

bool store_s3_open(const char *where, const char *job, struct store_place **ret_place,
                   struct err *err)
{
    struct s3_place *place = HEAP_NEW(struct s3_place);
    static const struct log quiet = {.least = LOG_LEVEL_ERROR + 1};
    struct str rest = str_from(where + strlen("s3://")); /* "gs://" is as long */
    struct str bucket = str_cut(&rest, '/');
    uint64_t seed = (uint64_t)getpid();
    while (rest.len > 0 && rest.ptr[rest.len - 1] == '/') {
        rest.len--;
    }
    place->base.ops = &s3_ops;
    snprintf(place->bucket, sizeof(place->bucket), "%.*s", STR_ARG(bucket));
    snprintf(place->prefix, sizeof(place->prefix), "%.*s%s%s/", STR_ARG(rest),
             rest.len > 0 ? "/" : "", job);
    bool is_open = loop_open(&clock_of_machine, &place->loop, err) &&
                   http_open(place->loop, &(struct http_limits){0}, &place->http, err);
    if (is_open) {
        place->children = child_pool_new(place->loop, CHILDREN_MAX);
        place->google = str_starts(str_from(where), "gs://")
                            ? gs_client_new(place->loop, place->http, place->children)
                            : NULL;
    }
    if (is_open && !place->google) {
        is_open = aws_client_open(&(struct aws_client_setup){.loop = place->loop,
                                                             .http = place->http,
                                                             .children = place->children,
                                                             .log = &quiet,
                                                             .environ = (aws_environ)environ,
                                                             .seed = seed},
                                  &place->client, err);
    }
    if (!is_open) {
        s3_close(&place->base);
        return false;
    }
    if (place->client) {
        s3_set_region(place);
    }
    *ret_place = &place->base;
    return true;
}

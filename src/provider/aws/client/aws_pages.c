/* aws_pages.c: requests pages until one has no next token. */
#include "provider/aws/client/aws_pages.h"

#include "base/require.h"
#include "base/table.h"
#include "io/xalloc.h"

enum { PAGES_BYTES_MAX = 64 * 1024 * 1024 };

struct aws_pages {
    struct aws_client *client;
    struct aws_request request; /* strings in `arena` */
    struct arena arena;
    struct aws_call *call;
    aws_pages_fn *done;
    void *context;
    const struct xml_element **roots;
    size_t count, capacity;
    size_t bytes;
    const struct xml_element *root; /* page being checked */
    struct str *tokens;             /* all tokens seen so far */
    size_t token_count, token_capacity;
    struct table seen;
    unsigned tries;
};

static void pages_free(struct aws_pages *pages)
{
    if (pages->call) {
        aws_call_cancel(pages->call);
    }
    arena_clear(&pages->arena);
    free(pages);
}

void aws_pages_cancel(struct aws_pages *pages)
{
    pages_free(pages);
}

static void aws_pages_finish(struct aws_pages *pages, const struct aws_reply *reply)
{
    require(!reply->is_ok || pages->count > 0, "a complete listing has a page");
    struct aws_reply told = *reply;
    told.tries = pages->tries;
    told.body = STR("");
    pages->done(pages->context, &told, pages->roots, reply->is_ok ? pages->count : 0);
    pages_free(pages);
}

static void aws_pages_fail(struct aws_pages *pages, const char *why)
{
    struct aws_reply reply = {.error = {.code = STR("BadListing"),
                                        .message = str_from(why),
                                        .request_id = STR(""),
                                        .status = 200,
                                        .class = AWS_PERMANENT,
                                        .outcome = OUTCOME_UNKNOWN}};
    err_set(&reply.err, ERR_PROTOCOL, "%s %s: %s", aws_service_name(pages->request.service),
            pages->request.action, why);
    aws_pages_finish(pages, &reply);
}

/* ---- tokens ---- */

static bool aws_pages_is_token(const void *context, size_t position)
{
    const struct aws_pages *pages = context;
    return str_eq(pages->tokens[position], pages->tokens[pages->token_count]);
}

/* False if the token was seen before. */
static bool remember(struct aws_pages *pages, struct str token)
{
    require(pages->token_count <= pages->token_capacity, "the tokens fit");
    uint64_t hash = str_hash(token);
    ARENA_GROW(&pages->arena, pages->tokens, pages->token_count, pages->token_capacity);
    pages->tokens[pages->token_count] = token;
    if (table_find(&pages->seen, hash, aws_pages_is_token, pages) != TABLE_NONE) {
        return false;
    }
    table_add(&pages->seen, &pages->arena, hash, pages->token_count++);
    return true;
}

/* The token of the next page and its parameter name; empty: last page. */
static struct str next_token(const struct aws_pages *pages, const char **ret_name)
{
    const struct xml_element *root = pages->root;
    if (pages->request.service == AWS_EC2) {
        *ret_name = "NextToken";
        return xml_child_text(root, "nextToken");
    }
    const struct xml_element *result = root->first; /* <ActionResult> */
    bool is_more = str_is(xml_child_text(result, "IsTruncated"), "true");
    *ret_name = "Marker";
    return is_more ? xml_child_text(result, "Marker") : STR("");
}

/* ---- pages ---- */

static void aws_pages_request(struct aws_pages *pages, const char *name, struct str token);

static bool aws_pages_read_page(void *context, struct str body, struct err *err)
{
    struct aws_pages *pages = context;
    pages->bytes += body.len;
    if (!xml_tree_parse(body, &pages->arena, &pages->root, err)) {
        return false;
    }
    struct str name = pages->root->name;
    struct str action = str_from(pages->request.action);
    bool is_right = str_is(str_sub(name, action.len, name.len), "Response") &&
                    str_eq(str_sub(name, 0, action.len), action);
    return is_right ||
           err_set(err, ERR_PROTOCOL, "the XML is not a response to %s", pages->request.action);
}

static void aws_pages_on_page(void *context, const struct aws_reply *reply)
{
    struct aws_pages *pages = context;
    const char *name;
    pages->call = NULL;
    pages->tries += reply->tries;
    if (!reply->is_ok) {
        aws_pages_finish(pages, reply);
        return;
    }
    ARENA_PUSH(&pages->arena, pages->roots, pages->count, pages->capacity) = pages->root;
    struct str token = next_token(pages, &name);
    if (token.len == 0) {
        aws_pages_finish(pages, reply);
    } else if (pages->count >= AWS_PAGES_MAX || pages->bytes > PAGES_BYTES_MAX) {
        aws_pages_fail(pages, "AWS returned too many pages");
    } else if (!remember(pages, token)) {
        aws_pages_fail(pages, "AWS returned the same page token twice");
    } else {
        aws_pages_request(pages, name, token);
    }
}

static void aws_pages_request(struct aws_pages *pages, const char *name, struct str token)
{
    struct aws_request request = pages->request;
    struct param input = {.kind = PARAM_MAP};
    if (request.input) {
        input = *request.input;
    }
    /* Appended to the caller's parameters for this call only. */
    struct param last = {.kind = PARAM_TEXT, .name = str_from(name), .text = token};
    struct param *tail = input.last;
    if (token.len > 0) {
        *(tail ? &tail->next : &input.first) = &last;
        input.last = &last;
    }
    request.input = &input;
    pages->call = aws_call_start(pages->client, &request);
    if (tail) {
        tail->next = NULL;
    }
}

static struct param *copy_params(const struct param *param, struct arena *arena)
{
    struct param *copy = ARENA_NEW(arena, struct param);
    *copy = *param;
    copy->name = arena_str(arena, param->name);
    copy->text = arena_str(arena, param->text);
    copy->first = copy->last = copy->next = NULL;
    for (const struct param *child = param->first; child; child = child->next) {
        struct param *added = copy_params(child, arena);
        *(copy->last ? &copy->last->next : &copy->first) = added;
        copy->last = added;
    }
    return copy;
}

struct aws_pages *aws_pages_start(struct aws_client *client, const struct aws_request *request,
                                  aws_pages_fn *done, void *context)
{
    struct aws_pages *pages = HEAP_NEW(struct aws_pages);
    arena_init(&pages->arena);
    pages->client = client;
    pages->done = done;
    pages->context = context;
    pages->request = *request;
    pages->request.region = arena_str(&pages->arena, request->region);
    pages->request.action = arena_str(&pages->arena, str_from(request->action)).ptr;
    pages->request.input = request->input ? copy_params(request->input, &pages->arena) : NULL;
    pages->request.care = AWS_READ;
    pages->request.begin = NULL;
    pages->request.bytes = NULL;
    pages->request.check = aws_pages_read_page;
    pages->request.done = aws_pages_on_page;
    pages->request.context = pages;
    aws_pages_request(pages, "", STR(""));
    return pages;
}

/* question.c: sends, pauses, sends again. */
#include "provider/gcp/credentials/question.h"

#include "base/require.h"
#include "provider/gcp/credentials/token_reply.h"

static void asker_send(void *context);

void asker_init(struct asker *asker, struct http *http, int64_t pause_ms, void *context)
{
    *asker = (struct asker){.http = http, .context = context, .pause_ms = pause_ms};
    asker->timer = loop_timer_new(http_loop(http), asker_send, asker);
}

void asker_clear(struct asker *asker)
{
    if (asker->call) {
        http_forget(asker->call);
        asker->call = NULL;
    }
    loop_timer_free(asker->timer);
    asker->timer = NULL;
}

static bool asker_is_temporary(const struct question *question, const struct http_reply *reply)
{
    struct arena arena;
    if (reply->outcome != HTTP_REPLIED) {
        return question->retries_lost && reply->outcome != HTTP_BAD_REQUEST;
    }
    switch (reply->status) {
    case 408:
    case 429:
    case 500:
    case 503:
    case 504:
        return !question->is_ping;
    case 200:
        return false;
    default:
        break;
    }
    if (!question->reads_refusal) {
        return false;
    }
    arena_init_secret(&arena);
    bool is_temporary = token_refusal_read(reply->body, &arena).is_temporary;
    arena_clear(&arena);
    return is_temporary;
}

static void asker_on_reply(void *context, const struct http_reply *reply)
{
    struct asker *asker = context;
    asker->call = NULL;
    if (asker->tries < asker->question.tries_max && asker_is_temporary(&asker->question, reply)) {
        loop_timer_start(asker->timer, asker->pause_ms << (asker->tries - 1));
        return;
    }
    asker->question.answered(asker->context, reply);
}

static void asker_send(void *context)
{
    struct asker *asker = context;
    const struct question *question = &asker->question;
    struct http_request request = {
        .method = question->method,
        .url = question->url.ptr,
        .headers = question->headers,
        .header_count = question->header_count,
        .body = question->body,
        .version = question->is_direct ? HTTP_VERSION_1_1 : HTTP_VERSION_ANY,
        .is_direct = question->is_direct,
        .total_ms = question->total_ms,
        .body_max = TOKEN_REPLY_MAX,
        .done = asker_on_reply,
        .context = asker,
    };
    asker->tries++;
    asker->call = http_start(asker->http, &request);
}

void asker_ask(struct asker *asker, const struct question *question)
{
    require(!asker->call, "one question at a time");
    asker->question = *question;
    asker->tries = 0;
    asker_send(asker);
}

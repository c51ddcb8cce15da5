/* xml_reply.c: expat with limits. */
#include "provider/aws/wire/xml_reply.h"

#include "base/panic.h"

#include <expat.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct xml_reply {
    XML_Parser parser;
    const struct xml_listener *listener;
    void *context;
    size_t bytes;
    int depth;
    bool has_failed;
    struct err err;
};

static void xml_reply_stop(struct xml_reply *reply)
{
    reply->has_failed = true;
    XML_StopParser(reply->parser, XML_FALSE);
}

static void xml_reply_on_start(void *user, const XML_Char *name, const XML_Char **attributes)
{
    struct xml_reply *reply = user;
    (void)attributes;
    if (reply->has_failed) {
        return; /* expat may still deliver buffered events */
    }
    if (++reply->depth > XML_REPLY_DEPTH_MAX) {
        err_set(&reply->err, ERR_PROTOCOL, "the XML has more than %d levels", XML_REPLY_DEPTH_MAX);
        xml_reply_stop(reply);
    } else if (!reply->listener->start(reply->context, str_from(name), &reply->err)) {
        xml_reply_stop(reply);
    }
}

static void xml_reply_on_end(void *user, const XML_Char *name)
{
    struct xml_reply *reply = user;
    (void)name;
    if (reply->has_failed) {
        return;
    }
    reply->depth--;
    if (!reply->listener->end(reply->context, &reply->err)) {
        xml_reply_stop(reply);
    }
}

static void xml_reply_on_text(void *user, const XML_Char *text, int len)
{
    struct xml_reply *reply = user;
    if (!reply->has_failed &&
        !reply->listener->text(reply->context, (struct str){text, (size_t)len}, &reply->err)) {
        xml_reply_stop(reply);
    }
}

static void on_doctype(void *user, const XML_Char *name, const XML_Char *system_id,
                       const XML_Char *public_id, int has_subset)
{
    struct xml_reply *reply = user;
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_subset;
    err_set(&reply->err, ERR_PROTOCOL, "the XML has a document type declaration");
    xml_reply_stop(reply);
}

struct xml_reply *xml_reply_new(const struct xml_listener *listener, void *context)
{
    struct xml_reply *reply = calloc(1, sizeof(*reply));
    XML_Parser parser = XML_ParserCreate("UTF-8");
    if (!reply || !parser) {
        panic("out of memory (XML parser)");
    }
    *reply = (struct xml_reply){.parser = parser, .listener = listener, .context = context};
    XML_SetUserData(parser, reply);
    XML_SetElementHandler(parser, xml_reply_on_start, xml_reply_on_end);
    XML_SetCharacterDataHandler(parser, xml_reply_on_text);
    XML_SetStartDoctypeDeclHandler(parser, on_doctype);
    return reply;
}

void xml_reply_free(struct xml_reply *reply)
{
    if (reply) {
        XML_ParserFree(reply->parser);
        free(reply);
    }
}

static bool xml_reply_parse(struct xml_reply *reply, struct str bytes, bool is_last,
                            struct err *err)
{
    if (!reply->has_failed &&
        XML_Parse(reply->parser, bytes.ptr, (int)bytes.len, is_last) != XML_STATUS_OK &&
        !reply->has_failed) {
        reply->has_failed = true;
        err_set(&reply->err, ERR_PROTOCOL, "truncated or invalid XML at line %lu (%s)",
                (unsigned long)XML_GetCurrentLineNumber(reply->parser),
                XML_ErrorString(XML_GetErrorCode(reply->parser)));
    }
    if (reply->has_failed) {
        *err = reply->err;
    }
    return !reply->has_failed;
}

bool xml_reply_feed(struct xml_reply *reply, struct str bytes, struct err *err)
{
    if (!reply->has_failed && bytes.len > XML_REPLY_BYTES_MAX - reply->bytes) {
        reply->has_failed = true;
        err_set(&reply->err, ERR_PROTOCOL, "the XML has more than %d bytes", XML_REPLY_BYTES_MAX);
    }
    reply->bytes += reply->has_failed ? 0 : bytes.len;
    return xml_reply_parse(reply, reply->has_failed ? STR("") : bytes, false, err);
}

bool xml_reply_end(struct xml_reply *reply, struct err *err)
{
    bool ok = xml_reply_parse(reply, STR(""), true, err);
    /* No more input is accepted after the end. */
    if (ok) {
        reply->has_failed = true;
        err_set(&reply->err, ERR_INTERNAL, "the response has already ended");
    }
    return ok;
}

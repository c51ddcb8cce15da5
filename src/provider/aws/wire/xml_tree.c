/* xml_tree.c: builds the tree as elements start and end. */
#include "provider/aws/wire/xml_tree.h"

#include "base/buf.h"
#include "provider/aws/wire/xml_reply.h"

#include <string.h>

struct builder {
    struct arena *arena;
    struct xml_element *root;
    struct xml_element *open;
    size_t count;
    struct buf text; /* text of the innermost open element, since its last child */
};

/* Text between children is layout and is dropped; only text before the first child is kept. */
static void xml_tree_keep_text(struct builder *builder)
{
    if (builder->open && !builder->open->first && builder->text.len > 0) {
        builder->open->text = arena_str(builder->arena, buf_str(&builder->text));
    }
    builder->text.len = 0;
}

static bool xml_tree_on_start(void *context, struct str name, struct err *err)
{
    struct builder *builder = context;
    if (++builder->count > XML_TREE_ELEMENTS_MAX) {
        return err_set(err, ERR_PROTOCOL, "the XML has more than %d elements",
                       XML_TREE_ELEMENTS_MAX);
    }
    struct xml_element *element = ARENA_NEW(builder->arena, struct xml_element);
    struct xml_element *parent = builder->open;
    element->name = arena_str(builder->arena, name);
    element->parent = parent;
    if (!parent) {
        builder->root = element;
    } else if (parent->last) {
        parent->last->next = element;
        parent->last = element;
    } else {
        parent->first = parent->last = element;
    }
    builder->open = element;
    builder->text.len = 0;
    return true;
}

static bool xml_tree_on_text(void *context, struct str text, struct err *err)
{
    struct builder *builder = context;
    buf_add(&builder->text, text);
    return !builder->text.is_full ||
           err_set(err, ERR_PROTOCOL, "the XML has a string that is too long");
}

static bool xml_tree_on_end(void *context, struct err *err)
{
    struct builder *builder = context;
    (void)err;
    xml_tree_keep_text(builder);
    builder->open = builder->open->parent;
    return true;
}

bool xml_tree_parse(struct str bytes, struct arena *arena, const struct xml_element **ret_root,
                    struct err *err)
{
    static const struct xml_listener listener = {xml_tree_on_start, xml_tree_on_text,
                                                 xml_tree_on_end};
    struct builder builder = {.arena = arena};
    buf_init(&builder.text, XML_REPLY_BYTES_MAX);
    struct xml_reply *reply = xml_reply_new(&listener, &builder);
    bool ok = xml_reply_feed(reply, bytes, err) && xml_reply_end(reply, err);
    xml_reply_free(reply);
    buf_clear(&builder.text);
    if (ok) {
        *ret_root = builder.root;
    }
    return ok;
}

const struct xml_element *xml_child(const struct xml_element *element, const char *name)
{
    const struct xml_element *child = element ? element->first : NULL;
    while (child && !str_is(child->name, name)) {
        child = child->next;
    }
    return child;
}

struct str xml_child_text(const struct xml_element *element, const char *name)
{
    const struct xml_element *child = xml_child(element, name);
    return child ? child->text : STR("");
}

/* account_roles.c: two parallel listings, then the tags of each result. */
#include "provider/aws/account/account_roles.h"

#include "io/xalloc.h"
#include "provider/aws/account/account_read.h"
#include "provider/aws/client/aws_pages.h"
#include "provider/aws/cluster/aws_names.h"

enum { TAGS_AT_ONCE = 4 };

/* A request for tags, or one of the two listings. */
struct role_question {
    struct account_roles *roles;
    struct aws_pages *pages;
    enum account_thing_kind kind;
    size_t thing; /* index of the resource, for tags */
};

struct account_roles {
    struct account_roles_setup setup;
    account_roles_fn *done;
    void *context;
    struct arena own_arena;
    struct account_basket basket;
    struct role_question listings[2];
    struct role_question tags[TAGS_AT_ONCE];
    size_t next; /* next resource whose tags to request */
    size_t active;
    struct loop_task turn;
    struct account_roles_answer answer; /* `err` is the first failure */
};

static void free_roles(struct account_roles *roles)
{
    loop_later_cancel(roles->setup.loop, &roles->turn);
    arena_clear(&roles->own_arena);
    free(roles);
}

static void account_roles_fail(struct account_roles *roles, struct str code, const struct err *err)
{
    if (roles->answer.err.kind == ERR_NONE) {
        roles->answer.err = *err;
        roles->answer.code = arena_str(roles->setup.arena, code);
    }
}

static void account_roles_settle(struct role_question *question)
{
    question->pages = NULL;
    question->roles->active--;
    loop_defer(question->roles->setup.loop, &question->roles->turn);
}

static void account_roles_request(struct role_question *question, const char *action,
                                  const char *name, struct str value, aws_pages_fn *done)
{
    struct account_roles *roles = question->roles;
    struct param *input = param_new_map(&roles->own_arena);
    param_add_text(input, name, value, &roles->own_arena);
    struct aws_request request = {
        .service = AWS_IAM,
        .region = roles->setup.region,
        .action = action,
        .input = input,
        .care = AWS_READ,
        .deadline_ms = roles->setup.deadline_ms,
    };
    roles->active++;
    question->pages = aws_pages_start(roles->setup.client, &request, done, question);
}

/* ---- listings ---- */

static void on_listing(void *context, const struct aws_reply *reply,
                       const struct xml_element *const *roots, size_t count)
{
    struct role_question *question = context;
    struct account_roles *roles = question->roles;
    struct err err = reply->err;
    bool ok = reply->is_ok;
    for (size_t i = 0; ok && i < count; i++) {
        ok = question->kind == THING_ROLE ? account_read_roles(&roles->basket, roots[i], &err)
                                          : account_read_profiles(&roles->basket, roots[i], &err);
    }
    if (!ok) {
        account_roles_fail(roles, reply->error.code, &err);
    }
    account_roles_settle(question);
}

/* ---- tags ---- */

static void on_tags(void *context, const struct aws_reply *reply,
                    const struct xml_element *const *roots, size_t count)
{
    struct role_question *question = context;
    struct account_roles *roles = question->roles;
    struct account_thing *thing = &roles->basket.finds.things[question->thing];
    if (reply->is_ok && count > 0) {
        thing->owner = account_read_tags(&roles->basket, roots[0]);
    } else if (!str_is(reply->error.code, "NoSuchEntity")) { /* deleted since it was listed */
        account_roles_fail(roles, reply->error.code, &reply->err);
    }
    account_roles_settle(question);
}

static void start_tags(struct account_roles *roles)
{
    const struct account_finds *finds = &roles->basket.finds;
    for (size_t i = 0; i < TAGS_AT_ONCE && roles->next < finds->thing_count; i++) {
        struct role_question *question = &roles->tags[i];
        if (question->pages) {
            continue;
        }
        question->roles = roles;
        question->thing = roles->next++;
        const struct account_thing *thing = &finds->things[question->thing];
        bool is_role = thing->kind == THING_ROLE;
        account_roles_request(question, is_role ? "ListRoleTags" : "ListInstanceProfileTags",
                              is_role ? "RoleName" : "InstanceProfileName", thing->id, on_tags);
    }
}

/* ---- start and end ---- */

static void account_roles_take_turn(void *context)
{
    struct account_roles *roles = context;
    bool is_listed = !roles->listings[0].pages && !roles->listings[1].pages;
    if (is_listed && roles->answer.err.kind == ERR_NONE) {
        start_tags(roles);
    }
    if (roles->active > 0) {
        return;
    }
    struct account_roles_answer *answer = &roles->answer;
    answer->is_ok = answer->err.kind == ERR_NONE;
    answer->things = roles->basket.finds.things;
    answer->count = answer->is_ok ? roles->basket.finds.thing_count : 0;
    roles->done(roles->context, answer);
    free_roles(roles);
}

struct account_roles *account_roles_start(const struct account_roles_setup *setup,
                                          account_roles_fn *done, void *context)
{
    struct account_roles *roles = HEAP_NEW(struct account_roles);
    *roles = (struct account_roles){.setup = *setup,
                                    .done = done,
                                    .context = context,
                                    .basket = {.arena = setup->arena},
                                    .answer = {.code = STR("")}};
    arena_init(&roles->own_arena);
    roles->turn = (struct loop_task){.run = account_roles_take_turn, .context = roles};
    roles->listings[0] = (struct role_question){.roles = roles, .kind = THING_ROLE};
    roles->listings[1] = (struct role_question){.roles = roles, .kind = THING_PROFILE};
    account_roles_request(&roles->listings[0], "ListRoles", "PathPrefix", STR(ROLE_PATH),
                          on_listing);
    account_roles_request(&roles->listings[1], "ListInstanceProfiles", "PathPrefix", STR(ROLE_PATH),
                          on_listing);
    return roles;
}

void account_roles_cancel(struct account_roles *roles)
{
    for (size_t i = 0; i < 2; i++) {
        if (roles->listings[i].pages) {
            aws_pages_cancel(roles->listings[i].pages);
        }
    }
    for (size_t i = 0; i < TAGS_AT_ONCE; i++) {
        if (roles->tags[i].pages) {
            aws_pages_cancel(roles->tags[i].pages);
        }
    }
    free_roles(roles);
}

/* survey_run.c: questions in three waves, and what becomes of the answers. */
#include "provider/aws/survey/survey_run.h"

#include "io/file.h"
#include "io/heap.h"
#include "provider/aws/client/aws_pages.h"

enum { QUESTION_MS = 25 * 1000, WAVE_COUNT = 4 };

struct survey_run;

/* One call under way. */
struct question {
    struct survey_run *run;
    enum survey_ask ask;
    size_t index; /* of the profile or the parameter */
    struct aws_pages *pages;
    struct aws_call *call;
    struct question *next;
};

struct survey_run {
    struct aws_client *client;
    const struct provider_cluster *cluster;
    enum survey_scope scope;
    survey_run_fn *done;
    void *context;
    struct arena arena;
    struct survey_wish wish;
    struct survey_answers answers;
    struct question *questions; /* also those that were answered */
    size_t waiting;
    int wave;
};

static void go_on(struct survey_run *run);

/* ---- the end ---- */

void survey_run_cancel(struct survey_run *run)
{
    for (struct question *question = run->questions; question; question = question->next) {
        if (question->pages) {
            aws_pages_cancel(question->pages);
        }
        if (question->call) {
            aws_call_cancel(question->call);
        }
    }
    arena_clear(&run->arena);
    free(run);
}

static void finish(struct survey_run *run)
{
    struct arena arena;
    struct survey_result result;
    survey_run_fn *done = run->done;
    void *context = run->context;
    run->answers.source = arena_str(&run->arena, aws_client_source(run->client));
    run->answers.sources = aws_client_sources_report(run->client, &run->arena);
    survey_judge(&run->wish, &run->answers, &run->arena, &result);
    arena = run->arena;
    free(run);
    done(context, &result, &arena);
}

/* ---- how a question ended ---- */

static bool is_denial(struct str code)
{
    static const char *const words[] = {"Unauthorized", "AccessDenied", "NotAuthorized",
                                        "AuthorizationError"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_find(code, words[i]) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

static void note_failure(struct survey_run *run, enum survey_ask ask, const struct aws_error *error,
                         const struct err *err)
{
    struct survey_answer *answer = &run->answers.answers[ask];
    bool is_auth = error && error->class == AWS_AUTH;
    if (!answer->is_ok) {
        return; /* the first failure stays */
    }
    answer->is_ok = false;
    answer->is_denied = is_auth && is_denial(error->code);
    answer->is_unknown = is_auth && !answer->is_denied;
    answer->code = error ? arena_str(&run->arena, error->code) : STR("");
    answer->message = error ? arena_str(&run->arena, error->message) : STR("");
    answer->err = *err;
}

/* ---- replies ---- */

static bool read_template(struct survey_run *run, size_t index, struct ec2_pages pages,
                          struct err *err)
{
    struct param *data;
    if (!ec2_template_read(pages, &run->arena, &data, err)) {
        return false;
    }
    run->answers.templates[index] = data;
    return true;
}

static bool read_pages(struct survey_run *run, enum survey_ask ask, struct ec2_pages pages,
                       struct err *err)
{
    struct survey_answers *answers = &run->answers;
    struct arena *arena = &run->arena;
    switch (ask) {
    case ASK_SUBNETS:
        return ec2_subnets_read(pages, arena, &answers->subnets, err);
    case ASK_GROUPS:
        return ec2_groups_read(pages, arena, &answers->groups, err);
    case ASK_IMAGES:
        return ec2_images_read(pages, arena, &answers->images, err);
    case ASK_NEW_IMAGES:
        return ec2_images_read(pages, arena, &answers->new_images, err);
    case ASK_TYPES:
        return ec2_types_read(pages, arena, &answers->types, err);
    case ASK_ZONES:
        return ec2_offerings_read(pages, arena, &answers->zones, err);
    case ASK_REGION:
        return ec2_offerings_read(pages, arena, &answers->region_types, err);
    case ASK_KEYS:
        return ec2_keys_read(pages, arena, &answers->keys, err);
    case ASK_IDENTITY:
    case ASK_TEMPLATES:
    case ASK_PROFILES:
    case ASK_PARAMETERS:
    case ASK_COUNT:
        break;
    }
    return err_set(err, ERR_INTERNAL, "not a question for a listing");
}

/* AWS knows that there is none: an answer, not a failure. */
static bool is_absence(struct question *question, struct str code)
{
    struct survey_answers *answers = &question->run->answers;
    if (question->ask == ASK_PROFILES && str_is(code, "NoSuchEntity")) {
        answers->profiles[question->index].is_missing = true;
        return true;
    }
    bool is_template = question->ask == ASK_TEMPLATES && str_starts(code, "InvalidLaunchTemplate");
    return is_template || (question->ask == ASK_PARAMETERS && str_is(code, "ParameterNotFound"));
}

static void on_pages(void *context, const struct aws_reply *reply,
                     const struct xml_element *const *roots, size_t count)
{
    struct question *question = context;
    struct survey_run *run = question->run;
    struct ec2_pages pages = {roots, count};
    struct err err;
    question->pages = NULL;
    if (!reply->is_ok && !is_absence(question, reply->error.code)) {
        note_failure(run, question->ask, &reply->error, &reply->err);
    } else if (reply->is_ok &&
               !(question->ask == ASK_TEMPLATES ? read_template(run, question->index, pages, &err)
                                                : read_pages(run, question->ask, pages, &err))) {
        note_failure(run, question->ask, NULL, &err);
    }
    run->waiting--;
    go_on(run);
}

static bool read_profile(struct survey_run *run, size_t index, struct str body, struct err *err)
{
    struct survey_profile *profile = &run->answers.profiles[index];
    struct arena scratch;
    const struct xml_element *root;
    arena_init(&scratch);
    profile->is_found = xml_tree_parse(body, &scratch, &root, err) &&
                        iam_profile_read(root, &run->arena, &profile->found, err);
    arena_clear(&scratch);
    return profile->is_found;
}

static bool read_reply(struct question *question, struct str body, struct err *err)
{
    struct survey_run *run = question->run;
    struct survey_answers *answers = &run->answers;
    if (question->ask == ASK_IDENTITY) {
        return sts_identity_read(body, &run->arena, &answers->identity, err);
    }
    if (question->ask == ASK_PROFILES) {
        return read_profile(run, question->index, body, err);
    }
    return ssm_parameter_read(body, &run->arena, &answers->parameters[question->index].image, err);
}

static void on_reply(void *context, const struct aws_reply *reply)
{
    struct question *question = context;
    struct survey_run *run = question->run;
    struct err err;
    question->call = NULL;
    if (!reply->is_ok && !is_absence(question, reply->error.code)) {
        note_failure(run, question->ask, &reply->error, &reply->err);
    } else if (reply->is_ok && !read_reply(question, reply->body, &err)) {
        note_failure(run, question->ask, NULL, &err);
    }
    run->waiting--;
    go_on(run);
}

/* ---- asking ---- */

static struct question *add_question(struct survey_run *run, enum survey_ask ask, size_t index)
{
    struct question *question = ARENA_NEW(&run->arena, struct question);
    struct survey_answer *answer = &run->answers.answers[ask];
    *question = (struct question){run, ask, index, NULL, NULL, run->questions};
    run->questions = question;
    run->waiting++;
    answer->is_ok = answer->is_ok || !answer->was_asked;
    answer->was_asked = true;
    return question;
}

static void ask_list(struct survey_run *run, enum survey_ask ask, size_t index,
                     const struct param *input)
{
    struct question *question = add_question(run, ask, index);
    struct aws_request request = {.service = AWS_EC2,
                                  .action = survey_action(ask) + sizeof("ec2:") - 1,
                                  .input = input,
                                  .deadline_ms = QUESTION_MS};
    question->pages = aws_pages_start(run->client, &request, on_pages, question);
}

static void ask_one(struct survey_run *run, enum survey_ask ask, size_t index,
                    enum aws_service service, const struct param *input)
{
    struct question *question = add_question(run, ask, index);
    struct aws_request request = {.service = service,
                                  .action = survey_action(ask) + sizeof("ec2:") - 1,
                                  .input = input,
                                  .deadline_ms = QUESTION_MS,
                                  .done = on_reply,
                                  .context = question};
    question->call = aws_call_start(run->client, &request);
}

static struct param *filtered(struct survey_run *run, const char *name, const struct str *values,
                              size_t count)
{
    struct param *input = param_new_map(&run->arena);
    struct param *filters = param_add_list(input, "Filters", &run->arena);
    param_add_filter(filters, name, values, count, &run->arena);
    return input;
}

/* By filter and not by id, because then what is missing is missing and not an error. */
static void ask_images(struct survey_run *run, enum survey_ask ask, const struct str *ids,
                       size_t count)
{
    if (count == 0) {
        run->answers.answers[ask].is_ok = true;
        return;
    }
    struct param *input = filtered(run, "image-id", ids, count);
    param_add_bool(input, "IncludeDeprecated", true, &run->arena);
    ask_list(run, ask, 0, input);
}

static void ask_named_images(struct survey_run *run)
{
    const struct survey_wish *wish = &run->wish;
    struct str rays = image_ray_default(run->answers.region);
    struct str *ids = ARENA_ARRAY(&run->arena, wish->images.count + 1, struct str);
    size_t count = 0;
    bool needs_rays = false;
    for (size_t i = 0; i < wish->images.count; i++) {
        ids[count++] = wish->images.items[i];
    }
    for (size_t i = 0; i < wish->type_count; i++) {
        needs_rays = needs_rays || !image_is_named(wish->types[i].image);
    }
    if (needs_rays && rays.len > 0) {
        ids[count++] = rays;
    }
    ask_images(run, ASK_IMAGES, ids, count);
}

static void ask_machines(struct survey_run *run)
{
    const struct wish_texts *machines = &run->wish.machines;
    if (machines->count == 0) {
        run->answers.answers[ASK_TYPES].is_ok = true;
        return;
    }
    ask_list(run, ASK_TYPES, 0, filtered(run, "instance-type", machines->items, machines->count));
    struct param *zones = filtered(run, "instance-type", machines->items, machines->count);
    param_add_text(zones, "LocationType", STR("availability-zone"), &run->arena);
    ask_list(run, ASK_ZONES, 0, zones);
}

static void ask_keys(struct survey_run *run)
{
    const struct survey_wish *wish = &run->wish;
    struct param *input = param_new_map(&run->arena);
    bool is_named = wish->key_pair.len > 0;
    for (size_t i = 0; i < wish->type_count; i++) {
        is_named = is_named || (wish->private_key.len > 0 && wish->types[i].key.len > 0);
    }
    param_add_bool(input, "IncludePublicKey", true, &run->arena);
    if (is_named) {
        ask_list(run, ASK_KEYS, 0, input); /* all of them, so that a misspelt one has neighbours */
    }
}

static void ask_profiles(struct survey_run *run)
{
    const struct wish_texts *profiles = &run->wish.profiles;
    run->answers.profiles = ARENA_ARRAY(&run->arena, profiles->count, struct survey_profile);
    for (size_t i = 0; i < profiles->count; i++) {
        struct param *input = param_new_map(&run->arena);
        run->answers.profiles[i].name = profiles->items[i];
        param_add_text(input, "InstanceProfileName", profiles->items[i], &run->arena);
        ask_one(run, ASK_PROFILES, i, AWS_IAM, input);
    }
}

/* The version is a number or a text in the file, and a text for AWS, as in Ray. */
static void ask_template(struct survey_run *run, size_t index)
{
    const struct param *named = param_find(run->wish.types[index].own, "LaunchTemplate");
    struct arena *arena = &run->arena;
    struct param *input = param_new_map(arena);
    const struct param *version = param_find(named, "Version");
    struct str text = !version ? STR("$Default")
                      : version->kind == PARAM_NUMBER
                          ? arena_printf(arena, "%lld", (long long)version->number)
                          : version->text;
    for (const struct param *child = named->first; child; child = child->next) {
        if (child->kind == PARAM_TEXT && !str_is(child->name, "Version")) {
            param_add_text(input, child->name.ptr, child->text, arena);
        }
    }
    param_add_text(param_add_list(input, "Versions", arena), "", text, arena);
    ask_list(run, ASK_TEMPLATES, index, input);
}

static void ask_templates(struct survey_run *run)
{
    run->answers.templates = ARENA_ARRAY(&run->arena, run->wish.type_count, const struct param *);
    for (size_t i = 0; i < run->wish.type_count; i++) {
        if (run->wish.types[i].has_template) {
            ask_template(run, i);
        }
    }
}

/* What a launch template sets is now known. */
static void ask_first(struct survey_run *run)
{
    survey_wish_read(run->cluster, run->answers.templates, &run->arena, &run->wish);
    const struct wish_texts *groups = &run->wish.groups;
    if (run->scope == SURVEY_FOR_PEOPLE) {
        ask_one(run, ASK_IDENTITY, 0, AWS_STS, NULL);
    }
    ask_list(run, ASK_SUBNETS, 0, NULL);
    if (groups->count > 0) {
        ask_list(run, ASK_GROUPS, 0, filtered(run, "group-id", groups->items, groups->count));
    }
    ask_named_images(run);
    ask_machines(run);
    ask_keys(run);
    ask_profiles(run);
}

/* Whoever is refused something, or does not find it, wants to know in which name he asks. */
static bool is_refused(const struct survey_run *run)
{
    for (size_t i = 0; i < run->wish.profiles.count; i++) {
        if (run->answers.profiles[i].is_missing) {
            return true;
        }
    }
    for (size_t i = 0; i < ASK_COUNT; i++) {
        const struct survey_answer *answer = &run->answers.answers[i];
        if (answer->was_asked && (answer->is_denied || answer->is_unknown)) {
            return true;
        }
    }
    return false;
}

static void ask_second(struct survey_run *run)
{
    if (!run->answers.answers[ASK_IDENTITY].was_asked && is_refused(run)) {
        ask_one(run, ASK_IDENTITY, 0, AWS_STS, NULL);
    }
    if (survey_needs_region(&run->wish, &run->answers)) {
        struct param *input = param_new_map(&run->arena);
        param_add_text(input, "LocationType", STR("region"), &run->arena);
        ask_list(run, ASK_REGION, 0, input);
    }
    survey_plan_parameters(&run->wish, &run->answers, &run->arena);
    for (size_t i = 0; i < run->answers.parameter_count; i++) {
        struct param *input = param_new_map(&run->arena);
        param_add_text(input, "Name", run->answers.parameters[i].what.name, &run->arena);
        ask_one(run, ASK_PARAMETERS, i, AWS_SSM, input);
    }
}

static void ask_third(struct survey_run *run)
{
    struct str ids[SURVEY_PARAMETERS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < run->answers.parameter_count; i++) {
        if (run->answers.parameters[i].image.len > 0) {
            ids[count++] = run->answers.parameters[i].image;
        }
    }
    ask_images(run, ASK_NEW_IMAGES, ids, count);
}

static void go_on(struct survey_run *run)
{
    static void (*const waves[WAVE_COUNT])(struct survey_run * run) = {ask_templates, ask_first,
                                                                       ask_second, ask_third};
    while (run->waiting == 0 && run->wave < WAVE_COUNT) {
        waves[run->wave++](run);
    }
    if (run->waiting == 0) {
        finish(run);
    }
}

/* ---- the beginning ---- */

static void look_at_key(struct survey_run *run)
{
    struct buf text;
    struct err err;
    struct str path = file_expand_home(&run->arena, run->wish.private_key);
    run->answers.key_state = SURVEY_KEY_UNREAD;
    buf_init(&text, SURVEY_KEY_BYTES_MAX);
    if (path.len > 0 && str_find_char(path, '\0') == SIZE_MAX && !str_is(path, "-") &&
        file_read(arena_str(&run->arena, path).ptr, &text, &err)) {
        run->answers.key_state = survey_key_public(buf_str(&text), &run->arena,
                                                   &run->answers.key_half);
    }
    buf_wipe(&text);
}

/* Where Ray keeps the private half of a key pair that it has made. */
static void look_for_pair(struct survey_run *run)
{
    struct str name = run->wish.key_pair;
    if (name.len > 0 && str_find_char(name, '\0') == SIZE_MAX) {
        struct str path = arena_printf(&run->arena, "~/.ssh/%.*s.pem", STR_ARG(name));
        path = file_expand_home(&run->arena, path);
        run->answers.has_key_file = file_look(arena_str(&run->arena, path).ptr).kind ==
                                    FILE_REGULAR;
    }
}

struct survey_run *survey_run_start(struct aws_client *client,
                                    const struct provider_cluster *cluster, enum survey_scope scope,
                                    survey_run_fn *done, void *context)
{
    struct survey_run *run = HEAP_NEW(struct survey_run);
    run->client = client;
    run->cluster = cluster;
    run->scope = scope;
    run->done = done;
    run->context = context;
    arena_init(&run->arena);
    survey_wish_read(cluster, NULL, &run->arena, &run->wish);
    run->answers.region = arena_str(&run->arena, aws_client_region(client));
    look_at_key(run);
    look_for_pair(run);
    go_on(run);
    return run;
}

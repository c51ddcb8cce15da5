/*
 * main.c: holds a provider to its interface.
 *
 *     conform VERB --cluster NAME --image ID --zone A --zone B ...
 *
 * Prints a line for each rule; ends with 0 when all of them hold.
 */
#include "conform.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* ---- single operations ---- */

static struct told take(struct cloud *cloud, struct provider *provider,
                        const struct options *options)
{
    struct told told = do_preflight(cloud, provider);
    if (told.outcome == OUTCOME_DONE) {
        told = do_take(cloud, provider, options->holder, 60 * 1000, 0);
    }
    if (told.outcome == OUTCOME_MISMATCH) {
        told = do_take(cloud, provider, options->holder, 60 * 1000, told.lease.epoch);
    }
    return told;
}

static int say(const struct told *told)
{
    for (size_t i = 0; i < told->count && told->things; i++) {
        printf("%.*s\t%.*s\t%.*s\n", STR_ARG(told->things[i].kind), STR_ARG(told->things[i].id),
               STR_ARG(told->things[i].note));
    }
    printf("outcome %d %s\n", (int)told->outcome,
           told->outcome == OUTCOME_DONE ? "" : told->err.text);
    return told->outcome == OUTCOME_DONE ? 0 : 1;
}

static int with_cloud(const struct options *options,
                      struct told (*work)(struct cloud *cloud, struct provider *provider,
                                          const struct options *options))
{
    struct cloud cloud;
    cloud_open(&cloud, options);
    struct provider *provider = cloud_provider(&cloud, options);
    struct told told = take(&cloud, provider, options);
    if (told.outcome == OUTCOME_DONE) {
        printf("uid %.*s\n", STR_ARG(told.lease.uid));
        told = work(&cloud, provider, options);
    }
    int status = say(&told);
    provider->ops->close(provider);
    cloud_close(&cloud);
    return status;
}

static struct told work_uid(struct cloud *cloud, struct provider *provider,
                            const struct options *options)
{
    (void)options;
    return do_release(cloud, provider);
}

static struct told work_prepare(struct cloud *cloud, struct provider *provider,
                                const struct options *options)
{
    struct told told = do_prepare(cloud, provider, options->key);
    struct told released = do_release(cloud, provider);
    return told.outcome == OUTCOME_DONE && released.outcome != OUTCOME_DONE ? released : told;
}

static struct told change_all(struct cloud *cloud, struct provider *provider, const char *what)
{
    struct told list = do_list(cloud, provider);
    struct str *ids = ARENA_ARRAY(&cloud->arena, list.count + 1, struct str);
    for (size_t i = 0; i < list.count; i++) {
        ids[i] = list.machines[i].id;
    }
    return do_change(cloud, provider, what, ids, list.count);
}

static struct told work_tag(struct cloud *cloud, struct provider *provider,
                            const struct options *options)
{
    (void)options;
    return change_all(cloud, provider, "tag");
}

static struct told work_remove(struct cloud *cloud, struct provider *provider,
                               const struct options *options)
{
    (void)options;
    struct told ended = change_all(cloud, provider, "terminate");
    return ended.outcome == OUTCOME_DONE || ended.outcome == OUTCOME_NOT_FOUND
               ? do_remove(cloud, provider)
               : ended;
}

/* What the head does all day, with the rights it has: takes the lease, keeps it, launches a worker,
 * tags it, stops it, starts it, ends it. */
static struct told lead(struct cloud *cloud, struct provider *provider,
                        const struct options *options, struct str uid, uint64_t epoch)
{
    static const char *const verbs[] = {"tag", "stop", "start", "terminate"};
    struct told told = do_renew(cloud, provider, 60 * 1000);
    if (told.outcome != OUTCOME_DONE) {
        return told;
    }
    struct str call = make_draft(cloud, provider, TYPE_WORKER, options->zones[0], MARKET_SPOT, 1,
                                 uid, epoch << 32 | 1);
    told = do_launch(cloud, provider, call);
    struct str call_2 = make_draft(cloud, provider, TYPE_WORKER, options->zones[0],
                                   MARKET_ON_DEMAND, 1, uid, epoch << 32 | 2);
    told = told.outcome == OUTCOME_DONE ? do_launch(cloud, provider, call_2) : told;
    if (told.outcome != OUTCOME_DONE || told.count != 1) {
        return told;
    }
    struct str id = told.machines[0].id;
    sleep_ms(cloud, 600);
    for (size_t i = 0; i < ARRAY_LEN(verbs) && told.outcome == OUTCOME_DONE; i++) {
        told = do_change(cloud, provider, verbs[i], &id, 1);
        sleep_ms(cloud, 600);
    }
    return told.outcome == OUTCOME_DONE ? do_list(cloud, provider) : told;
}

static struct told work_workers(struct cloud *cloud, struct provider *provider,
                                const struct options *options)
{
    struct told told = do_renew(cloud, provider, 60 * 1000);
    struct told found = do_find(cloud, provider);
    return found.outcome != OUTCOME_DONE || told.outcome != OUTCOME_DONE
               ? found
               : lead(cloud, provider, options, told.lease.uid, told.lease.epoch);
}

int run_workers(const struct options *options)
{
    return with_cloud(options, work_workers);
}

/* Holds the lease for `count` milliseconds and exits without releasing it, like a killed
 * process. */
int run_take(const struct options *options)
{
    struct cloud cloud;
    cloud_open(&cloud, options);
    struct provider *provider = cloud_provider(&cloud, options);
    struct told told = do_take(&cloud, provider, options->holder, options->count, 0);
    printf("epoch %llu holder %.*s\n", (unsigned long long)told.lease.epoch,
           STR_ARG(told.lease.holder));
    int status = say(&told);
    provider->ops->close(provider);
    cloud_close(&cloud);
    return status;
}

/* Renews the lease `count` times, as a head does all day. */
int run_renew(const struct options *options)
{
    struct cloud cloud;
    cloud_open(&cloud, options);
    struct provider *provider = cloud_provider(&cloud, options);
    struct told told = do_take(&cloud, provider, options->holder, 60 * 1000, 0);
    for (int64_t i = 0; i < options->count && told.outcome == OUTCOME_DONE; i++) {
        told = do_renew(&cloud, provider, 60 * 1000);
    }
    int status = say(&told);
    provider->ops->close(provider);
    cloud_close(&cloud);
    return status;
}

int run_uid(const struct options *options)
{
    return with_cloud(options, work_uid);
}

int run_tag(const struct options *options)
{
    return with_cloud(options, work_tag);
}

int run_prepare(const struct options *options)
{
    return with_cloud(options, work_prepare);
}

int run_remove(const struct options *options)
{
    return with_cloud(options, work_remove);
}

/* ---- words ---- */

static bool read_options(int argc, char **argv, struct options *options)
{
    static const struct option names[] = {
        {"cloud", required_argument, NULL, 'p'},
        {"cluster", required_argument, NULL, 'c'},
        {"image", required_argument, NULL, 'i'},
        {"zone", required_argument, NULL, 'z'},
        {"key", required_argument, NULL, 'k'},
        {"journal", required_argument, NULL, 'j'},
        {"foreign", required_argument, NULL, 'f'},
        {"holder", required_argument, NULL, 'h'},
        {"ssh-from", required_argument, NULL, 'S'},
        {"open-to", required_argument, NULL, 'O'},
        {"plain", no_argument, NULL, 'N'},
        {"private", no_argument, NULL, 'P'},
        {"count", required_argument, NULL, 'n'},
        {"most", required_argument, NULL, 'm'},
        {"template", required_argument, NULL, 't'},
        {"seed", required_argument, NULL, 's'},
        {NULL, 0, NULL, 0},
    };
    size_t zones = 0;
    int letter;
    while ((letter = getopt_long(argc, argv, "", names, NULL)) != -1) {
        const char **texts[128] = {
            ['p'] = &options->cloud,  ['c'] = &options->cluster,  ['i'] = &options->image,
            ['k'] = &options->key,    ['j'] = &options->journal,  ['f'] = &options->foreign,
            ['h'] = &options->holder, ['S'] = &options->ssh_from, ['O'] = &options->open_to,
            ['t'] = &options->source};
        int64_t *numbers[128] = {
            ['n'] = &options->count, ['m'] = &options->most, ['s'] = (int64_t *)&options->seed};
        if (letter == 'z' && zones < ARRAY_LEN(options->zones)) {
            options->zones[zones++] = optarg;
        } else if (letter > 0 && letter < 128 && texts[letter]) {
            *texts[letter] = optarg;
        } else if (letter == 'P') {
            options->is_private = true;
        } else if (letter == 'N') {
            options->is_plain = true;
        } else if (letter <= 0 || letter >= 128 || !numbers[letter] ||
                   !str_to_i64(str_from(optarg), numbers[letter])) {
            return false;
        }
    }
    return zones == 2 && options->cluster && options->image;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(const struct options *options);
    } verbs[] = {{"rules", run_rules},     {"launches", run_launches}, {"take", run_take},
                 {"uid", run_uid},         {"late", run_late},         {"workers", run_workers},
                 {"prepare", run_prepare}, {"remove", run_remove},     {"renew", run_renew},
                 {"tag", run_tag}};
    struct options options = {.cloud = "aws",
                              .holder = "conform",
                              .foreign = "",
                              .count = 100,
                              .most = 4,
                              .ssh_from = "",
                              .source = "",
                              .open_to = ""};
    for (size_t i = 0; i < ARRAY_LEN(verbs) && argc > 1; i++) {
        if (strcmp(argv[1], verbs[i].name) == 0) {
            if (!read_options(argc - 1, argv + 1, &options)) {
                break;
            }
            return verbs[i].run(&options);
        }
    }
    fprintf(stderr, "usage: conform rules|launches|take|renew|late|uid|workers|tag|prepare|remove "
                    "--cluster NAME --image ID --zone A --zone B [--key FILE] [--journal FILE] "
                    "[--foreign ID] [--holder TEXT] [--count N] [--most N] [--seed N] "
                    "[--template URL] [--cloud aws]\n");
    return 2;
}

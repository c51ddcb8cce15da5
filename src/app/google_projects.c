/* google_projects.c: credentials nearby, and the projects in the files of known clusters. */
#include "app/google_projects.h"

#include "app/cluster_file.h"
#include "app/cluster_state.h"
#include "config/document/yaml_read.h"
#include "io/file.h"
#include "provider/variable.h"

enum { ID_BYTES_MAX = 100 };

bool google_project_is_id(struct str text)
{
    bool is_fine = text.len > 0 && text.len <= ID_BYTES_MAX && text.ptr[0] >= 'a';
    for (size_t i = 0; is_fine && i < text.len; i++) {
        char c = text.ptr[i];
        is_fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
                  c == ':';
    }
    return is_fine;
}

bool google_region_is_name(struct str text)
{
    size_t dashes = 0;
    for (size_t i = 0; i < text.len; i++) {
        dashes += text.ptr[i] == '-';
    }
    char last = text.len > 0 ? text.ptr[text.len - 1] : '\0';
    return dashes == 1 && last >= '0' && last <= '9';
}

struct google_search {
    struct google_projects *projects;
    struct arena *arena;
};

static void google_projects_add(struct google_projects *projects, struct str id)
{
    size_t i = 0;
    while (i < projects->count && !str_eq(projects->of_clusters[i], id)) {
        i++;
    }
    if (i == projects->count && i < GOOGLE_PROJECTS_MAX && google_project_is_id(id)) {
        projects->of_clusters[projects->count++] = id;
    }
}

/* A file that was deleted or cannot be read names no project. */
static void google_projects_take(void *context, const char *path)
{
    const struct google_search *search = context;
    struct source source;
    struct diag_list ignored;
    struct err err;
    diag_list_init(&ignored, search->arena);
    if (path[0] != '/' || file_stat(path).kind != FILE_REGULAR ||
        !cluster_file_read(search->arena, path, &source, &err)) {
        return;
    }
    const struct value *root = yaml_read(search->arena, &source, &ignored);
    const struct value *provider = root ? value_get_c(root, "provider") : NULL;
    if (str_is(value_text(value_get_c(provider, "type")), "gcp")) {
        google_projects_add(search->projects, value_text(value_get_c(provider, "project_id")));
    }
}

void google_projects_find(const struct gcp_setup *setup, struct arena *arena,
                          struct google_projects *ret_projects)
{
    static const char *const names[] = {"GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT",
                                        "CLOUDSDK_CORE_PROJECT"};
    struct google_search search = {ret_projects, arena};
    *ret_projects = (struct google_projects){.has_credentials = gcp_credentials_exist(setup)};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *set = variable_get(setup->environ, names[i]);
        ret_projects->is_configured = ret_projects->is_configured || (set && *set);
    }
    cluster_state_files("gcp", arena, google_projects_take, &search);
}

/* test_script_kind.c: how scripts are recognized, and the variables that their replicas get. */
#include "app/train/script_kind.h"

#include "app/train/replica_env.h"
#include "unit.h"

#include <signal.h>
#include <string.h>

/* ---- detection ---- */

static void imports_tell_the_kind(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum script_kind kind;
    } cases[] = {
        {"", SCRIPT_PLAIN},
        {"import torch\nimport torch.distributed as dist\n", SCRIPT_PLAIN},
        {"from accelerate import Accelerator\n", SCRIPT_SHARDED},
        {"import lightning as L\n", SCRIPT_LIGHTNING},
        {"import torch\nimport lightning.pytorch as pl", SCRIPT_LIGHTNING},
        {"from lightning.pytorch import Trainer\n", SCRIPT_LIGHTNING},
        {"import pytorch_lightning as pl\r\n", SCRIPT_LIGHTNING},
        {"from pytorch_lightning.callbacks import ModelCheckpoint\n", SCRIPT_LIGHTNING},
        {"try:\n    import lightning as L\nexcept ImportError:\n", SCRIPT_LIGHTNING},
        {"import torch.distributed.checkpoint as dcp\n", SCRIPT_SHARDED},
        {"from torch.distributed.checkpoint.state_dict import get_state_dict\n", SCRIPT_SHARDED},
        {"from torch.distributed import checkpoint as dist_cp\n", SCRIPT_SHARDED},
        {"import adaptdl\n", SCRIPT_ADAPTDL},
        {"import adaptdl.torch as adl\nimport torch\n", SCRIPT_ADAPTDL},
        {"from adaptdl.torch import AdaptiveDataParallel\n", SCRIPT_ADAPTDL},
        {"# import adaptdl\nimport torch\n", SCRIPT_PLAIN},
        {"\"\"\"A port of the lightning example.\"\"\"\nimport torch\n", SCRIPT_PLAIN},
        {"print('lightning')\n", SCRIPT_PLAIN},
        {"importlib.import_module('adaptdl')\n", SCRIPT_PLAIN},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (script_kind_detect(str_from(cases[i].text)) != cases[i].kind) {
            fail_msg("%s", cases[i].text);
        }
    }
}

static void kinds_have_names_and_traits(void **state)
{
    (void)state;
    enum script_kind kind;
    for (int i = 0; i < SCRIPT_KIND_COUNT; i++) {
        const struct script_traits *traits = &script_traits[i];
        assert_true(script_kind_read(str_from(traits->name), &kind));
        assert_int_equal(kind, i);
        assert_non_null(traits->words);
        assert_true(str_starts(str_from(traits->preload), "torch,"));
        assert_int_equal(traits->stop_signal, i == SCRIPT_LIGHTNING ? SIGUSR1 : SIGTERM);
        assert_int_equal(traits->is_sharded, i == SCRIPT_SHARDED);
        assert_int_equal(traits->continues, traits->prefix != NULL);
    }
    assert_false(script_kind_read(STR("Plain"), &kind));
    assert_false(script_kind_read(STR(""), &kind));
}

/* ---- variables ---- */

struct scene {
    struct arena arena;
    struct replica_variable variables[REPLICA_VARIABLES_MAX];
    size_t count;
};

/* Rank 2 of three replicas: ranks 0 and 1 are on the first node, rank 2 is alone on the second. */
static const struct replica_place place_of_2 = {
    .job = {"train-7", 7},
    .generation = 4,
    .rank = 2,
    .world = 3,
    .local_rank = 0,
    .local_world = 1,
    .node_rank = 1,
    .nodes = 2,
    .master_host = {"10.0.0.5", 8},
    .master_port = 20077,
    .state_folder = {"/dev/shm/s/state", 16},
};

static void make(struct scene *scene, enum script_kind kind, const struct replica_place *place)
{
    struct replica_place copy = *place;
    copy.kind = kind;
    arena_init(&scene->arena);
    scene->count = replica_env(&copy, &scene->arena, scene->variables);
    assert_true(scene->count <= REPLICA_VARIABLES_MAX);
    for (size_t i = 0; i < scene->count; i++) { /* each once */
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(scene->variables[i].name, scene->variables[j].name);
        }
    }
}

/* Empty if it is not set; no variable here is empty. */
static struct str value_of(const struct scene *scene, const char *name)
{
    for (size_t i = 0; i < scene->count; i++) {
        if (strcmp(scene->variables[i].name, name) == 0) {
            return scene->variables[i].value;
        }
    }
    return STR("");
}

static bool has_prefix(const struct scene *scene, const char *prefix)
{
    for (size_t i = 0; i < scene->count; i++) {
        if (str_starts(str_from(scene->variables[i].name), prefix)) {
            return true;
        }
    }
    return false;
}

static void assert_values(const struct scene *scene, const char *const pairs[][2], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_str(value_of(scene, pairs[i][0]), pairs[i][1]);
    }
}

static const char *const torch_values[][2] = {
    {"RANK", "2"},
    {"WORLD_SIZE", "3"},
    {"LOCAL_RANK", "0"},
    {"LOCAL_WORLD_SIZE", "1"},
    {"GROUP_RANK", "1"},
    {"GROUP_WORLD_SIZE", "2"},
    {"NODE_RANK", "1"},
    {"ROLE_NAME", "default"},
    {"ROLE_RANK", "2"},
    {"ROLE_WORLD_SIZE", "3"},
    {"MASTER_ADDR", "10.0.0.5"},
    {"MASTER_PORT", "20077"},
    {"SHOAL_JOB", "train-7"},
    {"SHOAL_GENERATION", "4"},
    {"SHOAL_CHECKPOINT_DIR", "/dev/shm/s/state"},
};

static const char *const torchelastic_values[][2] = {
    {"TORCHELASTIC_RUN_ID", "train-7"},
    {"TORCHELASTIC_RESTART_COUNT", "3"},
    {"TORCHELASTIC_MAX_RESTARTS", "4"},
    {"TORCHELASTIC_USE_AGENT_STORE", "False"},
};

static void plain_and_sharded_scripts_see_torchrun(void **state)
{
    (void)state;
    const enum script_kind kinds[] = {SCRIPT_PLAIN, SCRIPT_SHARDED};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct scene scene;
        make(&scene, kinds[i], &place_of_2);
        assert_values(&scene, torch_values, ARRAY_LEN(torch_values));
        assert_values(&scene, torchelastic_values, ARRAY_LEN(torchelastic_values));
        assert_int_equal(scene.count, ARRAY_LEN(torch_values) + ARRAY_LEN(torchelastic_values));
        arena_clear(&scene.arena);
    }
}

static void lightning_sees_slurm_and_not_torchrun(void **state)
{
    (void)state;
    static const char *const slurm[][2] = {
        {"SLURM_NTASKS", "3"},
        {"SLURM_NTASKS_PER_NODE", "1"},
        {"SLURM_NNODES", "2"},
        {"SLURM_PROCID", "2"},
        {"SLURM_LOCALID", "0"},
        {"SLURM_NODEID", "1"},
        {"SLURM_NODELIST", "10.0.0.5"},
        {"SLURM_JOB_ID", "1"},
        {"SLURM_JOB_NAME", "shoal-train"},
    };
    struct scene scene;
    make(&scene, SCRIPT_LIGHTNING, &place_of_2);
    assert_values(&scene, torch_values, ARRAY_LEN(torch_values));
    assert_values(&scene, slurm, ARRAY_LEN(slurm));
    assert_false(has_prefix(&scene, "TORCHELASTIC_"));
    arena_clear(&scene.arena);
}

static void adaptdl_sees_its_controller(void **state)
{
    (void)state;
    static const char *const adaptdl[][2] = {
        {"ADAPTDL_CHECKPOINT_PATH", "/dev/shm/s/state"},
        {"ADAPTDL_JOB_ID", "shoal/train-7"},
        {"ADAPTDL_MASTER_ADDR", "10.0.0.5"},
        {"ADAPTDL_MASTER_PORT", "20077"},
        {"ADAPTDL_REPLICA_RANK", "2"},
        {"ADAPTDL_NUM_REPLICAS", "3"},
        {"ADAPTDL_NUM_NODES", "2"},
        {"ADAPTDL_NUM_RESTARTS", "3"},
        {"ADAPTDL_SUPERVISOR_URL", ""},
        {"ADAPTDL_SCHED_VERSION", ""},
    };
    struct scene scene;
    make(&scene, SCRIPT_ADAPTDL, &place_of_2);
    assert_values(&scene, torch_values, ARRAY_LEN(torch_values));
    assert_values(&scene, adaptdl, ARRAY_LEN(adaptdl));
    arena_clear(&scene.arena);

    struct replica_place place = place_of_2;
    place.supervisor = STR("http://10.0.0.5:8080");
    make(&scene, SCRIPT_ADAPTDL, &place);
    assert_str(value_of(&scene, "ADAPTDL_SUPERVISOR_URL"), "http://10.0.0.5:8080");
    assert_str(value_of(&scene, "ADAPTDL_SCHED_VERSION"), "0.0.0");
    arena_clear(&scene.arena);
}

static void replicas_of_one_node_have_their_own_places(void **state)
{
    (void)state;
    for (int64_t rank = 0; rank < 2; rank++) {
        struct replica_place place = place_of_2;
        struct scene scene;
        place.rank = place.local_rank = rank;
        place.local_world = 2;
        place.node_rank = 0;
        make(&scene, SCRIPT_LIGHTNING, &place);
        const char *text = rank == 0 ? "0" : "1";
        assert_str(value_of(&scene, "RANK"), text);
        assert_str(value_of(&scene, "LOCAL_RANK"), text);
        assert_str(value_of(&scene, "SLURM_PROCID"), text);
        assert_str(value_of(&scene, "SLURM_LOCALID"), text);
        assert_str(value_of(&scene, "LOCAL_WORLD_SIZE"), "2");
        assert_str(value_of(&scene, "SLURM_NTASKS_PER_NODE"), "2");
        assert_str(value_of(&scene, "GROUP_RANK"), "0");
        assert_str(value_of(&scene, "SLURM_NODEID"), "0");
        arena_clear(&scene.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imports_tell_the_kind),
        cmocka_unit_test(kinds_have_names_and_traits),
        cmocka_unit_test(plain_and_sharded_scripts_see_torchrun),
        cmocka_unit_test(lightning_sees_slurm_and_not_torchrun),
        cmocka_unit_test(adaptdl_sees_its_controller),
        cmocka_unit_test(replicas_of_one_node_have_their_own_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

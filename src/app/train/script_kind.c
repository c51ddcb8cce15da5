/* script_kind.c: the table of script kinds, and how a script is recognized. */
#include "app/train/script_kind.h"

#include <signal.h>

#define PRELOAD_TORCH "torch,torch._dynamo,torch.distributed,torch.nn.parallel,numpy"

const struct script_traits script_traits[SCRIPT_KIND_COUNT] = {
    [SCRIPT_PLAIN] = {.name = "plain",
                      .words = "a torch script that saves on SIGTERM",
                      .stop_signal = SIGTERM,
                      .preload = PRELOAD_TORCH},
    [SCRIPT_LIGHTNING] = {.name = "lightning",
                          .words = "a Lightning script, which saves on SIGUSR1 as under SLURM",
                          .stop_signal = SIGUSR1,
                          .continues = true,
                          .prefix = "hpc_ckpt_",
                          .preload = PRELOAD_TORCH ",lightning,pytorch_lightning"},
    [SCRIPT_SHARDED] = {.name = "sharded",
                        .words = "a script with sharded checkpoints that saves on SIGTERM",
                        .stop_signal = SIGTERM,
                        .is_sharded = true,
                        .preload = PRELOAD_TORCH
                        ",torch.distributed.checkpoint,torch.distributed.fsdp,accelerate"},
    [SCRIPT_ADAPTDL] = {.name = "adaptdl",
                        .words = "an AdaptDL script",
                        .stop_signal = SIGTERM,
                        .preload = PRELOAD_TORCH ",scipy.optimize,scipy.stats,requests,autograd"},
};

static const struct {
    const char *word;
    enum script_kind kind;
} signs[] = {
    {"adaptdl", SCRIPT_ADAPTDL},
    {"pytorch_lightning", SCRIPT_LIGHTNING},
    {"lightning", SCRIPT_LIGHTNING},
    {"torch.distributed.checkpoint", SCRIPT_SHARDED},
    {"torch.distributed import checkpoint", SCRIPT_SHARDED},
    {"accelerate", SCRIPT_SHARDED}, /* every rank saves its random state */
};

static bool is_import(struct str line)
{
    line = str_trim(line);
    return str_starts(line, "import ") || str_starts(line, "from ");
}

enum script_kind script_kind_detect(struct str text)
{
    while (text.len > 0) {
        struct str line = str_cut(&text, '\n');
        for (size_t i = 0; i < ARRAY_LEN(signs) && is_import(line); i++) {
            if (str_find(line, signs[i].word) != SIZE_MAX) {
                return signs[i].kind;
            }
        }
    }
    return SCRIPT_PLAIN;
}

bool script_kind_read(struct str name, enum script_kind *ret_kind)
{
    for (int i = 0; i < SCRIPT_KIND_COUNT; i++) {
        if (str_is(name, script_traits[i].name)) {
            *ret_kind = (enum script_kind)i;
            return true;
        }
    }
    return false;
}

/*
 * image.h: which image machines of one node type start from. Pure.
 *
 * The one that the file names; else the one that Ray would take, where it is still there and fits
 * the machine; else the newest that its publisher announces under a public parameter of SSM.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "provider/aws/survey/ec2_reply.h"

#include <stdbool.h>

/* Does the file name an image? Empty and "latest_dlami" ask for Ray's default. */
bool image_is_named(struct str image);

/* Ray's default image of the region; empty: Ray has none. */
struct str image_ray_default(struct str region);

/* Where the newest image is announced, and what it is. */
struct image_parameter {
    struct str name;  /* "/aws/service/..." */
    struct str words; /* "newest Ubuntu 22.04 x86_64" */
};

/* False for an architecture that nobody announces. */
bool image_parameter_for(struct str arch, bool has_gpus, struct arena *arena,
                         struct image_parameter *ret_parameter);

enum image_verdict {
    IMAGE_FINE,
    IMAGE_MISSING,    /* the file names it, and it is not there */
    IMAGE_NOT_READY,  /* its state is not "available" */
    IMAGE_WINDOWS,    /* Ray's launcher cannot set it up */
    IMAGE_WRONG_ARCH, /* the machine cannot run it */
    IMAGE_NONE,       /* neither the file nor Ray has one that fits: ask the parameter */
};

struct image_choice {
    enum image_verdict verdict;
    const struct ec2_image *image; /* that was judged; NULL for IMAGE_MISSING and IMAGE_NONE */
    bool is_rays;
};

/* `type` may be NULL: then no architecture is wrong. */
struct image_choice image_choose(struct str named, struct str region, const struct ec2_type *type,
                                 const struct ec2_images *images);

/* NULL when the listing does not have it. */
const struct ec2_image *image_find(const struct ec2_images *images, struct str id);

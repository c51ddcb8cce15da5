/*
 * picture.h: a cluster that is coming or going, as text: the whole of it for a terminal, one line
 * per change for a pipe. Pure: the same facts give the same text.
 *
 *     Cluster demo   aws us-west-2   account 123456789012 (profile work)    $0.58/h
 *
 *       created   security group sg-0a1, key shoal-demo
 *       head      i-0f2…  m5.large  198.51.100.7  ready       31s
 *       worker-1  i-0b7…  m5.large  spot          set-up 3/5  24s  pip install -r requirements.txt
 *
 *     Ray 2.60.0 on 198.51.100.7: 1 of 2 nodes joined.
 */
#pragma once

#include "app/head/channel/ctl.h"
#include "app/view.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct picture {
    struct str cluster;
    struct str where;   /* "aws us-west-2" */
    struct str account; /* "account 123456789012 (profile work)"; may be empty */
    bool is_down;       /* the cluster goes: things are removed, Ray is not spoken of */
    struct str things;  /* what was made or removed: "security group sg-0a1, key shoal-demo" */
    const struct node_view *nodes;
    size_t node_count;
    const struct str *notes; /* the newest last */
    size_t note_count;
    struct ctl_status status;
    int64_t now_ms; /* wall clock */
};

struct picture_frame {
    size_t columns, lines; /* of the screen; the picture has at least one line less */
    bool colour;
};

/* Lines with their ends, none wider than the frame. More nodes than there is room for are told by
 * what they do. */
void picture_draw(struct buf *out, const struct picture *picture,
                  const struct picture_frame *frame);

/* What became of a node, for a line of its own, without time and end: "worker-1 set-up 3 of 5: pip
 * install torch". */
void picture_say_node(struct buf *out, const struct node_view *view);

/* Would that line differ? `before` may be NULL. */
bool picture_is_news(const struct node_view *before, const struct node_view *now);

/* "Ray 2.60.0 on 198.51.100.7: 1 of 3 nodes joined."; nothing while Ray is not there. */
void picture_say_ray(struct buf *out, const struct picture *picture);

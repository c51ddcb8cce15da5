/*
 * render.h: renders a cluster that is being created or deleted as text: a whole picture for a
 * terminal, one line per change for a pipe. Pure.
 *
 *     Cluster demo   aws us-west-2   account 123456789012 (profile work)    $0.58/h
 *
 *       created   security group sg-0a1, key shoal-demo
 *       head      i-0f2…  m5.large  198.51.100.7  ready       31s
 *       worker-1  i-0b7…  m5.large  spot          setup 3/5  24s  pip install -r requirements.txt
 *
 *     Ray 2.60.0 on 198.51.100.7: 1 of 2 nodes joined.
 */
#pragma once

#include "app/head/ctl/ctl.h"
#include "app/model/node_view.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct picture {
    struct str cluster;
    struct str where;   /* "aws us-west-2" */
    struct str account; /* "account 123456789012 (profile work)"; may be empty */
    bool is_down;       /* deletion: resources are removed, Ray is not mentioned */
    struct str things;  /* created or removed: "security group sg-0a1, key shoal-demo" */
    const struct node_view *nodes;
    size_t node_count;
    const struct str *notes; /* newest last */
    size_t note_count;
    struct ctl_status status;
    int64_t now_ms; /* wall clock, ms */
};

struct picture_frame {
    size_t columns, lines; /* size of the screen; the picture is at least one line shorter */
    bool colour;
};

/* Lines with newlines, none wider than the frame. If there are too many nodes, they are grouped by
 * phase. */
void picture_draw(struct buf *out, const struct picture *picture,
                  const struct picture_frame *frame);

/* The state of a node for a line of its own, without time and newline: "worker-1 setup 3 of 5: pip
 * install torch". */
void picture_say_node(struct buf *out, const struct node_view *view);

/* True if that line would change. `before` may be NULL. */
bool picture_is_news(const struct node_view *before, const struct node_view *now);

/* "Ray 2.60.0 on 198.51.100.7: 1 of 3 nodes joined."; empty while Ray is not running. */
void picture_say_ray(struct buf *out, const struct picture *picture);

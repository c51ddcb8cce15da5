/*
 * top_draw.h: draws the whole screen of `shoal top` as lines of text. Pure.
 *
 *     demo  aws us-west-2  Ray 2.60.0  3 of 3 nodes               $0.58/h  $1.12 so far
 *     Waiting  9 x {CPU: 4}
 *     In use   CPU ██████·· 12/16   memory ██···· 20/64G
 *
 *       NAME      TYPE    MARKET STATE   CPU         MEM          AGE IDLE
 *     > head      head    -      busy    ████· 3/4   ██··· 6/16G   2h
 *       worker-1  worker  spot   idle    ····· 0/4   █···· 1/16G  40m   3m
 *     EVENTS
 *       12s  join     worker-2  joined after 41s
 *     Enter log  l service's log  / filter  s sort: name  r reverse  ? keys  q quit
 */
#pragma once

#include "base/buf.h"
#include "cli/top/top_view.h"

/* Draws exactly look->lines lines, separated by newlines, none wider than look->columns. 0 lines:
 * as many as needed. Scrolls the list so that the selected node is visible. */
void top_draw(struct buf *out, const struct top_model *model, struct top_view *look);

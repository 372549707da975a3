/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splits the answer of a list or a watch into whole objects while its bytes arrive, in pieces of any
 * size. An object that lies inside one piece is passed on without a copy. The outer object is parsed
 * strictly here; the objects inside it are parsed by their decoder.
 *
 *   list   {"kind":"XList","metadata":{..},"items":[ {..}, {..} ]}	once
 *   watch  {"type":"ADDED","object":{..}}				again and again
 *
 * Members may come in any order; others are skipped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
	KUBE_FRAME_OBJECT_MAX = 16 << 20, /* client-go's limit of a watch frame */
	KUBE_FRAME_META_MAX = 64 << 10,	  /* metadata of a list */
	KUBE_FRAME_SHELL_MAX = 128 << 10, /* all of an outer object but its items or object */
	KUBE_FRAME_DEPTH_MAX = 512,
};

struct kube_frame {
	/* List: one element of `items`. The bytes are the callee's until it returns; a negative
	 * code ends the feeding and is its result. */
	int (*on_item)(void *ctx, struct slice object);
	/* Watch: one frame. */
	int (*on_frame)(void *ctx, struct slice type, struct slice object);
	void *ctx;

	struct strbuf meta; /* list: its metadata, as JSON; "" when there was none */
	bool items_seen;    /* list: there was an array (or null) of that name */

	/* Private to frame.c: */
	uint8_t state, member;
	bool in_string, escaped, ended;
	unsigned depth;	    /* inside the value being read; 0: a scalar */
	const char *from;   /* in the piece at hand: where the captured value starts; NULL: none */
	const char *to;	    /* behind the captured value, once it is complete */
	struct strbuf held; /* what came of it with earlier pieces */
	bool held_whole;
	struct strbuf shell; /* the outer object so far, with 0 for its items or object */
	char key[16], type[16];
	uint8_t key_n, type_n;
};

void kube_frame_list(struct kube_frame *frame, int (*on_item)(void *ctx, struct slice object),
		     void *ctx);
void kube_frame_watch(struct kube_frame *frame,
		      int (*on_frame)(void *ctx, struct slice type, struct slice object),
		      void *ctx);
void kube_frame_done(struct kube_frame *frame);

/* ERR_PARSE, ERR_LIMIT, or what the callback returned; after an error nothing more may be fed. */
MUST_CHECK int kube_frame_feed(struct kube_frame *frame, struct slice bytes);
/* The stream has ended: ERR_CLOSED when inside something; for a list also ERR_PARSE when it had no
 * items. */
MUST_CHECK int kube_frame_end(const struct kube_frame *frame);

/* Cuts what a list or a watch sends into whole objects while the bytes come in, in any pieces. An
 * object that lies inside one piece is handed out without a copy. The outer object is checked here,
 * strictly, before its end is believed; the inside of an object is its decoder's business.
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
	KUBE_CUT_OBJECT_MAX = 16 << 20, /* client-go's limit of a watch frame */
	KUBE_CUT_META_MAX = 64 << 10,	/* metadata of a list */
	KUBE_CUT_SHELL_MAX = 128 << 10, /* all of an outer object but its items or object */
	KUBE_CUT_DEPTH_MAX = 512,
};

struct kube_cut {
	/* List: one element of `items`. The bytes are the callee's until it returns; a negative
	 * code ends the feeding and is its result. */
	int (*item)(void *ctx, struct slice object);
	/* Watch: one frame. */
	int (*frame)(void *ctx, struct slice type, struct slice object);
	void *ctx;

	struct strbuf meta; /* list: its metadata, as JSON; "" when there was none */
	bool items_seen;    /* list: there was an array (or null) of that name */

	/* private */
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

void kube_cut_list(struct kube_cut *cut, int (*item)(void *ctx, struct slice object), void *ctx);
void kube_cut_watch(struct kube_cut *cut,
		    int (*frame)(void *ctx, struct slice type, struct slice object), void *ctx);
void kube_cut_done(struct kube_cut *cut);

/* ERR_PARSE, ERR_LIMIT, or what the callee said; then no more may be fed. */
MUST_CHECK int kube_cut_feed(struct kube_cut *cut, struct slice bytes);
/* The stream has ended: ERR_CLOSED when inside something; for a list also ERR_PARSE when it had no
 * items. */
MUST_CHECK int kube_cut_end(const struct kube_cut *cut);

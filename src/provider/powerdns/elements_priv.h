/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list in a reply, one element after the other while its bytes arrive: a zone with 100 000 record
 * sets takes 20 MB, ten times as much as a tree. The list is the reply itself, or one member of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
	/* A record set has at most 64 KB on the wire, and 5 bytes for each of them as JSON. */
	POWERDNS_ELEMENT_MAX_BYTES = 2 << 20,
	POWERDNS_DEPTH_MAX = 64,
	POWERDNS_KEY_MAX_BYTES = 32, /* longer names of members are none that we look for */
};

struct powerdns_elements {
	const char *member; /* of the reply, an object; NULL: the reply is the list */
	/* One element, an object; 0, or a negative code that ends the reading. */
	int (*take)(void *ctx, struct slice element);
	void *ctx;

	/* Private. Zero it before the first bytes. */
	struct strbuf partial; /* of an element that is not complete */
	char key[POWERDNS_KEY_MAX_BYTES];
	size_t key_n;
	unsigned depth;
	unsigned list_depth; /* inside the list; 0: not there */
	bool in_string, is_escaped, is_value, was_list, is_over;
};

void powerdns_elements_init(struct powerdns_elements *elements, const char *member,
			    int (*take)(void *ctx, struct slice element), void *ctx);
void powerdns_elements_done(struct powerdns_elements *elements);
/* ERR_PARSE, ERR_LIMIT, or what `take` returned. */
MUST_CHECK int powerdns_elements_feed(struct powerdns_elements *elements, struct slice bytes);
/* ERR_PARSE unless the reply was whole and had the list. */
MUST_CHECK int powerdns_elements_finish(const struct powerdns_elements *elements);

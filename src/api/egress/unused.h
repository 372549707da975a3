/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a DNSName leaves (EF-15). When no rule uses it any more, in one of the ways in which it is used, the
 * controller marks the object, nodes remove the addresses after the rules and report the mark, and then the
 * controller deletes the object or what it says about that use. The mark has a time of its own: what a node
 * reported about an earlier one says nothing about this one. Pure: no I/O, any thread. */
#pragma once

#include <stdint.h>

#include "base/compiler.h"

/* On a DNSName: the mark, "2026-11-17T14:00:00.000000Z,regular,wildcard". */
#define EGRESS_UNUSED_ANNOTATION "egress.fairlead.dev/unused"

/* How rules use a DNSName; bits of a set. */
enum egress_use {
	EGRESS_USE_REGULAR = 1,	  /* as the name of a host */
	EGRESS_USE_WILDCARD = 2,  /* as a wildcard of whatever depth */
	EGRESS_USE_ANY_DEPTH = 4, /* as one of any depth */
};

struct egress_unused {
	uint64_t since_ns; /* wall clock */
	unsigned uses;	   /* that have ended */
};

enum { EGRESS_UNUSED_TEXT_MAX = 80 };

/* The text has no space in it. */
const char *egress_unused_format(const struct egress_unused *unused,
				 char out[EGRESS_UNUSED_TEXT_MAX]);
/* ERR_PARSE: it is none. NULL is none. */
MUST_CHECK int egress_unused_parse(const char *text, struct egress_unused *ret);

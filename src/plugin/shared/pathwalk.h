/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A walk along a search path on behalf of a client: what autopath and searchpath have in common. A
 * base is looked up with each element in turn until one has the name. Which one is decided per name: before an element that denies A is left behind, AAAA is
 * asked for, and the other way round; both types of a client's lookup so end at the same element.
 *
 * Glossary
 *	base	the labels of the question before the suffix that stands for the path
 *	probe	a look-up of an address type that the client did not ask for */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/query.h"
#include "server/subquery.h"

enum { PATHWALK_MAX = 64 }; /* elements of a path */

struct pathwalk_path {
	const uint8_t **v; /* lower-case wire names; the last one is the root: the bare name */
	size_t n;
};

enum pathwalk_end {
	PATHWALK_WAITS,	  /* return V_WAIT, then call pathwalk_resume */
	PATHWALK_FOUND,	  /* q->resp has the reply, with a CNAME record in front */
	PATHWALK_THERE,	  /* the element has the name, but nothing of the type; see `here` */
	PATHWALK_NOTHING, /* no element has it; see `first` */
	PATHWALK_FAILED,  /* q->rcode and q->err are set */
};

/* In a plugin's query state. The caller sets the first four. */
struct pathwalk {
	struct pathwalk_path path;
	size_t base;	    /* bytes */
	enum sub_kind kind; /* of the sub-queries: SUB_WALK or SUB_BELOW */
	/* true: an element has the name when it has an address or what was asked for, and a failure
	 * ends the walk. false, as CoreDNS: the name exists unless the reply is NXDOMAIN. */
	bool strict;

	/* The reply of the element that the walk is at, and the first one that found nothing; both
	 * owned by q's memory. */
	struct query *here, *first;
	bool bare_is_empty; /* strict: the bare name exists, without the type */
	size_t at;
	unsigned probe; /* 1 and up: which */
};

/* Asks for the next element with which the name is not too long. */
enum pathwalk_end pathwalk_next(struct plugin_inst *self, struct query *q,
				struct pathwalk *pathwalk);
/* Continues when q->sub is finished. */
enum pathwalk_end pathwalk_resume(struct plugin_inst *self, struct query *q,
				  struct pathwalk *pathwalk);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samples of denied connections, from the Events that agents of nodes emit (docs/node-egress.md). No I/O. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "api/explain/subject.h"
#include "base/arena.h"
#include "base/vec.h"

enum { EXPLAIN_DENIALS_MAX = 20 }; /* of a namespace; the newest */

struct explain_denial {
	struct explain_address address; /* where to */
	const char *text;		/* the sentence of the Event */
	const char *last;		/* when, as the Event has it; "": unknown */
	uint64_t samples;
};

typedef VEC(struct explain_denial) explain_denial_list;

/* Those of the namespace's firewall to one of the addresses, the newest first. Texts are the arena's. */
void explain_denials_find(const json_t *events, const char *ns,
			  const struct explain_address *addresses, size_t count,
			  struct arena *arena, explain_denial_list *ret);

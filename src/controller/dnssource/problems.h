/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What keeps a source from having its DNSRecords, in sentences for its owner. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/compiler.h"

enum { DNSSOURCE_PROBLEMS_MAX = 10 }; /* of one source; further ones are left out */

struct dnssource_problem {
	const char *reason; /* of the Event */
	const char *text;
};

struct dnssource_problems {
	struct arena *arena; /* has the texts */
	struct dnssource_problem v[DNSSOURCE_PROBLEMS_MAX];
	size_t n;
	/* The user's wish is not clear: what was published before stays until it is. */
	bool keeps_records;
};

/* A mistake; what was published before stays. */
void dnssource_add_mistake(struct dnssource_problems *problems, const char *reason, const char *fmt,
			   ...) PRINTF_LIKE(3, 4);
/* The wish is clear, and is not granted. */
void dnssource_add_refusal(struct dnssource_problems *problems, const char *reason, const char *fmt,
			   ...) PRINTF_LIKE(3, 4);

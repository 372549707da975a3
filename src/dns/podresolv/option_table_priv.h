/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of resolv.conf that C libraries know (PD-30). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/strbuf.h"

struct podresolv_known_option {
	const char *name;
	bool takes_number; /* else it stands alone */
	uint64_t glibc_max,
		musl_max; /* of the number: what is larger counts as this; musl 0: ignored */
};

/* NULL: no library knows it. */
const struct podresolv_known_option *podresolv_find_option(struct slice name);

/* Appends all names in quotes, with commas between them. */
void podresolv_list_options(struct strbuf *out);

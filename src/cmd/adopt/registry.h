/* SPDX-License-Identifier: GPL-3.0-or-later */
/* external-dns's TXT registry: which record sets it calls its own. Beside each set it keeps a TXT record
 *
 *	a-www.example.com TXT "heritage=external-dns,external-dns/owner=ID,external-dns/resource=service/shop/web"
 *
 * and versions before 0.12 one at the name itself. --txt-prefix and --txt-suffix change the first label. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"

enum { ADOPT_NAME_MAX = 512 };

/* How external-dns was started; "" for a flag that was not given. */
struct adopt_affixes {
	const char *prefix, *suffix;
};

struct adopt_registration {
	struct slice owner, resource; /* empty: not said */
};

/* The name of the TXT record for the set; without `record_type` that of old versions. False: too long. */
bool adopt_registry_name(const struct adopt_affixes *affixes, const char *name,
			 const char *record_type, char out[ADOPT_NAME_MAX]);
/* Is the TXT value one of external-dns's? Borrowed from the value. */
bool adopt_registry_read(const char *value, struct adopt_registration *ret);

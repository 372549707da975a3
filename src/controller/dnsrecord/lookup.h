/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work for an engine (controller/engine.h): what DNS answers for a record set. One question, of the
 * set's own type; aliases are not followed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "controller/engine.h"
#include "provider/provider.h"
#include "resolve/lookup.h"

struct dnsrecord_lookup {
	struct engine_work work;
	struct lookup lookup;

	/* The result: 0, or a negative code with `error`: there is no answer. */
	int result;
	char error[160];
	struct provider_rrset
		set;   /* values as providers have them; none: there is no such record */
	bool is_alias; /* the name has a CNAME, although another type was asked for */

	/* Its own: */
	char **texts;
	const char **values;
};

/* Of a wildcard a name below it is asked for. NULL: no valid domain name. */
struct dnsrecord_lookup *dnsrecord_lookup_new(const struct provider_rrset *set);
static inline struct dnsrecord_lookup *dnsrecord_lookup_of(struct engine_work *work)
{
	return CONTAINER_OF(work, struct dnsrecord_lookup, work);
}

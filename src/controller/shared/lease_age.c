/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Remembers the version of a Lease and since when it has it. */
#include "controller/shared/lease_age.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/mem.h"

void lease_age_done(struct lease_age *age)
{
	free(age->version);
	*age = (struct lease_age){ 0 };
}

uint64_t lease_age_left_ns(struct lease_age *age, const json_t *lease, uint64_t duration_ns,
			   uint64_t now_ns)
{
	const char *version = api_resource_version(lease);
	if (age->version == NULL || strcmp(age->version, version) != 0) {
		free(age->version);
		age->version = xstrdup(version);
		age->changed_ns = now_ns;
	}
	uint64_t expires_ns = age->changed_ns + duration_ns;
	return expires_ns > now_ns ? expires_ns - now_ns : 0;
}

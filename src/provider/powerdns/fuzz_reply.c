/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as an element or an error: a set has a name and sorted values, each once. */
#include "provider/powerdns/reply_priv.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_set(const struct provider_rrset *set)
{
	if (set->name == NULL || set->n_values > POWERDNS_VALUES_MAX)
		abort();
	for (size_t i = 1; i < set->n_values; i++) {
		if (strcmp(set->values[i - 1], set->values[i]) >= 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct slice bytes = { (const char *)data, len };
	CLEANUP(freep) struct provider_rrset *set = NULL;
	CLEANUP(powerdns_zone_done) struct powerdns_zone zone = { 0 };
	char text[100];
	if (powerdns_reply_rrset(bytes, &set) == 0)
		check_set(set);
	if (powerdns_reply_zone(bytes, &zone) == 0 && (zone.id[0] == '\0' || zone.name == NULL))
		abort();
	powerdns_reply_error(bytes, ERR_TEXT(text));
	if (strlen(text) >= sizeof(text))
		abort();
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a reply, read as the set of its own question and as the zone of its name: values are texts
 * in order, and what our types have becomes the same data again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dns/request.h"
#include "dns/types.h"
#include "provider/rfc2136/answer_priv.h"
#include "provider/rfc2136/rdata_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_set(const struct provider_rrset *set, struct arena *arena)
{
	for (size_t i = 0; i < set->n_values; i++) {
		struct dns_update_rdata rdata;
		if (i != 0 && strcmp(set->values[i - 1], set->values[i]) >= 0)
			abort();
		if (rfc2136_rdata_make(set->type, set->values[i], arena, &rdata) != 0 &&
		    strlen(set->values[i]) < 60000)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t types[] = { DNS_TYPE_A, DNS_TYPE_AAAA, DNS_TYPE_CNAME, DNS_TYPE_TXT };
	uint8_t name[DNS_NAME_MAX], zone[DNS_NAME_MAX], *msg = xmalloc(size + 1);
	struct rfc2136_answer answer;
	struct arena arena;
	if (size < DNS_HEADER_BYTES || dns_name_unpack(data, size, DNS_HEADER_BYTES, name) < 0) {
		free(msg);
		return 0;
	}
	arena_init(&arena);
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		memcpy(msg, data, size);
		if (rfc2136_answer_read(msg, size, name, types[i], &arena, &answer) == 0)
			check_set(&answer.set, &arena);
	}
	memcpy(msg, data, size);
	if (rfc2136_answer_zone(msg, size, name, zone) == RFC2136_ZONE_FOUND &&
	    !dns_name_is_below(name, zone))
		abort();
	uint32_t serial;
	memcpy(msg, data, size);
	IGNORE(rfc2136_answer_serial(msg, size, name, &serial)); /* must not read outside */
	arena_done(&arena);
	free(msg);
	return 0;
}

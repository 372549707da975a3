/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a reply: only a whole hash counts as found, every other reply has an error text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/dnsoperator/rollout/marker_query.h"
#include "controller/dnsoperator/rollout/marker_query_test.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dnsoperator_marker_answer a;
	dnsoperator_marker_answer_read(data, size, &a);
	bool told = a.kind == DNSOPERATOR_MARKER_FOUND;
	size_t digits = strspn(a.hash, "0123456789abcdef");
	if (digits != (told ? DNSOPERATOR_MARKER_HASH_MAX - 1 : 0) || a.hash[digits] != '\0' ||
	    (a.text[0] == '\0') != told || a.kind == DNSOPERATOR_MARKER_UNREACHABLE)
		abort();
	return 0;
}

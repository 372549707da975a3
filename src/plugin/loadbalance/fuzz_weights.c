/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text is read or refused with a place inside it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "plugin/loadbalance/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct loadbalance_weights *w = NULL;
	struct srcerr err = { 0 };
	union net_addr ip;
	struct slice text = { (const char *)data, size };
	static const uint8_t name[] = "\1w\7example";
	if (loadbalance_weights_parse("weights", text, &w, &err) < 0) {
		if (err.pos.line == 0 || err.pos.col == 0 || err.text[0] == '\0')
			abort();
		return 0;
	}
	if (net_addr_parse_ip(SLICE("192.0.2.1"), &ip) < 0 ||
	    loadbalance_weight_of(loadbalance_weights_find(w, name), &ip) == 0)
		abort();
	loadbalance_weights_free(w);
	return 0;
}

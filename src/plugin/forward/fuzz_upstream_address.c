/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as TO: what is taken has its parts inside the text and an address with a port. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/forward/upstream_address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(struct slice part, struct slice text)
{
	if (part.n != 0 && (part.p < text.p || part.p + part.n > text.p + text.n))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = { (const char *)data, size };
	struct forward_address t;
	char err[FORWARD_ERR_MAX] = "";
	union net_addr a;
	if (forward_address_parse(text, &t, err) < 0) {
		if (memchr(err, '\0', sizeof(err)) == NULL || err[0] == '\0')
			abort();
	} else {
		inside(t.host, text);
		inside(t.name, text);
		inside(t.path, text);
		if (t.kind == FORWARD_ADDRESS_IP &&
		    (t.port == 0 || net_addr_port(&t.addr) != t.port))
			abort();
		if (forward_address_is_name(t.host) && t.host.n == 0)
			abort();
	}
	if (forward_address_nameserver(text, &a) == 0 && net_addr_port(&a) != 53)
		abort();
	return 0;
}

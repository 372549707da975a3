/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as a record: what is accepted has a valid owner, and both ways of reading rdata agree
 * where both accept it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dns/rrtext/parser.h"
#include "dns/rrtext/rrtext_test.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 70000, STRING_MAX = 255 };

static int parse(struct dns_rrtext *p, struct slice text, char *buf, struct dns_rr *rr)
{
	struct arena a;
	arena_init_fixed(&a, buf, ARENA_BYTES);
	return dns_rrtext_parse(p, text, &a, rr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dns_rrtext *p;
	static char direct_buf[ARENA_BYTES];
	static char scanned_buf[ARENA_BYTES];
	struct slice text = { (const char *)data, size };
	struct dns_rr direct;
	struct dns_rr scanned;
	if (p == NULL)
		p = dns_rrtext_new();
	if (parse(p, text, direct_buf, &direct) != 0)
		return 0;
	if (dns_name_len(direct.owner) != direct.owner_len)
		abort();
	dns_rrtext_force_scanner(p, true);
	int r = parse(p, text, scanned_buf, &scanned);
	dns_rrtext_force_scanner(p, false);
	if (r != 0 || direct.rdlen > STRING_MAX)
		return 0;
	if (direct.rdlen != scanned.rdlen || direct.type != scanned.type ||
	    memcmp(direct.rdata, scanned.rdata, direct.rdlen) != 0)
		abort();
	return 0;
}

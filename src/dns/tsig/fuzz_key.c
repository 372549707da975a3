/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as a TSIG key: it is refused with a reason, or has a secret, a name and a size of MAC
 * that may be sent. */
#include <stdint.h>
#include <stdlib.h>

#include "dns/tsig/key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_tsig_key key = { 0 };
	char why[256] = "";
	int r = dns_tsig_key_parse(&key, (struct slice){ (const char *)data, size }, ERR_TEXT(why));
	if ((r < 0) != (why[0] != '\0'))
		abort();
	if (r == 0 &&
	    (key.secret.n == 0 || key.secret.n > DNS_TSIG_SECRET_MAX ||
	     dns_name_len(key.name) > DNS_NAME_MAX || !dns_tsig_key_allows(&key, key.mac_bytes) ||
	     !dns_tsig_key_uses(&key, key.algorithm->name)))
		abort();
	dns_tsig_key_done(&key);
	return 0;
}

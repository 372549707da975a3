/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a record of a learnt address: refused, or written again with the same meaning. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dns/learnt/learnt_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_learnt one, two;
	uint8_t out[DNS_LEARNT_RDATA_MAX];
	if (dns_learnt_parse(data, size, &one) < 0)
		return 0;
	size_t n = dns_learnt_rdata(&one, out);
	if (dns_learnt_parse(out, n, &two) < 0 || !slice_eq(one.name, two.name) ||
	    !slice_eq(one.object, two.object) || one.expires_s != two.expires_s ||
	    one.ip_n != two.ip_n || memcmp(one.ip, two.ip, one.ip_n) != 0)
		abort();
	return 0;
}

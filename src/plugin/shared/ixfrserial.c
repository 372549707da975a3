/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the client's serial from the authority section of an IXFR question (RFC 1995). */
#include "plugin/shared/ixfrserial.h"

#include "base/err.h"
#include "dns/name.h"
#include "dns/request.h"
#include "dns/types.h"

enum { QUESTION_FIXED = 4, RR_FIXED = 10, SOA_NUMBERS = 20 };

/* Offset of the serial in the data from `at` to `end`, or ERR_PARSE. */
static int find_serial(const uint8_t *msg, int at, int end)
{
	for (int i = 0; i < 2 && at >= 0; i++)
		at = dns_name_skip(msg, (size_t)end, (size_t)at);
	return at >= 0 && end - at == SOA_NUMBERS ? at : ERR_PARSE;
}

int ixfrserial_read(const uint8_t *msg, size_t len, uint32_t *ret)
{
	if (len < DNS_HEADER_BYTES || len > UINT16_MAX || dns_get16(msg + 4) != 1 ||
	    dns_get16(msg + 6) != 0 || dns_get16(msg + 8) != 1)
		return ERR_PARSE;
	int at = dns_name_skip(msg, len, DNS_HEADER_BYTES);
	if (at >= 0)
		at = dns_name_skip(msg, len, (size_t)at + QUESTION_FIXED);
	if (at < 0 || (size_t)at + RR_FIXED > len || dns_get16(msg + at) != DNS_TYPE_SOA)
		return ERR_PARSE;
	int end = at + RR_FIXED + dns_get16(msg + at + 8);
	if ((size_t)end > len)
		return ERR_PARSE;
	at = find_serial(msg, at + RR_FIXED, end);
	if (at < 0)
		return ERR_PARSE;
	*ret = dns_get32(msg + at);
	return 0;
}

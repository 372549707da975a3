/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a reply to a question that is taken from them: what is accepted is a whole message
 * that can be opened, has our question, and does not grow; flipping letters twice is nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dns/resp.h"
#include "resolve/reply_check_priv.h"
#include "resolve/types_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void accepted(uint8_t *msg, size_t n)
{
	struct dns_resp r;
	struct arena a;
	arena_init(&a);
	if (dns_resp_from_wire(&r, &a, msg, n) < 0 || dns_resp_thaw(&r, &a) < 0)
		abort();
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t plain[] = "\0\0\1\0\0\1\0\0\0\0\0\0\1a\7example\0\0\1\0\1";
	uint8_t query[DNS_HEADER_BYTES + DNS_NAME_MAX + 4];
	int question_n = reply_check_question(data, size);
	uint8_t *msg = xmalloc(size + 1);
	memcpy(query, plain, sizeof(plain) - 1);
	if (size != 0)
		memcpy(msg, data, size);
	if (question_n > 0)
		memcpy(query + DNS_HEADER_BYTES, data + DNS_HEADER_BYTES, (size_t)question_n);
	else
		question_n = (int)sizeof(plain) - 1 - DNS_HEADER_BYTES;
	size_t n = 0;
	if (reply_check(query, (size_t)question_n, msg, size, true, &n) == REPLY_OK) {
		size_t name_n = (size_t)question_n - 4;
		uint8_t bits[32];
		if (n > size || n < DNS_HEADER_BYTES + (size_t)question_n)
			abort();
		accepted(msg, n);
		memset(bits, data[0], sizeof(bits));
		resolve_flip_case(query + DNS_HEADER_BYTES, name_n, bits);
		if (reply_check(query, (size_t)question_n, msg, size, false, &n) != REPLY_OK)
			abort();
		resolve_flip_case(query + DNS_HEADER_BYTES, name_n, bits);
		if (reply_check(query, (size_t)question_n, msg, size, true, &n) != REPLY_OK)
			abort();
	}
	free(msg);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a message from an upstream: what can be opened can be written and read again with
 * the same records, at any limit; what is passed on as bytes reads the same, too. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "dns/dump_test.h"
#include "dns/resp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUT_MAX = 65535 };

static bool same_records(const struct dns_resp *a, const struct dns_resp *b)
{
	for (int s = 0; s < DNS_SECTIONS; s++) {
		const struct dns_rr *x = a->first[s], *y = b->first[s];
		for (; x != NULL && y != NULL; x = x->next, y = y->next) {
			if (x->type != y->type || x->cls != y->cls || x->ttl != y->ttl ||
			    x->rdlen != y->rdlen || x->owner_len != y->owner_len ||
			    !dns_name_eq(x->owner, y->owner) ||
			    memcmp(x->rdata, y->rdata, x->rdlen) != 0)
				return false;
		}
		if (x != NULL || y != NULL)
			return false;
	}
	return true;
}

/* The question of the message as a client would have asked it; false when there is none. */
static bool question_of(const uint8_t *msg, size_t n, uint8_t *buf, struct dns_encode *e)
{
	int end = dns_get16(msg + 4) == 1 ? dns_name_unpack(msg, n, DNS_HEADER_BYTES, buf) : -1;
	if (end < 0)
		return false;
	size_t len = dns_name_len(buf);
	memcpy(buf + len, msg + end, 4);
	*e = (struct dns_encode){ .question = buf,
				  .question_len = (uint16_t)(len + 4),
				  .limit = OUT_MAX };
	return true;
}

static void write_and_read(struct dns_resp *r, const struct dns_encode *e, struct arena *a)
{
	static uint8_t out[OUT_MAX];
	struct dns_resp again;
	int n = dns_resp_encode(r, e, out, sizeof(out));
	if (n < 0)
		return; /* more than a message holds */
	uint8_t *copy = arena_memdup(a, out, (size_t)n);
	if (dns_resp_from_wire(&again, a, copy, (size_t)n) < 0)
		abort();
	/* Names that run into the header or behind the last record change with those. */
	if (dns_resp_thaw(&again, a) < 0) {
		if (r->msg == NULL)
			abort();
		return;
	}
	bool cut = (again.flags & DNS_FLAG_TC) != 0 && (r->flags & DNS_FLAG_TC) == 0;
	if (again.has_opt != r->has_opt || again.rcode % 16 != r->rcode % 16)
		abort();
	if (r->msg == NULL && !cut && !same_records(r, &again))
		abort();
	struct dns_encode small = *e;
	for (small.limit = 0; small.limit < (size_t)n; small.limit += 1 + (size_t)n / 16) {
		int k = dns_resp_encode(r, &small, out, sizeof(out));
		if (k >= 0 && (size_t)k > small.limit)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t question[DNS_NAME_MAX + 4];
	struct dns_encode e;
	struct dns_resp r;
	struct arena a;
	arena_init(&a);
	uint8_t *msg = xmalloc(size + 1);
	if (size != 0)
		memcpy(msg, data, size);
	if (dns_resp_from_wire(&r, &a, msg, size) == 0 && question_of(msg, size, question, &e)) {
		struct dns_resp open = r;
		if (dns_resp_thaw(&open, &a) == 0) {
			write_and_read(&r, &e, &a);
			write_and_read(&open, &e, &a);
		}
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		IGNORE(dns_dump(msg, size, &text)); /* must not crash */
	}
	free(msg);
	arena_done(&a);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a request: what is admitted has a valid question and options, and nothing beyond the
 * promised slack is touched. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dns/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct dns_request *r)
{
	struct dns_option o;
	struct dns_qname q;
	size_t pos = 0;
	dns_qname_set(&q, r->qname);
	if (r->question_len != q.len + 4U || q.label[q.n_labels] + 1U != q.len)
		abort();
	for (unsigned i = 0; i <= q.n_labels; i++) {
		if (q.hash[i] != dns_name_hash(q.wire + q.label[i]))
			abort();
	}
	if (!r->opt.present && (r->opt.options_len != 0 || r->opt.dnssec_ok || r->opt.version != 0))
		abort();
	while (r->opt.present && dns_option_next(&r->opt, &pos, &o)) {
		if (!dns_option_valid(&o) || o.data + o.len > r->msg + r->len)
			abort();
	}
	if (r->opt.present && pos != r->opt.options_len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t opcodes[] = { 0, 1 << 5, UINT16_MAX };
	for (size_t i = 0; i < ARRAY_LEN(opcodes); i++) {
		struct dns_request r;
		uint8_t *msg = xmalloc(size + DNS_REQUEST_SLACK);
		if (size != 0)
			memcpy(msg, data, size);
		enum dns_admit a = dns_request_parse(msg, size, opcodes[i], &r);
		if (a == DNS_ADMIT_OK)
			check(&r);
		if (a != DNS_ADMIT_IGNORE && (r.flags & DNS_FLAG_QR) != 0)
			abort();
		free(msg);
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a signed request and as a signed answer. What has no TSIG, and nothing behind its
 * last record, can be signed, and is then accepted by the other side; what is reported lies
 * inside the message; a second look finds the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dns/request.h"
#include "dns/tsig/tsig.h"
#include "dns/tsig/explain.h"
#include "dns/tsig/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NOW = 1700000000 };

static const struct dns_tsig_key *fuzz_key(void)
{
	static struct dns_tsig_key key;
	if (key.algorithm == NULL &&
	    dns_tsig_key_parse(
		    &key,
		    SLICE("hmac-sha256:key.example:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
		    (struct err_text){ 0 }) < 0)
		abort();
	return &key;
}

static struct dns_tsig_report verify(const uint8_t *msg, size_t len)
{
	struct dns_tsig tsig = { 0 };
	struct dns_tsig_report report =
		dns_tsig_verify_request(&tsig, fuzz_key(), 1, msg, len, NOW);
	uint8_t reply[DNS_HEADER_BYTES + 2 * DNS_TSIG_RECORD_MAX] = { 0 };
	/* Every request that has a TSIG can be answered. */
	if (tsig.has_request && report.result != DNS_TSIG_MALFORMED &&
	    dns_tsig_sign_answer(&tsig, reply, DNS_HEADER_BYTES, sizeof(reply), NOW) < 0)
		abort();
	dns_tsig_done(&tsig);
	return report;
}

static void check_signing(const uint8_t *data, size_t size)
{
	struct dns_tsig tsig = { .key = fuzz_key() };
	uint8_t *msg = xmalloc(size + DNS_TSIG_RECORD_MAX);
	memcpy(msg, data, size);
	int n = dns_tsig_sign_request(&tsig, msg, size, size + DNS_TSIG_RECORD_MAX, NOW);
	if (n >= 0 && verify(msg, (size_t)n).result != DNS_TSIG_OK)
		abort();
	dns_tsig_done(&tsig);
	free(msg);
}

static void check_answer(const uint8_t *data, size_t size)
{
	static const uint8_t request[DNS_HEADER_BYTES] = { 0x12, 0x34 };
	uint8_t msg[DNS_HEADER_BYTES + DNS_TSIG_RECORD_MAX];
	struct dns_tsig tsig = { .key = fuzz_key() };
	char why[256];
	memcpy(msg, request, sizeof(request));
	if (dns_tsig_sign_request(&tsig, msg, sizeof(request), sizeof(msg), NOW) < 0)
		abort();
	struct dns_tsig_report report = dns_tsig_verify_answer(&tsig, data, size, NOW);
	if (report.len > size)
		abort();
	dns_tsig_explain(fuzz_key(), &report, NOW, ERR_TEXT(why));
	dns_tsig_done(&tsig);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > UINT16_MAX)
		return 0;
	struct dns_tsig_report report = verify(data, size);
	if (report.len > size || verify(data, size).result != report.result)
		abort();
	struct dns_tsig_record record;
	bool whole = report.result == DNS_TSIG_UNSIGNED &&
		     dns_tsig_record_find(data, size, &record) == 0 && record.start == size;
	if (whole)
		check_signing(data, size);
	check_answer(data, size);
	return 0;
}

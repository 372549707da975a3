/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client's side of TSIG. */
#include "dns/tsig/tsig.h"

#include <assert.h>
#include <string.h>

#include "dns/request.h"
#include "dns/tsig/mac_priv.h"
#include "dns/types.h"

int dns_tsig_sign_request(struct dns_tsig *tsig, uint8_t *msg, size_t len, size_t cap,
			  uint64_t now_s)
{
	struct dns_tsig_record record = { .time_s = now_s, .fudge = DNS_TSIG_FUDGE };
	assert(tsig->mac_n == 0 && !tsig->answered && len >= DNS_HEADER_BYTES);
	memcpy(record.name, tsig->key->name, dns_name_len(tsig->key->name));
	memcpy(record.algorithm, tsig->key->algorithm->name,
	       dns_name_len(tsig->key->algorithm->name));
	return tsig_mac_append(tsig, msg, len, cap, &record);
}

/* A server that does not know the key, or finds the request's MAC wrong, cannot sign what it
 * reports; some never do. */
static bool is_unsigned_error(const struct dns_tsig_record *record, uint8_t rcode)
{
	return record->mac_n == 0 && rcode == DNS_RCODE_NOTAUTH &&
	       record->error != DNS_TSIG_ERROR_NONE;
}

/* A signed answer whose record has an error. The MAC of BADTIME is chained to our request, so it
 * is no older than that; whether its time is the server's or ours, as the RFC wants it, says
 * nothing more. */
static void note_error(const struct dns_tsig_record *record, struct dns_tsig_report *report)
{
	if (record->error == DNS_TSIG_ERROR_NONE ||
	    (report->result != DNS_TSIG_OK &&
	     (report->result != DNS_TSIG_BADTIME || record->error != DNS_TSIG_ERROR_BADTIME)))
		return;
	report->result = DNS_TSIG_REJECTED;
	report->error = record->error;
	if (record->error == DNS_TSIG_ERROR_BADTIME && record->other_n == DNS_TSIG_TIME_BYTES)
		report->server_time_s = dns_tsig_record_get_time(record->other);
}

static void judge_answer(struct dns_tsig *tsig, const uint8_t *msg,
			 const struct dns_tsig_record *record, uint64_t now_s,
			 struct dns_tsig_report *report)
{
	if (is_unsigned_error(record, report->rcode)) {
		report->result = DNS_TSIG_REJECTED;
		report->error = record->error;
		return;
	}
	if (!dns_name_eq(record->name, tsig->key->name) ||
	    !dns_tsig_key_uses(tsig->key, record->algorithm)) {
		report->result = DNS_TSIG_BADKEY;
		return;
	}
	report->result = tsig_mac_check(tsig, msg, record, now_s);
	report->authentic =
		report->result != DNS_TSIG_MALFORMED && report->result != DNS_TSIG_BADSIG;
	note_error(record, report);
	tsig->answered = report->result == DNS_TSIG_OK;
	if (!tsig->answered)
		tsig->n_unsigned = 0; /* nothing of it may be used, nor verified any further */
}

struct dns_tsig_report dns_tsig_verify_answer(struct dns_tsig *tsig, const uint8_t *msg, size_t len,
					      uint64_t now_s)
{
	struct dns_tsig_report report = { .result = DNS_TSIG_MALFORMED, .len = len };
	struct dns_tsig_record record;
	assert(tsig->key != NULL && tsig->mac_n != 0);
	if (len >= DNS_HEADER_BYTES)
		report.rcode = msg[3] & 0xf;
	int found = dns_tsig_record_find(msg, len, &record);
	if (found == 0)
		report.result = tsig_mac_pass(tsig, msg, len);
	if (found <= 0)
		return report;
	report.len = record.start;
	judge_answer(tsig, msg, &record, now_s, &report);
	return report;
}

bool dns_tsig_is_complete(const struct dns_tsig *tsig)
{
	return tsig->answered && tsig->n_unsigned == 0;
}

void dns_tsig_done(struct dns_tsig *tsig)
{
	hmac_drop(&tsig->running);
	*tsig = (struct dns_tsig){ 0 };
}

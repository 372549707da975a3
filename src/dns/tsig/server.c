/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The server's side of TSIG. */
#include "dns/tsig/server.h"

#include <assert.h>
#include <string.h>

#include "dns/request.h"
#include "dns/tsig/mac_priv.h"

/* The first key from `*at` on that the request could be signed with; NULL: there is none. */
static const struct dns_tsig_key *next_key(const struct dns_tsig_key *keys, size_t n_keys,
					   size_t *at, const struct dns_tsig_record *record)
{
	while (*at < n_keys) {
		const struct dns_tsig_key *key = &keys[(*at)++];
		if (dns_name_eq(key->name, record->name) &&
		    dns_tsig_key_uses(key, record->algorithm))
			return key;
	}
	return NULL;
}

/* Is it worth while to try another key of the same name? */
static bool is_unfit(enum dns_tsig_result result)
{
	return result == DNS_TSIG_BADKEY || result == DNS_TSIG_BADSIG ||
	       result == DNS_TSIG_MALFORMED;
}

static enum dns_tsig_error error_of(enum dns_tsig_result result)
{
	switch (result) {
	case DNS_TSIG_BADKEY:
		return DNS_TSIG_ERROR_BADKEY;
	case DNS_TSIG_BADSIG:
		return DNS_TSIG_ERROR_BADSIG;
	case DNS_TSIG_BADTIME:
		return DNS_TSIG_ERROR_BADTIME;
	case DNS_TSIG_BADTRUNC:
		return DNS_TSIG_ERROR_BADTRUNC;
	case DNS_TSIG_OK:
	case DNS_TSIG_PENDING:
	case DNS_TSIG_UNSIGNED:
	case DNS_TSIG_MALFORMED:
	case DNS_TSIG_REJECTED:
		break;
	}
	return DNS_TSIG_ERROR_NONE;
}

struct dns_tsig_report dns_tsig_verify_request(struct dns_tsig *tsig,
					       const struct dns_tsig_key *keys, size_t n_keys,
					       const uint8_t *msg, size_t len, uint64_t now_s)
{
	struct dns_tsig_report report = { .result = DNS_TSIG_MALFORMED, .len = len };
	struct dns_tsig_record record;
	assert(tsig->key == NULL && tsig->mac_n == 0 && tsig->running.state == NULL);
	int found = dns_tsig_record_find(msg, len, &record);
	if (found <= 0) {
		report.result = found == 0 ? DNS_TSIG_UNSIGNED : DNS_TSIG_MALFORMED;
		return report;
	}
	report.len = record.start;
	memcpy(tsig->name, record.name, dns_name_len(record.name));
	memcpy(tsig->algorithm, record.algorithm, dns_name_len(record.algorithm));
	tsig->has_request = true;
	tsig->request_time_s = record.time_s;
	tsig->request_fudge = record.fudge;
	/* Servers that do not know each other may use one name, and a rotation may keep it. */
	const struct dns_tsig_key *key;
	report.result = DNS_TSIG_BADKEY;
	for (size_t at = 0;
	     is_unfit(report.result) && (key = next_key(keys, n_keys, &at, &record)) != NULL;) {
		tsig->key = key;
		report.result = tsig_mac_check(tsig, msg, &record, now_s);
	}
	report.authentic = report.result == DNS_TSIG_OK;
	tsig->error = error_of(report.result);
	return report;
}

int dns_tsig_sign_answer(struct dns_tsig *tsig, uint8_t *msg, size_t len, size_t cap,
			 uint64_t now_s)
{
	struct dns_tsig_record record = { .time_s = now_s,
					  .fudge = tsig->request_fudge,
					  .error = (uint16_t)tsig->error };
	uint8_t server_time[DNS_TSIG_TIME_BYTES];
	assert(tsig->has_request && len >= DNS_HEADER_BYTES);
	memcpy(record.name, tsig->name, dns_name_len(tsig->name));
	memcpy(record.algorithm, tsig->algorithm, dns_name_len(tsig->algorithm));
	if (tsig->error == DNS_TSIG_ERROR_BADTIME) {
		/* The client's own time, which it will accept, and ours beside it. */
		record.time_s = tsig->request_time_s;
		dns_tsig_record_put_time(server_time, now_s);
		record.other = server_time;
		record.other_n = sizeof(server_time);
	}
	if (tsig->error == DNS_TSIG_ERROR_BADKEY || tsig->error == DNS_TSIG_ERROR_BADSIG) {
		record.original_id = dns_get16(msg);
		return dns_tsig_record_append(msg, len, cap, &record);
	}
	int r = tsig_mac_append(tsig, msg, len, cap, &record);
	if (r >= 0)
		tsig->answered = true;
	return r;
}

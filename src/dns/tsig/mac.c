/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the MAC of a message covers, computed for signing and for verifying. */
#include "dns/tsig/mac_priv.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/secret.h"
#include "dns/request.h"
#include "dns/types.h"

/* ---- the digest's parts (RFC 8945 section 4.3) ---- */

static void digest16(struct hmac *hmac, uint16_t value)
{
	uint8_t bytes[2];
	dns_put16(bytes, value);
	hmac_add(hmac, bytes, sizeof(bytes));
}

/* Begins with the MAC that this message is chained to; a request has none. */
static void begin_digest(struct dns_tsig *tsig)
{
	if (tsig->running.state != NULL)
		return;
	assert(tsig->n_unsigned == 0);
	hmac_start(&tsig->running, tsig->key->algorithm->hmac, secret_slice(&tsig->key->secret));
	if (tsig->mac_n == 0)
		return;
	digest16(&tsig->running, tsig->mac_n);
	hmac_add(&tsig->running, tsig->mac, tsig->mac_n);
}

static void digest_names(struct hmac *hmac, const struct dns_tsig_record *record)
{
	static const uint8_t class_and_ttl[6] = { 0, DNS_CLASS_ANY };
	hmac_add(hmac, record->name, dns_name_len(record->name));
	hmac_add(hmac, class_and_ttl, sizeof(class_and_ttl));
	hmac_add(hmac, record->algorithm, dns_name_len(record->algorithm));
}

static void digest_time(struct hmac *hmac, const struct dns_tsig_record *record)
{
	uint8_t time[DNS_TSIG_TIME_BYTES];
	dns_tsig_record_put_time(time, record->time_s);
	hmac_add(hmac, time, sizeof(time));
	digest16(hmac, record->fudge);
}

/* The MAC of the message msg[len] without its record: `n_additional` is what its header counted
 * before the record was appended. */
static void compute_mac(struct dns_tsig *tsig, const uint8_t *msg, size_t len,
			uint16_t n_additional, const struct dns_tsig_record *record,
			uint8_t out[HMAC_MAX_BYTES])
{
	uint8_t header[DNS_HEADER_BYTES];
	memcpy(header, msg, sizeof(header));
	dns_put16(header, record->original_id);
	dns_put16(header + 10, n_additional);
	begin_digest(tsig);
	hmac_add(&tsig->running, header, sizeof(header));
	hmac_add(&tsig->running, msg + sizeof(header), len - sizeof(header));
	if (!tsig->answered)
		digest_names(&tsig->running, record);
	digest_time(&tsig->running, record);
	if (!tsig->answered) {
		digest16(&tsig->running, record->error);
		digest16(&tsig->running, record->other_n);
		hmac_add(&tsig->running, record->other, record->other_n);
	}
	hmac_end(&tsig->running, out);
}

/* The next message is chained to this one. */
static void chain_mac(struct dns_tsig *tsig, const uint8_t *mac, size_t mac_n)
{
	assert(mac_n <= sizeof(tsig->mac));
	memcpy(tsig->mac, mac, mac_n);
	tsig->mac_n = (uint8_t)mac_n;
	tsig->n_unsigned = 0;
}

/* ---- signing and verifying ---- */

int tsig_mac_append(struct dns_tsig *tsig, uint8_t *msg, size_t len, size_t cap,
		    struct dns_tsig_record *record)
{
	uint8_t mac[HMAC_MAX_BYTES];
	record->original_id = dns_get16(msg);
	compute_mac(tsig, msg, len, dns_get16(msg + 10), record, mac);
	record->mac = mac;
	record->mac_n = tsig->key->mac_bytes;
	int r = dns_tsig_record_append(msg, len, cap, record);
	if (r >= 0)
		chain_mac(tsig, mac, record->mac_n);
	return r;
}

static bool is_in_time(const struct dns_tsig_record *record, uint64_t now_s)
{
	uint64_t off = now_s > record->time_s ? now_s - record->time_s : record->time_s - now_s;
	return off <= record->fudge;
}

enum dns_tsig_result tsig_mac_check(struct dns_tsig *tsig, const uint8_t *msg,
				    const struct dns_tsig_record *record, uint64_t now_s)
{
	uint8_t mac[HMAC_MAX_BYTES];
	if (!dns_tsig_key_allows(tsig->key, record->mac_n))
		return DNS_TSIG_MALFORMED;
	compute_mac(tsig, msg, record->start, (uint16_t)(dns_get16(msg + 10) - 1), record, mac);
	if (!secret_same_bytes(mac, record->mac, record->mac_n))
		return DNS_TSIG_BADSIG;
	chain_mac(tsig, record->mac, record->mac_n);
	if (!is_in_time(record, now_s))
		return DNS_TSIG_BADTIME;
	return record->mac_n < tsig->key->mac_bytes ? DNS_TSIG_BADTRUNC : DNS_TSIG_OK;
}

enum dns_tsig_result tsig_mac_pass(struct dns_tsig *tsig, const uint8_t *msg, size_t len)
{
	if (!tsig->answered || tsig->n_unsigned == DNS_TSIG_UNSIGNED_MAX)
		return DNS_TSIG_UNSIGNED;
	begin_digest(tsig);
	hmac_add(&tsig->running, msg, len);
	tsig->n_unsigned++;
	return DNS_TSIG_PENDING;
}

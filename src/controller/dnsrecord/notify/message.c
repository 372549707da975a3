/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading NOTIFYs, and making their answers. */
#include "controller/dnsrecord/notify/message.h"

#include <assert.h>
#include <string.h>

#include "dns/tsig/server.h"
#include "dns/types.h"

static uint8_t judge_request(const struct dns_request *request, enum dns_admit admit)
{
	if (admit == DNS_ADMIT_NOTIMP)
		return DNS_RCODE_NOTIMP;
	if (admit != DNS_ADMIT_OK)
		return DNS_RCODE_FORMERR;
	if (request->opcode != DNS_OPCODE_NOTIFY)
		return DNS_RCODE_REFUSED; /* this is no name server */
	if (request->qtype != DNS_TYPE_SOA)
		return DNS_RCODE_NOTIMP; /* other changes than those of a zone are not defined */
	return request->qclass == DNS_CLASS_IN ? DNS_RCODE_NOERROR : DNS_RCODE_NOTAUTH;
}

bool dnsrecord_notify_read(uint8_t *msg, size_t len, struct dnsrecord_notify *ret)
{
	enum dns_admit admit = dns_request_parse(msg, len, 0, &ret->request);
	if (admit == DNS_ADMIT_IGNORE)
		return false;
	ret->rcode = judge_request(&ret->request, admit);
	ret->zone[0] = '\0';
	if (ret->rcode == DNS_RCODE_NOERROR) {
		size_t n = dns_name_to_text(ret->request.qname, true, ret->zone);
		ret->zone[n - 1] = '\0';
	}
	return true;
}

/* The answer without its signature. */
static size_t write_answer(const struct dnsrecord_notify *notify, uint8_t rcode,
			   uint8_t out[DNSRECORD_NOTIFY_REPLY_MAX])
{
	const struct dns_request *request = &notify->request;
	uint16_t flags = (uint16_t)(DNS_FLAG_QR | request->opcode << 11 | rcode);
	size_t n;
	if (rcode == DNS_RCODE_NOERROR)
		flags |= DNS_FLAG_AA;
	if (request->question_len != 0) {
		n = dns_message_start(out, request->id, flags, request->msg + DNS_HEADER_BYTES,
				      request->question_len);
	} else {
		memset(out, 0, DNS_HEADER_BYTES);
		dns_put16(out, request->id);
		dns_put16(out + 2, flags);
		n = DNS_HEADER_BYTES;
	}
	if (request->opt.present)
		n = dns_message_add_opt(
			out, n,
			&(struct dns_opt){ .present = true, .udp_size = DNSRECORD_NOTIFY_MAX });
	return n;
}

static enum dnsrecord_notify_result judge_signature(enum dns_tsig_result result, uint8_t *rcode)
{
	switch (result) {
	case DNS_TSIG_OK:
	case DNS_TSIG_UNSIGNED:
		return DNSRECORD_NOTIFY_ACCEPTED;
	case DNS_TSIG_BADKEY: /* RFC 8945 section 5.2.1 */
		*rcode = DNS_RCODE_NOTAUTH;
		return DNSRECORD_NOTIFY_ACCEPTED;
	case DNS_TSIG_BADSIG:
	case DNS_TSIG_BADTIME:
	case DNS_TSIG_BADTRUNC:
		*rcode = DNS_RCODE_NOTAUTH;
		return DNSRECORD_NOTIFY_BAD_SIGNATURE;
	case DNS_TSIG_MALFORMED:
	case DNS_TSIG_PENDING:
	case DNS_TSIG_REJECTED:
		break;
	}
	*rcode = DNS_RCODE_FORMERR;
	return DNSRECORD_NOTIFY_REFUSED;
}

enum dnsrecord_notify_result dnsrecord_notify_answer(const struct dnsrecord_notify *notify,
						     const struct dnsrecord_notify_zone *zone,
						     uint8_t out[DNSRECORD_NOTIFY_REPLY_MAX],
						     size_t *ret_len)
{
	CLEANUP(dns_tsig_done) struct dns_tsig tsig = { 0 };
	uint8_t rcode = notify->rcode;
	if (rcode != DNS_RCODE_NOERROR) {
		*ret_len = write_answer(notify, rcode, out);
		return DNSRECORD_NOTIFY_REFUSED;
	}
	struct dns_tsig_report report =
		dns_tsig_verify_request(&tsig, zone->keys, zone->n_keys, notify->request.msg,
					notify->request.len, zone->now_s);
	enum dnsrecord_notify_result result = judge_signature(report.result, &rcode);
	if (result == DNSRECORD_NOTIFY_ACCEPTED && !zone->is_ours) {
		result = DNSRECORD_NOTIFY_UNKNOWN_ZONE;
		rcode = DNS_RCODE_NOTAUTH; /* as other servers answer */
	}
	*ret_len = write_answer(notify, rcode, out);
	if (result != DNSRECORD_NOTIFY_REFUSED && report.result != DNS_TSIG_UNSIGNED) {
		int n = dns_tsig_sign_answer(&tsig, out, *ret_len, DNSRECORD_NOTIFY_REPLY_MAX,
					     zone->now_s);
		if (n > 0) /* the algorithm's name of a key that is not known may be too long */
			*ret_len = (size_t)n;
	}
	return result;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk. dns_resp_from_wire has checked the message; bytes that do not fit end it all the same,
 * since a plugin may have changed them. */
#include "dns/rrwalk.h"

#include <string.h>

static size_t question_end(const struct dns_resp *resp)
{
	size_t at = DNS_HEADER_BYTES;
	for (unsigned n = dns_get16(resp->msg + 4); n > 0; n--) {
		int end = dns_name_skip(resp->msg, resp->msg_len, at);
		if (end < 0)
			return 0;
		at = (size_t)end + 4;
	}
	return at;
}

static void enter_section(struct dns_rrwalk *rrwalk, enum dns_section section)
{
	rrwalk->section = section;
	if (rrwalk->resp->msg != NULL)
		rrwalk->left = dns_get16(rrwalk->resp->msg + 6 + 2 * section);
	else
		rrwalk->next = rrwalk->resp->first[section];
}

void dns_rrwalk_init(struct dns_rrwalk *rrwalk, const struct dns_resp *resp)
{
	*rrwalk = (struct dns_rrwalk){ .resp = resp };
	if (resp->msg != NULL)
		rrwalk->at = question_end(resp);
	enter_section(rrwalk, DNS_ANSWER);
}

/* Reads the record at w->at. */
static bool read_wire(struct dns_rrwalk *rrwalk)
{
	const struct dns_resp *r = rrwalk->resp;
	if (rrwalk->at == 0)
		return false;
	int end = dns_name_skip(r->msg, r->msg_len, rrwalk->at);
	if (end < 0 || (size_t)end + 10 > r->msg_len)
		return false;
	const uint8_t *p = r->msg + end;
	rrwalk->of = rrwalk->section;
	rrwalk->start = rrwalk->at;
	rrwalk->type = dns_get16(p);
	rrwalk->cls = dns_get16(p + 2);
	rrwalk->ttl = dns_get32(p + 4);
	rrwalk->rdlen = dns_get16(p + 8);
	rrwalk->rdata = p + 10;
	rrwalk->at = rrwalk->end = (size_t)end + 10 + rrwalk->rdlen;
	rrwalk->left--;
	return rrwalk->end <= r->msg_len;
}

static bool read_open(struct dns_rrwalk *rrwalk)
{
	struct dns_rr *rr = rrwalk->next;
	rrwalk->rr = rr;
	rrwalk->of = rrwalk->section;
	rrwalk->type = rr->type;
	rrwalk->cls = rr->cls;
	rrwalk->ttl = rr->ttl;
	rrwalk->rdlen = rr->rdlen;
	rrwalk->rdata = rr->rdata;
	rrwalk->next = rr->next;
	return true;
}

bool dns_rrwalk_next(struct dns_rrwalk *rrwalk)
{
	bool wire = rrwalk->resp->msg != NULL;
	for (;;) {
		if (wire ? rrwalk->left > 0 : rrwalk->next != NULL) {
			if (!(wire ? read_wire(rrwalk) : read_open(rrwalk)))
				return false;
			if (wire && rrwalk->type == DNS_TYPE_OPT && rrwalk->of == DNS_ADDITIONAL)
				continue;
			return true;
		}
		if (rrwalk->section == DNS_ADDITIONAL)
			return false;
		enter_section(rrwalk, (enum dns_section)(rrwalk->section + 1));
	}
}

int dns_rrwalk_owner(const struct dns_rrwalk *rrwalk, uint8_t ret[DNS_NAME_MAX])
{
	if (rrwalk->rr != NULL) {
		memcpy(ret, rrwalk->rr->owner, rrwalk->rr->owner_len);
		return rrwalk->rr->owner_len;
	}
	int r = dns_name_unpack(rrwalk->resp->msg, rrwalk->resp->msg_len, rrwalk->start, ret);
	return r < 0 ? r : (int)dns_name_len(ret);
}

/* The walk. dns_resp_from_wire has checked the message; bytes that do not fit end it all the same,
 * since somebody may have changed them. */
#include "dns/rrwalk.h"

#include <string.h>

static size_t question_end(const struct dns_resp *r)
{
	size_t at = DNS_HEADER_BYTES;
	for (unsigned n = dns_get16(r->msg + 4); n > 0; n--) {
		int end = dns_name_skip(r->msg, r->msg_len, at);
		if (end < 0)
			return 0;
		at = (size_t)end + 4;
	}
	return at;
}

static void enter(struct dns_rrwalk *w, enum dns_section s)
{
	w->section = s;
	if (w->resp->msg != NULL)
		w->left = dns_get16(w->resp->msg + 6 + 2 * s);
	else
		w->next = w->resp->first[s];
}

void dns_rrwalk_init(struct dns_rrwalk *w, const struct dns_resp *resp)
{
	*w = (struct dns_rrwalk){ .resp = resp };
	if (resp->msg != NULL)
		w->at = question_end(resp);
	enter(w, DNS_ANSWER);
}

/* Reads the record at w->at. */
static bool read_wire(struct dns_rrwalk *w)
{
	const struct dns_resp *r = w->resp;
	if (w->at == 0)
		return false;
	int end = dns_name_skip(r->msg, r->msg_len, w->at);
	if (end < 0 || (size_t)end + 10 > r->msg_len)
		return false;
	const uint8_t *p = r->msg + end;
	w->of = w->section;
	w->start = w->at;
	w->type = dns_get16(p);
	w->cls = dns_get16(p + 2);
	w->ttl = dns_get32(p + 4);
	w->rdlen = dns_get16(p + 8);
	w->rdata = p + 10;
	w->at = w->end = (size_t)end + 10 + w->rdlen;
	w->left--;
	return w->end <= r->msg_len;
}

static bool read_open(struct dns_rrwalk *w)
{
	struct dns_rr *rr = w->next;
	w->rr = rr;
	w->of = w->section;
	w->type = rr->type;
	w->cls = rr->cls;
	w->ttl = rr->ttl;
	w->rdlen = rr->rdlen;
	w->rdata = rr->rdata;
	w->next = rr->next;
	return true;
}

bool dns_rrwalk_next(struct dns_rrwalk *w)
{
	bool wire = w->resp->msg != NULL;
	for (;;) {
		if (wire ? w->left > 0 : w->next != NULL) {
			if (!(wire ? read_wire(w) : read_open(w)))
				return false;
			if (wire && w->type == DNS_TYPE_OPT && w->of == DNS_ADDITIONAL)
				continue;
			return true;
		}
		if (w->section == DNS_ADDITIONAL)
			return false;
		enter(w, (enum dns_section)(w->section + 1));
	}
}

int dns_rrwalk_owner(const struct dns_rrwalk *w, uint8_t ret[DNS_NAME_MAX])
{
	if (w->rr != NULL) {
		memcpy(ret, w->rr->owner, w->rr->owner_len);
		return w->rr->owner_len;
	}
	int r = dns_name_unpack(w->resp->msg, w->resp->msg_len, w->start, ret);
	return r < 0 ? r : (int)dns_name_len(ret);
}

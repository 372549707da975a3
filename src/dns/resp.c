/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building and editing a response in its open form, and its EDNS options. */
#include "dns/resp.h"

#include <string.h>

#include "base/err.h"

enum { EDNS_CODE_EDE = 15, OWN_OPT_UDP_SIZE = 4096 };

void dns_resp_reply(struct dns_resp *resp, const struct dns_request *request)
{
	uint16_t keep = request->opcode == DNS_OPCODE_QUERY ? DNS_FLAG_RD | DNS_FLAG_CD : 0;
	*resp = (struct dns_resp){
		.flags = (uint16_t)(DNS_FLAG_QR | request->opcode << 11 | (request->flags & keep)),
	};
}

void dns_resp_link(struct dns_resp *resp, enum dns_section section, struct dns_rr *rr)
{
	rr->next = NULL;
	if (resp->last[section] != NULL)
		resp->last[section]->next = rr;
	else
		resp->first[section] = rr;
	resp->last[section] = rr;
	resp->count[section]++;
}

int dns_resp_add(struct dns_resp *resp, struct arena *arena, enum dns_section section,
		 const struct dns_rr *rr)
{
	struct dns_rr *copy = arena_memdup(arena, rr, sizeof(*rr));
	if (copy == NULL)
		return ERR_SPACE;
	if (copy->owner_len == 0)
		copy->owner_len = (uint8_t)dns_name_len(copy->owner);
	dns_resp_link(resp, section, copy);
	return 0;
}

void dns_resp_clear(struct dns_resp *resp, enum dns_section section)
{
	resp->first[section] = resp->last[section] = NULL;
	resp->count[section] = 0;
}

/* The size that travels with a message follows what is done to its OPT. */
static void adjust_full_size(struct dns_resp *resp, size_t add, size_t less)
{
	if (resp->msg != NULL && resp->full_size != 0)
		resp->full_size = (uint32_t)(resp->full_size + add - less);
}

void dns_resp_drop_options(struct dns_resp *resp)
{
	adjust_full_size(resp, 0, resp->options_len);
	resp->options = NULL;
	resp->options_len = 0;
}

void dns_resp_drop_opt(struct dns_resp *resp)
{
	if (!resp->has_opt)
		return;
	dns_resp_drop_options(resp);
	adjust_full_size(resp, 0, DNS_OPT_BYTES);
	resp->has_opt = resp->opt_do = false;
	resp->opt_z = 0;
}

int dns_resp_option(struct dns_resp *resp, struct arena *arena, uint16_t code, const void *data,
		    uint16_t number)
{
	size_t len = resp->options_len + 4U + number;
	if (len > UINT16_MAX)
		return ERR_SPACE;
	uint8_t *p = arena_alloc(arena, len);
	if (p == NULL)
		return ERR_SPACE;
	if (resp->options_len != 0)
		memcpy(p, resp->options, resp->options_len);
	dns_put16(p + resp->options_len, code);
	dns_put16(p + resp->options_len + 2, number);
	if (number != 0)
		memcpy(p + resp->options_len + 4, data, number);
	adjust_full_size(resp, 4U + number + (resp->has_opt ? 0 : DNS_OPT_BYTES), 0);
	resp->options = p;
	resp->options_len = (uint16_t)len;
	if (!resp->has_opt) {
		resp->has_opt = true;
		resp->opt_udp_size = OWN_OPT_UDP_SIZE;
	}
	return 0;
}

int dns_resp_ede(struct dns_resp *resp, struct arena *arena, uint16_t info, struct slice text)
{
	enum { EDE_TEXT_MAX = 512 };
	uint8_t data[2 + EDE_TEXT_MAX];
	size_t n = MIN(text.n, (size_t)EDE_TEXT_MAX);
	dns_put16(data, info);
	if (n != 0)
		memcpy(data + 2, text.p, n);
	int r = dns_resp_option(resp, arena, EDNS_CODE_EDE, data, (uint16_t)(2 + n));
	if (r == 0)
		resp->opt_do = true; /* as CoreDNS's SetEdns0(4096, true) */
	return r;
}

static int own_rr(struct dns_rr *rr, struct arena *arena)
{
	rr->owner = arena_memdup(arena, rr->owner, rr->owner_len);
	rr->rdata = arena_memdup(arena, rr->rdata, rr->rdlen);
	return rr->owner == NULL || rr->rdata == NULL ? ERR_SPACE : 0;
}

static int own_options(struct dns_resp *resp, struct arena *arena)
{
	if (resp->options_len == 0)
		return 0;
	uint8_t *copy = arena_memdup(arena, resp->options, resp->options_len);
	if (copy == NULL)
		return ERR_SPACE;
	resp->options = copy;
	return 0;
}

int dns_resp_own(struct dns_resp *resp, struct arena *arena)
{
	if (resp->msg != NULL) {
		uint8_t *copy = arena_memdup(arena, resp->msg, resp->msg_len);
		if (copy == NULL)
			return ERR_SPACE;
		resp->msg = copy;
		return own_options(resp, arena);
	}
	for (int s = 0; s < DNS_SECTIONS; s++) {
		struct dns_rr *rr = resp->first[s];
		resp->first[s] = resp->last[s] = NULL;
		resp->count[s] = 0;
		while (rr != NULL) {
			struct dns_rr *next = rr->next;
			struct dns_rr *copy = arena_memdup(arena, rr, sizeof(*rr));
			if (copy == NULL || own_rr(copy, arena) < 0)
				return ERR_SPACE;
			dns_resp_link(resp, (enum dns_section)s, copy);
			rr = next;
		}
	}
	return own_options(resp, arena);
}

size_t dns_resp_size(const struct dns_resp *resp, size_t question_len)
{
	if (resp->msg != NULL)
		return resp->full_size != 0 ? resp->full_size : resp->msg_len;
	size_t n = DNS_HEADER_BYTES + question_len;
	for (int s = 0; s < DNS_SECTIONS; s++) {
		for (const struct dns_rr *rr = resp->first[s]; rr != NULL; rr = rr->next)
			n += rr->owner_len + 10U + rr->rdlen;
	}
	return n + (resp->has_opt ? DNS_OPT_BYTES + (size_t)resp->options_len : 0);
}

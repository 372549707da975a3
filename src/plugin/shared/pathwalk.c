/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks a search path by sub-queries, one element after the other, until one exists. */
#include "plugin/shared/pathwalk.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "dns/rrwalk.h"

static const uint16_t probes[] = { DNS_TYPE_A, DNS_TYPE_AAAA };

static enum pathwalk_end fail_walk(struct query *q, uint16_t rcode, const char *err)
{
	IGNORE(query_fail(q, rcode, err));
	return PATHWALK_FAILED;
}

static enum pathwalk_end no_memory(struct query *q)
{
	return fail_walk(q, DNS_RCODE_SERVFAIL, "out of query memory");
}

/* Asks for the element that the walk is at; the name was seen to fit. */
static enum pathwalk_end ask_element(struct plugin_inst *self, struct query *q,
				     const struct pathwalk *pathwalk, uint16_t type)
{
	uint8_t name[DNS_NAME_MAX];
	const uint8_t *suffix = pathwalk->path.v[pathwalk->at];
	assert(pathwalk->at < pathwalk->path.n &&
	       pathwalk->base + dns_name_len(suffix) <= DNS_NAME_MAX);
	memcpy(name, q->req.qname, pathwalk->base);
	memcpy(name + pathwalk->base, suffix, dns_name_len(suffix));
	if (query_sub(q, self, pathwalk->kind, name, type) < 0)
		return fail_walk(q, DNS_RCODE_SERVFAIL, "search path: too many look-ups");
	return PATHWALK_WAITS;
}

enum pathwalk_end pathwalk_next(struct plugin_inst *self, struct query *q,
				struct pathwalk *pathwalk)
{
	pathwalk->probe = 0;
	for (; pathwalk->at < pathwalk->path.n; pathwalk->at++) {
		if (pathwalk->base + dns_name_len(pathwalk->path.v[pathwalk->at]) <= DNS_NAME_MAX)
			return ask_element(self, q, pathwalk, q->req.qtype);
	}
	return PATHWALK_NOTHING;
}

/* In front of the first record of another owner than the name asked: a CNAME to it. */
static int put_cname(struct query *q, struct dns_resp *resp)
{
	struct dns_rrwalk w;
	uint8_t name[DNS_NAME_MAX];
	dns_rrwalk_init(&w, resp);
	for (;;) {
		if (!dns_rrwalk_next(&w) || w.of != DNS_ANSWER)
			return 0;
		if (dns_rrwalk_owner(&w, name) < 0)
			return ERR_PARSE;
		if (!dns_name_eq(name, q->req.qname))
			break;
	}
	struct dns_rr *rr = arena_alloc(&q->arena, sizeof(*rr));
	size_t n = dns_name_len(name);
	uint8_t *target = arena_memdup(&q->arena, name, n);
	if (rr == NULL || target == NULL || dns_resp_thaw(resp, &q->arena) < 0)
		return ERR_SPACE;
	*rr = (struct dns_rr){
		.next = resp->first[DNS_ANSWER],
		.owner = q->req.qname,
		.owner_len = (uint8_t)dns_name_len(q->req.qname),
		.type = DNS_TYPE_CNAME,
		.cls = DNS_CLASS_IN,
		.ttl = w.ttl,
		.rdata = target,
		.rdlen = (uint16_t)n,
	};
	resp->first[DNS_ANSWER] = rr;
	resp->count[DNS_ANSWER]++;
	return 0;
}

/* The server completed the reply with an OPT for the client; that is done again for ours. */
static void take_reply(struct query *sub)
{
	if (!sub->written || sub->own_opt)
		return;
	sub->resp.has_opt = sub->resp.opt_do = false;
	sub->resp.options = NULL;
	sub->resp.options_len = 0;
	sub->resp.opt_z = 0;
}

/* It may be sent after all, when others were waited for. */
static int keep_reply(struct query *q, struct pathwalk *pathwalk, struct query *sub)
{
	pathwalk->here = sub;
	if (pathwalk->first == NULL)
		pathwalk->first = sub;
	return sub->outcome == V_ANSWERED ? dns_resp_own(&sub->resp, &q->arena) : 0;
}

static bool is_code(const struct query *sub, uint16_t rcode)
{
	return sub->outcome == V_ANSWERED && sub->resp.rcode == rcode;
}

/* Does a reply of this kind end the walk as a failure? */
static bool is_failure(const struct pathwalk *pathwalk, const struct query *sub)
{
	if (!pathwalk->strict)
		return pathwalk->probe == 0 && sub->outcome == V_FAIL && sub->err != NULL;
	return !is_code(sub, DNS_RCODE_NOERROR) && !is_code(sub, DNS_RCODE_NXDOMAIN);
}

static enum pathwalk_end fail_like(struct query *q, const struct query *sub)
{
	if (sub->outcome == V_FAIL)
		return fail_walk(q, sub->rcode, sub->err);
	return fail_walk(q, sub->outcome == V_ANSWERED ? sub->resp.rcode : DNS_RCODE_SERVFAIL,
			 NULL);
}

static bool has_name(const struct pathwalk *pathwalk, const struct query *sub)
{
	if (pathwalk->strict)
		return is_code(sub, DNS_RCODE_NOERROR) && sub->resp.count[DNS_ANSWER] != 0;
	if (pathwalk->probe != 0)
		return is_code(sub, DNS_RCODE_NOERROR);
	return sub->outcome == V_ANSWERED && sub->resp.rcode != DNS_RCODE_NXDOMAIN;
}

/* The next type to look for at this element, as a number of `probes` plus one; 0: none. */
static unsigned next_probe(const struct query *q, const struct pathwalk *pathwalk)
{
	bool address = q->req.qtype == DNS_TYPE_A || q->req.qtype == DNS_TYPE_AAAA;
	/* Behind the last element there is nothing to keep the types from. */
	if (pathwalk->at + 1 == pathwalk->path.n || (!pathwalk->strict && !address) ||
	    pathwalk->here->outcome != V_ANSWERED)
		return 0;
	for (unsigned i = pathwalk->probe; i < ARRAY_LEN(probes); i++) {
		if (probes[i] != q->req.qtype)
			return i + 1;
	}
	return 0;
}

static enum pathwalk_end leave_element(struct plugin_inst *self, struct query *q,
				       struct pathwalk *pathwalk)
{
	pathwalk->probe = next_probe(q, pathwalk);
	if (pathwalk->probe != 0)
		return ask_element(self, q, pathwalk, probes[pathwalk->probe - 1]);
	if (pathwalk->strict && pathwalk->at + 1 == pathwalk->path.n)
		pathwalk->bare_is_empty = is_code(pathwalk->here, DNS_RCODE_NOERROR);
	pathwalk->at++;
	return pathwalk_next(self, q, pathwalk);
}

enum pathwalk_end pathwalk_resume(struct plugin_inst *self, struct query *q,
				  struct pathwalk *pathwalk)
{
	struct query *sub = q->sub;
	if (is_failure(pathwalk, sub))
		return fail_like(q, sub);
	take_reply(sub);
	bool found = has_name(pathwalk, sub);
	if (pathwalk->probe != 0)
		return found ? PATHWALK_THERE : leave_element(self, q, pathwalk);
	if ((found ? put_cname(q, &sub->resp) : keep_reply(q, pathwalk, sub)) < 0)
		return no_memory(q);
	if (!found)
		return leave_element(self, q, pathwalk);
	q->resp = sub->resp;
	return PATHWALK_FOUND;
}

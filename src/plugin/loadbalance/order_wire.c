/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orders of a reply that is a message (from a cache or an upstream): the address records of a
 * section change places byte by byte, and the message needs not be opened. That works where they
 * stand together behind the others, all of one size with an owner that is a pointer, and nothing
 * that follows points at them. Messages as servers make them are so nearly always. */
#include "plugin/loadbalance/order_wire.h"

#include <assert.h>
#include <string.h>

#include "dns/rrwalk.h"
#include "plugin/loadbalance/order.h"

enum { A_BYTES = 2 + 10 + 4, AAAA_BYTES = 2 + 10 + 16 };

/* The address records of one section. */
struct run {
	uint8_t *at;
	size_t size; /* of each */
	unsigned n;
	unsigned n_mail;
	unsigned rank;	/* of the record last seen */
	bool scattered; /* other records stand between or behind them */
	bool odd;	/* they are not alike */
};

struct plan {
	struct run of[DNS_SECTIONS];
};

/* The order of groups: CNAME, others, addresses, MX. */
static unsigned rank_of(uint16_t type)
{
	switch (type) {
	case DNS_TYPE_CNAME:
		return 0;
	case DNS_TYPE_A:
	case DNS_TYPE_AAAA:
		return 2;
	case DNS_TYPE_MX:
		return 3;
	default:
		return 1;
	}
}

static void add_address(struct run *run, uint8_t *msg, const struct dns_rrwalk *rrwalk)
{
	uint8_t *p = msg + rrwalk->start;
	size_t size = rrwalk->end - rrwalk->start;
	if (run->n == 0) {
		run->at = p;
		run->size = size;
	}
	/* An owner in one of them must not lead to another of them. */
	run->odd |= size != (rrwalk->type == DNS_TYPE_A ? A_BYTES : AAAA_BYTES) ||
		    size != run->size || p != run->at + run->n * size || (p[0] & 0xc0) != 0xc0 ||
		    (dns_get16(p) & 0x3fff) >= run->at - msg;
	run->n++;
}

/* The usual hit, without a walk: addresses of one type in the answer, and nothing else but OPT. */
static bool find_plain_run(struct run *run, const struct dns_resp *resp)
{
	if ((resp->count[DNS_AUTHORITY] | resp->count[DNS_ADDITIONAL]) != 0 ||
	    dns_get16(resp->msg + 4) != 1)
		return false;
	int end = dns_name_skip(resp->msg, resp->msg_len, DNS_HEADER_BYTES);
	size_t start = (size_t)end + 4, n = resp->count[DNS_ANSWER];
	if (end < 0 || start + n * A_BYTES > resp->msg_len)
		return false;
	uint8_t *p = resp->msg + start;
	uint16_t type = dns_get16(p + 2);
	size_t size = type == DNS_TYPE_A ? A_BYTES : AAAA_BYTES;
	if ((type != DNS_TYPE_A && type != DNS_TYPE_AAAA) || start + n * size > resp->msg_len)
		return false;
	for (size_t i = 0; i < n; i++, p += size) {
		unsigned owner = dns_get16(p);
		if (owner < 0xc000 || (owner & 0x3fff) >= start || dns_get16(p + 2) != type ||
		    dns_get16(p + 10) != size - 12)
			return false;
	}
	run->at = resp->msg + start;
	run->size = size;
	run->n = (unsigned)n;
	return true;
}

static void plan_sections(struct plan *plan, const struct dns_resp *resp)
{
	struct dns_rrwalk w;
	memset(plan, 0, sizeof(*plan));
	dns_rrwalk_init(&w, resp);
	while (dns_rrwalk_next(&w)) {
		struct run *r = &plan->of[w.of];
		unsigned rank = rank_of(w.type);
		r->scattered |= rank < r->rank;
		r->rank = rank;
		r->n_mail += rank == 3;
		if (rank == 2)
			add_address(r, resp->msg, &w);
	}
}

/* Could a name behind the run begin or go on inside of it? Any two bytes that look like a pointer
 * there count. */
static bool pointed_at(const struct run *run, const struct dns_resp *resp)
{
	const uint8_t *from = run->at + run->n * run->size;
	const uint8_t *last = resp->msg + resp->msg_len - 1;
	size_t start = (size_t)(run->at - resp->msg), end = (size_t)(from - resp->msg);
	for (const uint8_t *p = from; p < last; p++) {
		size_t to = dns_get16(p) & 0x3fff;
		if (p[0] >= 0xc0 && to >= start && to < end)
			return true;
	}
	return false;
}

/* A single one that is not alike stays where it is. */
static bool is_movable(const struct run *run, const struct dns_resp *resp)
{
	return !run->scattered && (run->n < 2 || (!run->odd && !pointed_at(run, resp)));
}

static void exchange_bytes(uint8_t *left, uint8_t *right, size_t len)
{
	uint8_t tmp[AAAA_BYTES];
	memcpy(tmp, left, len);
	memcpy(left, right, len);
	memcpy(right, tmp, len);
}

static void swap_records(const struct run *run, size_t left, size_t right)
{
	uint8_t *a = run->at + left * run->size, *b = run->at + right * run->size;
	if (left == right)
		return;
	if (run->size == A_BYTES) { /* known at compile time: no calls */
		exchange_bytes(a, b, A_BYTES);
	} else {
		assert(run->size == AAAA_BYTES); /* others are odd, and are not moved */
		exchange_bytes(a, b, AAAA_BYTES);
	}
}

static void shuffle_run(const struct loadbalance_job *job, const struct run *run)
{
	for (size_t i = 0; i + 1 < run->n; i++)
		swap_records(run, i, i + rng_below(job->rng, (uint32_t)(run->n - i)));
}

bool loadbalance_shuffle_wire(const struct loadbalance_job *job)
{
	struct run plain;
	struct plan p;
	if (LIKELY(find_plain_run(&plain, job->resp))) {
		shuffle_run(job, &plain);
		return true;
	}
	plan_sections(&p, job->resp);
	for (int s = 0; s < DNS_SECTIONS; s++) {
		if (job->resp->count[s] > 1 &&
		    (p.of[s].n_mail > 1 || !is_movable(&p.of[s], job->resp)))
			return false;
	}
	for (int s = 0; s < DNS_SECTIONS; s++)
		shuffle_run(job, &p.of[s]);
	return true;
}

/* ---- by weight ---- */

/* The record at a place of the run, with its owner in `owner`. */
static unsigned weight_at(const struct loadbalance_weights *weights,
			  const struct loadbalance_job *job, const struct run *run, size_t index)
{
	uint8_t owner[DNS_NAME_MAX];
	const uint8_t *p = run->at + index * run->size;
	struct dns_rr rr = { .owner = owner, .type = dns_get16(p + 2), .rdata = p + 12 };
	rr.rdlen = (uint16_t)(run->size - 12);
	if (weights == NULL || dns_name_unpack(job->resp->msg, job->resp->msg_len,
					       (size_t)(p - job->resp->msg), owner) < 0)
		return 1;
	return loadbalance_record_weight(weights, &rr);
}

static size_t choose_record(const struct loadbalance_weights *weights,
			    const struct loadbalance_job *job, const struct run *run)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < run->n; i++)
		sum += weight_at(weights, job, run, i);
	uint32_t left = rng_below(job->rng, sum);
	for (size_t i = 0; i < run->n; i++) {
		unsigned weight = weight_at(weights, job, run, i);
		if (left < weight)
			return i;
		left -= weight;
	}
	return 0;
}

bool loadbalance_weigh_wire(const struct loadbalance_job *job,
			    const struct loadbalance_weights *weights)
{
	static const enum dns_section sections[] = { DNS_ANSWER, DNS_ADDITIONAL };
	struct plan p;
	plan_sections(&p, job->resp);
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		const struct run *r = &p.of[sections[i]];
		if (job->resp->count[sections[i]] > 1 && r->n != 0 &&
		    (r->odd || !is_movable(r, job->resp)))
			return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		const struct run *r = &p.of[sections[i]];
		if (job->resp->count[sections[i]] > 1 && r->n != 0)
			swap_records(r, 0, choose_record(weights, job, r));
	}
	return true;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and writes frames. */
#include "addrset/shared/agent_protocol.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"

#define MAGIC "fairlead"

enum {
	LENGTH_BYTES = 2,
	MAGIC_BYTES = sizeof(MAGIC) - 1,
	NUMBER_BYTES = 4,
	PAIR_HEAD_BYTES = ADDRSET_ID_BYTES + 4 + 1,
};

/* ---- reading ---- */

static uint32_t get_be(const char *at, size_t n_bytes)
{
	uint32_t value = 0;
	for (size_t i = 0; i < n_bytes; i++)
		value = value << 8 | (uint8_t)at[i];
	return value;
}

/* The reasons that travel; one that is not known is an error all the same. */
static const int results[] = { 0,	 ERR_INTERNAL, ERR_LIMIT, ERR_CLOSED,
			       ERR_BUSY, ERR_DENIED,   ERR_QUOTA };

static int read_hello(struct slice body, struct addrset_agent_frame *ret)
{
	if (body.n < MAGIC_BYTES + 2 || memcmp(body.p, MAGIC, MAGIC_BYTES) != 0)
		return ERR_PARSE;
	ret->version = (uint16_t)get_be(body.p + MAGIC_BYTES, 2);
	return ret->version != 0 ? 1 : ERR_PARSE;
}

static int read_result(struct slice body, struct addrset_agent_frame *ret)
{
	if (body.n != NUMBER_BYTES + 1)
		return ERR_PARSE;
	uint8_t reason = (uint8_t)body.p[NUMBER_BYTES];
	ret->number = get_be(body.p, NUMBER_BYTES);
	ret->result = reason < ARRAY_LEN(results) ? results[reason] : ERR_INTERNAL;
	return 1;
}

/* The bytes of the pair at the beginning; 0: it is not a pair. */
static size_t pair_bytes(struct slice rest)
{
	if (rest.n < PAIR_HEAD_BYTES)
		return 0;
	uint32_t wanted_ms = get_be(rest.p + ADDRSET_ID_BYTES, 4);
	size_t n_address = (uint8_t)rest.p[PAIR_HEAD_BYTES - 1];
	if ((n_address != 4 && n_address != 16) || rest.n < PAIR_HEAD_BYTES + n_address ||
	    wanted_ms > ADDRSET_AGENT_WANTED_MAX_MS)
		return 0;
	return PAIR_HEAD_BYTES + n_address;
}

static int read_pairs(struct slice pairs, struct addrset_agent_frame *ret)
{
	ret->pairs = pairs;
	ret->n_pairs = 0;
	for (struct slice rest = ret->pairs; rest.n != 0; ret->n_pairs++) {
		size_t n = pair_bytes(rest);
		if (n == 0 || ret->n_pairs == ADDRSET_AGENT_PAIRS_MAX)
			return ERR_PARSE;
		rest = slice_from(rest, n);
	}
	return ret->n_pairs != 0 ? 1 : ERR_PARSE;
}

static int read_add(struct slice body, struct addrset_agent_frame *ret)
{
	if (body.n < NUMBER_BYTES)
		return ERR_PARSE;
	ret->number = get_be(body.p, NUMBER_BYTES);
	return read_pairs(slice_from(body, NUMBER_BYTES), ret);
}

static int read_add_for(struct slice body, struct addrset_agent_frame *ret)
{
	enum { HEAD_BYTES = NUMBER_BYTES + 1 };
	if (body.n < HEAD_BYTES)
		return ERR_PARSE;
	size_t n = (uint8_t)body.p[NUMBER_BYTES];
	if (n == 0 || n > ADDRSET_AGENT_TENANT_MAX || body.n < HEAD_BYTES + n)
		return ERR_PARSE;
	ret->number = get_be(body.p, NUMBER_BYTES);
	ret->tenant = (struct slice){ body.p + HEAD_BYTES, n };
	return read_pairs(slice_from(body, HEAD_BYTES + n), ret);
}

static int read_probe(struct slice body, struct addrset_agent_frame *ret)
{
	if (body.n != NUMBER_BYTES)
		return ERR_PARSE;
	ret->number = get_be(body.p, NUMBER_BYTES);
	return 1;
}

static int read_forget(struct slice body, struct addrset_agent_frame *ret UNUSED)
{
	return body.n == 0 ? 1 : ERR_PARSE;
}

static int (*const readers[])(struct slice body, struct addrset_agent_frame *ret) = {
	[ADDRSET_AGENT_HELLO] = read_hello,   [ADDRSET_AGENT_ADD] = read_add,
	[ADDRSET_AGENT_RESULT] = read_result, [ADDRSET_AGENT_PROBE] = read_probe,
	[ADDRSET_AGENT_FORGET] = read_forget, [ADDRSET_AGENT_ADD_FOR] = read_add_for,
};

int addrset_agent_take(struct slice *rest, struct addrset_agent_frame *ret)
{
	if (rest->n < LENGTH_BYTES)
		return 0;
	size_t n = get_be(rest->p, LENGTH_BYTES);
	if (n == 0 || n > ADDRSET_AGENT_FRAME_MAX - LENGTH_BYTES)
		return ERR_PARSE;
	if (rest->n < LENGTH_BYTES + n)
		return 0;
	struct slice body = { rest->p + LENGTH_BYTES + 1, n - 1 };
	uint8_t kind = (uint8_t)rest->p[LENGTH_BYTES];
	if (kind >= ARRAY_LEN(readers) || readers[kind] == NULL)
		return ERR_PARSE;
	*ret = (struct addrset_agent_frame){ .kind = (enum addrset_agent_kind)kind };
	*rest = slice_from(*rest, LENGTH_BYTES + n);
	return readers[kind](body, ret);
}

void addrset_agent_pairs(const struct addrset_agent_frame *frame, uint64_t now_ns,
			 struct addrset_pair *ret)
{
	struct slice rest = frame->pairs;
	for (size_t i = 0; i < frame->n_pairs; i++) {
		size_t n = pair_bytes(rest);
		assert(n != 0); /* checked when the frame was taken */
		struct addrset_pair pair = { .address.n = (uint8_t)(n - PAIR_HEAD_BYTES) };
		memcpy(pair.name.bytes, rest.p, ADDRSET_ID_BYTES);
		memcpy(pair.address.bytes, rest.p + PAIR_HEAD_BYTES, pair.address.n);
		pair.until_ns = now_ns + get_be(rest.p + ADDRSET_ID_BYTES, 4) * NS_PER_MS;
		ret[i] = pair;
		rest = slice_from(rest, n);
	}
}

/* ---- writing ---- */

static void put_be(struct strbuf *out, uint32_t value, size_t n_bytes)
{
	for (size_t i = n_bytes; i-- > 0;)
		strbuf_addc(out, (char)(value >> (8 * i)));
}

static void put_head(struct strbuf *out, size_t n_body, enum addrset_agent_kind kind)
{
	assert(n_body + 1 + LENGTH_BYTES <= ADDRSET_AGENT_FRAME_MAX);
	put_be(out, (uint32_t)n_body + 1, LENGTH_BYTES);
	put_be(out, kind, 1);
}

void addrset_agent_put_hello(struct strbuf *out)
{
	put_head(out, MAGIC_BYTES + 2, ADDRSET_AGENT_HELLO);
	strbuf_add(out, MAGIC, MAGIC_BYTES);
	put_be(out, ADDRSET_AGENT_VERSION, 2);
}

void addrset_agent_put_result(struct strbuf *out, uint32_t number, int result)
{
	uint32_t reason = 0;
	while (reason < ARRAY_LEN(results) && results[reason] != result)
		reason++;
	put_head(out, NUMBER_BYTES + 1, ADDRSET_AGENT_RESULT);
	put_be(out, number, NUMBER_BYTES);
	put_be(out, reason < ARRAY_LEN(results) ? reason : 1, 1);
}

void addrset_agent_put_probe(struct strbuf *out, uint32_t number)
{
	put_head(out, NUMBER_BYTES, ADDRSET_AGENT_PROBE);
	put_be(out, number, NUMBER_BYTES);
}

/* Rounded up: a pair is in force at least as long as it was asked for. */
static uint32_t wanted_ms(const struct addrset_pair *pair, uint64_t now_ns)
{
	uint64_t left_ns = pair->until_ns > now_ns ? pair->until_ns - now_ns : 0;
	return (uint32_t)MIN((left_ns + NS_PER_MS - 1) / NS_PER_MS,
			     (uint64_t)ADDRSET_AGENT_WANTED_MAX_MS);
}

void addrset_agent_put_add(struct strbuf *out, uint32_t number, uint16_t version,
			   const struct addrset_request *request, uint64_t now_ns)
{
	const struct addrset_pair *pairs = request->pairs;
	struct slice tenant = request->tenant;
	bool has_tenant = version >= 2 && tenant.n != 0 && tenant.n <= ADDRSET_AGENT_TENANT_MAX;
	size_t n_body = NUMBER_BYTES + (has_tenant ? 1 + tenant.n : 0);
	assert(request->n_pairs > 0 && request->n_pairs <= ADDRSET_AGENT_PAIRS_MAX);
	for (size_t i = 0; i < request->n_pairs; i++)
		n_body += PAIR_HEAD_BYTES + pairs[i].address.n;
	put_head(out, n_body, has_tenant ? ADDRSET_AGENT_ADD_FOR : ADDRSET_AGENT_ADD);
	put_be(out, number, NUMBER_BYTES);
	if (has_tenant) {
		put_be(out, (uint32_t)tenant.n, 1);
		strbuf_add(out, tenant.p, tenant.n);
	}
	for (size_t i = 0; i < request->n_pairs; i++) {
		assert(pairs[i].address.n == 4 || pairs[i].address.n == 16);
		strbuf_add(out, pairs[i].name.bytes, ADDRSET_ID_BYTES);
		put_be(out, wanted_ms(&pairs[i], now_ns), 4);
		put_be(out, pairs[i].address.n, 1);
		strbuf_add(out, pairs[i].address.bytes, pairs[i].address.n);
	}
}

void addrset_agent_put_forget(struct strbuf *out)
{
	put_head(out, 0, ADDRSET_AGENT_FORGET);
}

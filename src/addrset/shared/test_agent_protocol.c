/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames between DNS servers and agents: there and back, in pieces, and malformed ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "addrset/shared/agent_protocol.h"
#include "base/clock.h"
#include "base/err.h"

#define NOW (5 * NS_PER_S)

static struct addrset_pair pair_of(const char *name, uint8_t n, uint8_t last, uint64_t wanted_ns)
{
	struct addrset_pair pair = { .name = addrset_id_of(slice_of(name)),
				     .address = { .n = n },
				     .until_ns = NOW + wanted_ns };
	pair.address.bytes[n - 1] = last;
	return pair;
}

static void assert_pair(const struct addrset_pair *got, const struct addrset_pair *sent)
{
	assert_memory_equal(&got->name, &sent->name, sizeof(got->name));
	assert_int_equal(got->address.n, sent->address.n);
	assert_memory_equal(got->address.bytes, sent->address.bytes, sizeof(got->address.bytes));
	assert_true(got->until_ns >= sent->until_ns);
	assert_true(got->until_ns < sent->until_ns + NS_PER_MS);
}

static void put_add(struct strbuf *out, uint32_t number, const struct addrset_pair *pairs, size_t n)
{
	struct addrset_request request = { .pairs = pairs, .n_pairs = n };
	addrset_agent_put_add(out, number, ADDRSET_AGENT_VERSION, &request, NOW);
}

static void add_there_and_back(void **state UNUSED)
{
	struct addrset_pair sent[] = { pair_of("example.com", 4, 1, 30 * NS_PER_S),
				       pair_of("*.example.com", 16, 2, 1) };
	struct addrset_pair got[2];
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct addrset_agent_frame frame;
	put_add(&out, 77, sent, 2);
	struct slice rest = strbuf_slice(&out);
	assert_int_equal(addrset_agent_take(&rest, &frame), 1);
	assert_int_equal(rest.n, 0);
	assert_int_equal(frame.kind, ADDRSET_AGENT_ADD);
	assert_int_equal(frame.number, 77);
	assert_int_equal(frame.n_pairs, 2);
	addrset_agent_pairs(&frame, NOW, got);
	assert_pair(&got[0], &sent[0]);
	assert_pair(&got[1], &sent[1]);
}

/* EF-P10: the namespace whose limits count. A peer of before does not know of it. */
static void tenant_there_and_back(void **state UNUSED)
{
	static const char longest[] =
		"n2345678901234567890123456789012345678901234567890123456789012x";
	struct addrset_pair sent = pair_of("example.com", 4, 1, 30 * NS_PER_S), got;
	struct addrset_request request = { .pairs = &sent,
					   .n_pairs = 1,
					   .tenant = slice_of(longest) };
	assert_int_equal(request.tenant.n, ADDRSET_AGENT_TENANT_MAX);
	for (unsigned version = 0; version <= ADDRSET_AGENT_VERSION; version++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		struct addrset_agent_frame frame;
		addrset_agent_put_add(&out, 77, (uint16_t)version, &request, NOW);
		struct slice rest = strbuf_slice(&out);
		assert_int_equal(addrset_agent_take(&rest, &frame), 1);
		assert_int_equal(rest.n, 0);
		assert_int_equal(frame.kind,
				 version < 2 ? ADDRSET_AGENT_ADD : ADDRSET_AGENT_ADD_FOR);
		assert_true(slice_eq(frame.tenant, version < 2 ? SLICE("") : request.tenant));
		assert_int_equal(frame.number, 77);
		assert_int_equal(frame.n_pairs, 1);
		addrset_agent_pairs(&frame, NOW, &got);
		assert_pair(&got, &sent);
	}
}

static void probe_there_and_back(void **state UNUSED)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct addrset_agent_frame frame;
	addrset_agent_put_probe(&out, 78);
	struct slice rest = strbuf_slice(&out);
	assert_int_equal(addrset_agent_take(&rest, &frame), 1);
	assert_int_equal(rest.n, 0);
	assert_int_equal(frame.kind, ADDRSET_AGENT_PROBE);
	assert_int_equal(frame.number, 78);
	rest = SLICE("\0\4\4\0\0\0");
	assert_int_equal(addrset_agent_take(&rest, &frame), ERR_PARSE);
}

static void forget_there_and_back(void **state UNUSED)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct addrset_agent_frame frame;
	addrset_agent_put_forget(&out);
	struct slice rest = strbuf_slice(&out);
	assert_int_equal(addrset_agent_take(&rest, &frame), 1);
	assert_int_equal(rest.n, 0);
	assert_int_equal(frame.kind, ADDRSET_AGENT_FORGET);
	rest = SLICE("\0\2\5\0");
	assert_int_equal(addrset_agent_take(&rest, &frame), ERR_PARSE);
}

/* The longest request fits into a frame; what is wanted for longer than a frame can say is cut. */
static void largest_request(void **state UNUSED)
{
	static struct addrset_pair pairs[ADDRSET_AGENT_PAIRS_MAX], got[ADDRSET_AGENT_PAIRS_MAX];
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct addrset_agent_frame frame;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		pairs[i] = pair_of("example.com", 16, (uint8_t)i, 100 * 86400 * NS_PER_S);
	put_add(&out, UINT32_MAX, pairs, ARRAY_LEN(pairs));
	assert_true(out.n <= ADDRSET_AGENT_FRAME_MAX);
	struct slice rest = strbuf_slice(&out);
	assert_int_equal(addrset_agent_take(&rest, &frame), 1);
	addrset_agent_pairs(&frame, NOW, got);
	assert_int_equal(got[255].until_ns, NOW + ADDRSET_AGENT_WANTED_MAX_MS * NS_PER_MS);
}

static void results_travel(void **state UNUSED)
{
	static const struct {
		int sent, got;
	} rows[] = {
		{ 0, 0 },
		{ ERR_LIMIT, ERR_LIMIT },
		{ ERR_CLOSED, ERR_CLOSED },
		{ ERR_BUSY, ERR_BUSY },
		{ ERR_DENIED, ERR_DENIED },
		{ ERR_QUOTA, ERR_QUOTA },
		{ -28, ERR_INTERNAL }, /* the reader's system may number errors differently */
		{ ERR_PARSE, ERR_INTERNAL },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		struct addrset_agent_frame frame;
		addrset_agent_put_result(&out, 3, rows[i].sent);
		struct slice rest = strbuf_slice(&out);
		assert_int_equal(addrset_agent_take(&rest, &frame), 1);
		assert_int_equal(frame.kind, ADDRSET_AGENT_RESULT);
		assert_int_equal(frame.number, 3);
		assert_int_equal(frame.result, rows[i].got);
	}
}

/* Bytes come in pieces, and frames one behind the other. */
static void frames_in_pieces(void **state UNUSED)
{
	struct addrset_pair pair = pair_of("example.com", 4, 1, NS_PER_S);
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct addrset_agent_frame frame;
	addrset_agent_put_hello(&out);
	size_t first = out.n;
	put_add(&out, 1, &pair, 1);
	for (size_t n = 0; n < out.n; n++) {
		struct slice rest = { out.s, n };
		assert_int_equal(addrset_agent_take(&rest, &frame), n >= first);
		if (n < first)
			continue;
		assert_int_equal(frame.kind, ADDRSET_AGENT_HELLO);
		assert_int_equal(frame.version, ADDRSET_AGENT_VERSION);
		assert_int_equal(addrset_agent_take(&rest, &frame), 0);
	}
}

/* Each text is a frame without its length. */
static void malformed_frames(void **state UNUSED)
{
	static const struct {
		const char *bytes;
		size_t n;
	} rows[] = {
		{ "", 0 },
		{ "\0", 1 },
		{ "\4", 1 },
		{ "\377", 1 },
		{ "\1", 1 },
		{ "\1fairleaf\0\1", 11 },
		{ "\1fairlead\0", 10 },
		{ "\1fairlead\0\0", 11 },
		{ "\2", 1 },
		{ "\2\0\0\0\1", 5 },
		{ "\2\0\0\0\1idididididididid\0\0\0\1", 25 },
		{ "\2\0\0\0\1idididididididid\0\0\0\1\4abc", 29 },
		{ "\2\0\0\0\1idididididididid\0\0\0\1\5abcde", 31 },
		{ "\2\0\0\0\1idididididididid\377\0\0\1\4abcd", 30 },
		{ "\5\0\0\0\1", 5 },
		{ "\5\0\0\0\1\0idididididididid\0\0\0\1\4abcd", 31 },
		{ "\5\0\0\0\1\3we", 8 },
		{ "\5\0\0\0\1\3web", 9 },
		{ "\5\0\0\0\1\100idididididididid\0\0\0\1\4abcd", 31 },
		{ "\3\0\0\0", 4 },
		{ "\3\0\0\0\1", 5 },
		{ "\3\0\0\0\1\0\0", 7 },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char bytes[64] = { 0, (char)rows[i].n };
		struct slice rest = { bytes, 2 + rows[i].n };
		struct addrset_agent_frame frame;
		memcpy(bytes + 2, rows[i].bytes, rows[i].n);
		assert_int_equal(addrset_agent_take(&rest, &frame), ERR_PARSE);
	}
	struct slice longest = SLICE("\x40\x00");
	struct addrset_agent_frame frame;
	assert_int_equal(addrset_agent_take(&longest, &frame), ERR_PARSE);
}

/* A hello may grow: a newer version says more behind what this one reads. */
static void newer_hello(void **state UNUSED)
{
	struct slice rest = SLICE("\0\x0d\1fairlead\0\7xy");
	struct addrset_agent_frame frame;
	assert_int_equal(addrset_agent_take(&rest, &frame), 1);
	assert_int_equal(frame.version, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(add_there_and_back),	 cmocka_unit_test(largest_request),
		cmocka_unit_test(probe_there_and_back),	 cmocka_unit_test(forget_there_and_back),
		cmocka_unit_test(results_travel),	 cmocka_unit_test(frames_in_pieces),
		cmocka_unit_test(malformed_frames),	 cmocka_unit_test(newer_hello),
		cmocka_unit_test(tenant_there_and_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

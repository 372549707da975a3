/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TSIG: known signatures, both sides talking to each other, every bit flipped, streams, errors
 * and what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "dns/request.h"
#include "dns/test_bytes.h"
#include "dns/tsig/test_vectors.h"
#include "dns/tsig/tsig.h"
#include "dns/tsig/explain.h"
#include "dns/tsig/server.h"
#include "dns/types.h"

enum { NOW = VECTOR_TIME, MESSAGE_CAP = 1024 };

struct message {
	uint8_t p[MESSAGE_CAP];
	size_t n;
};

static struct message message_of(const char *text)
{
	struct message m = { 0 };
	m.n = bytes_of(text, m.p);
	return m;
}

static struct dns_tsig_key key_of(const char *text)
{
	struct dns_tsig_key key = { 0 };
	char why[256] = "";
	if (dns_tsig_key_parse(&key, slice_of(text), ERR_TEXT(why)) < 0)
		fail_msg("%s", why);
	return key;
}

static struct dns_tsig_key test_key(const char *algorithm)
{
	char text[200];
	snprintf(text, sizeof(text), "%s:Key.Example:" VECTOR_SECRET, algorithm);
	return key_of(text);
}

/* A request that is signed by the key, and its conversation. */
static struct message signed_request(struct dns_tsig *tsig, const struct dns_tsig_key *key)
{
	struct message m = message_of(unsigned_request);
	*tsig = (struct dns_tsig){ .key = key };
	int n = dns_tsig_sign_request(tsig, m.p, m.n, sizeof(m.p), NOW);
	assert_true(n > 0);
	m.n = (size_t)n;
	return m;
}

/* An answer of the server to what it last received. */
static struct message answer_of(struct dns_tsig *server, uint8_t rcode, uint8_t last,
				uint64_t now_s)
{
	struct message m = message_of("123484000001000100000000 07 'example' 03 'org' 00 0001 0001"
				      "c00c 0001 0001 0000003c 0004 c0000200");
	m.p[3] |= rcode;
	m.p[m.n - 1] = last;
	int n = dns_tsig_sign_answer(server, m.p, m.n, sizeof(m.p), now_s);
	assert_true(n > 0);
	m.n = (size_t)n;
	return m;
}

static enum dns_tsig_result verify_at(const struct dns_tsig_key *key, const struct message *m,
				      uint64_t now_s)
{
	struct dns_tsig tsig = { 0 };
	struct dns_tsig_report report = dns_tsig_verify_request(&tsig, key, 1, m->p, m->n, now_s);
	dns_tsig_done(&tsig);
	return report.result;
}

static void known_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(signed_requests); i++) {
		struct dns_tsig_key key = test_key(signed_requests[i][0]);
		struct message expected = message_of(signed_requests[i][1]);
		struct dns_tsig tsig;
		struct message m = signed_request(&tsig, &key);
		assert_int_equal(m.n, expected.n);
		assert_memory_equal(m.p, expected.p, m.n);
		assert_int_equal(verify_at(&key, &expected, NOW), DNS_TSIG_OK);
		dns_tsig_done(&tsig);
		dns_tsig_key_done(&key);
	}
}

static void known_answers(void **state)
{
	struct dns_tsig_key key = test_key("hmac-sha256");
	struct dns_tsig tsig;
	struct message m = message_of(signed_answer);
	(void)state;
	signed_request(&tsig, &key);
	struct dns_tsig_report report = dns_tsig_verify_answer(&tsig, m.p, m.n, NOW);
	assert_int_equal(report.result, DNS_TSIG_OK);
	assert_true(report.authentic && dns_tsig_is_complete(&tsig));
	assert_int_equal(report.len, 45);
	m = message_of(badtime_answer);
	signed_request(&tsig, &key);
	report = dns_tsig_verify_answer(&tsig, m.p, m.n, NOW);
	assert_int_equal(report.result, DNS_TSIG_REJECTED);
	assert_int_equal(report.error, DNS_TSIG_ERROR_BADTIME);
	assert_true(report.authentic);
	assert_int_equal(report.server_time_s, NOW + 1000);
	/* A later message is chained to the one before it, and to those between. */
	signed_request(&tsig, &key);
	for (size_t i = 0; i < ARRAY_LEN(stream); i++) {
		m = message_of(stream[i]);
		report = dns_tsig_verify_answer(&tsig, m.p, m.n, NOW);
		bool pending = i == 2 || i == 3;
		assert_int_equal(report.result, pending ? DNS_TSIG_PENDING : DNS_TSIG_OK);
		assert_int_equal(dns_tsig_is_complete(&tsig), !pending);
	}
	dns_tsig_done(&tsig);
	dns_tsig_key_done(&key);
}

/* Left out, changed, in another order: the next signed message shows it. */
static void damaged_streams(void **state)
{
	static const uint8_t orders[][4] = {
		{ 0, 1, 2, 4 }, { 0, 1, 3, 4 }, { 0, 1, 4, 4 }, { 0, 2, 1, 4 }, { 0, 4, 1, 2 }
	};
	struct dns_tsig_key key = test_key("hmac-sha256");
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		struct dns_tsig tsig;
		enum dns_tsig_result result = DNS_TSIG_OK;
		signed_request(&tsig, &key);
		for (size_t k = 0; k < 4 && (result == DNS_TSIG_OK || result == DNS_TSIG_PENDING);
		     k++) {
			struct message m = message_of(stream[orders[i][k]]);
			result = dns_tsig_verify_answer(&tsig, m.p, m.n, NOW).result;
		}
		assert_int_equal(result, DNS_TSIG_BADSIG);
		dns_tsig_done(&tsig);
	}
	/* The first one must be signed. */
	struct dns_tsig tsig;
	struct message m = message_of(stream[2]);
	signed_request(&tsig, &key);
	assert_int_equal(dns_tsig_verify_answer(&tsig, m.p, m.n, NOW).result, DNS_TSIG_UNSIGNED);
	assert_false(dns_tsig_is_complete(&tsig));
	dns_tsig_done(&tsig);
	dns_tsig_key_done(&key);
}

static void unsigned_limit(void **state)
{
	struct dns_tsig_key key = test_key("hmac-sha256");
	struct message first = message_of(stream[0]), between = message_of(stream[2]);
	struct dns_tsig tsig;
	(void)state;
	signed_request(&tsig, &key);
	assert_int_equal(dns_tsig_verify_answer(&tsig, first.p, first.n, NOW).result, DNS_TSIG_OK);
	for (unsigned i = 0; i < DNS_TSIG_UNSIGNED_MAX; i++)
		assert_int_equal(dns_tsig_verify_answer(&tsig, between.p, between.n, NOW).result,
				 DNS_TSIG_PENDING);
	assert_false(dns_tsig_is_complete(&tsig));
	assert_int_equal(dns_tsig_verify_answer(&tsig, between.p, between.n, NOW).result,
			 DNS_TSIG_UNSIGNED);
	dns_tsig_done(&tsig);
	dns_tsig_key_done(&key);
}

/* ---- both sides ---- */

static const char *const algorithm_texts[] = { "hmac-sha1",	 "hmac-sha224", "hmac-sha256",
					       "hmac-sha384",	 "hmac-sha512", "hmac-sha256-128",
					       "hmac-sha512-256" };

static void both_sides(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(algorithm_texts); i++) {
		struct dns_tsig_key keys[] = { key_of("hmac-sha256:other.:QUJD"),
					       test_key(algorithm_texts[i]) };
		struct dns_tsig client, server = { 0 };
		struct message m = signed_request(&client, &keys[1]);
		struct dns_tsig_report report =
			dns_tsig_verify_request(&server, keys, 2, m.p, m.n, NOW);
		assert_int_equal(report.result, DNS_TSIG_OK);
		assert_ptr_equal(server.key, &keys[1]);
		assert_int_equal(report.len, 29);
		for (uint8_t k = 0; k < 5; k++) {
			m = answer_of(&server, 0, k, NOW + 1);
			report = dns_tsig_verify_answer(&client, m.p, m.n, NOW + 1);
			assert_int_equal(report.result, DNS_TSIG_OK);
			assert_true(dns_tsig_is_complete(&client));
		}
		dns_tsig_done(&client);
		dns_tsig_done(&server);
		dns_tsig_key_done(&keys[0]);
		dns_tsig_key_done(&keys[1]);
	}
}

/* Keys of one name, as in a rotation that keeps the name: each counts, and the answer is signed with the one
 * of the request. The error is that of the signature where none fits. */
static void keys_of_one_name(void **state)
{
	(void)state;
	struct dns_tsig_key keys[] = { key_of("hmac-sha256:key.example.:QUJD"),
				       key_of("hmac-sha256-128:key.example.:REVG"),
				       test_key("hmac-sha256") };
	struct dns_tsig client, server = { 0 };
	struct message m = signed_request(&client, &keys[2]);
	struct dns_tsig_report report = dns_tsig_verify_request(&server, keys, 3, m.p, m.n, NOW);
	assert_int_equal(report.result, DNS_TSIG_OK);
	assert_ptr_equal(server.key, &keys[2]);
	m = answer_of(&server, 0, 1, NOW);
	assert_int_equal(dns_tsig_verify_answer(&client, m.p, m.n, NOW).result, DNS_TSIG_OK);
	dns_tsig_done(&client);
	dns_tsig_done(&server);
	m = signed_request(&client, &keys[2]);
	server = (struct dns_tsig){ 0 };
	report = dns_tsig_verify_request(&server, keys, 3, m.p, m.n, NOW + 10000);
	assert_int_equal(report.result, DNS_TSIG_BADTIME);
	dns_tsig_done(&server);
	server = (struct dns_tsig){ 0 };
	report = dns_tsig_verify_request(&server, keys, 2, m.p, m.n, NOW);
	assert_int_equal(report.result, DNS_TSIG_BADSIG);
	dns_tsig_done(&server);
	dns_tsig_done(&client);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		dns_tsig_key_done(&keys[i]);
}

/* The id may change on the way; names of key and algorithm are compared without regard to case. */
static bool may_change(const struct message *m, size_t at, unsigned bit)
{
	size_t start = 29, names = 13; /* key.example. */
	bool in_key = at > start && at < start + names;
	bool in_algorithm = at >= start + names + 10 && at < start + names + 10 + 13;
	uint8_t letter = m->p[at] | 0x20;
	return at < 2 || (bit == 5 && (in_key || in_algorithm) && letter >= 'a' && letter <= 'z');
}

static void flipped_requests(void **state)
{
	struct dns_tsig_key key = test_key("hmac-sha256");
	struct dns_tsig tsig;
	struct message m = signed_request(&tsig, &key);
	(void)state;
	for (size_t at = 0; at < m.n; at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			m.p[at] ^= (uint8_t)(1U << bit);
			bool accepted = verify_at(&key, &m, NOW) == DNS_TSIG_OK;
			m.p[at] ^= (uint8_t)(1U << bit);
			if (accepted != may_change(&m, at, bit))
				fail_msg("byte %zu, bit %u: %s", at, bit,
					 accepted ? "accepted" : "refused");
		}
	}
	for (size_t n = 0; n < m.n; n++) {
		struct message cut = m;
		cut.n = n;
		assert_int_not_equal(verify_at(&key, &cut, NOW), DNS_TSIG_OK);
	}
	dns_tsig_done(&tsig);
	dns_tsig_key_done(&key);
}

static void flipped_answers(void **state)
{
	struct dns_tsig_key key = test_key("hmac-sha256");
	struct dns_tsig asked;
	struct message m = message_of(signed_answer);
	size_t start = 45;
	(void)state;
	signed_request(&asked, &key);
	for (size_t at = 2; at < m.n; at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			uint8_t letter = m.p[at] | 0x20;
			if (at > start && at < start + 36 && bit == 5 && letter >= 'a' &&
			    letter <= 'z')
				continue;
			struct dns_tsig tsig = asked;
			m.p[at] ^= (uint8_t)(1U << bit);
			if (dns_tsig_verify_answer(&tsig, m.p, m.n, NOW).result == DNS_TSIG_OK)
				fail_msg("byte %zu, bit %u", at, bit);
			m.p[at] ^= (uint8_t)(1U << bit);
			hmac_drop(&tsig.running);
		}
	}
	dns_tsig_done(&asked);
	dns_tsig_key_done(&key);
}

/* An answer to another request, or another request's answer. */
static void chained(void **state)
{
	struct dns_tsig_key key = test_key("hmac-sha256");
	struct dns_tsig tsig = { .key = &key };
	struct message request = message_of(unsigned_request), m = message_of(signed_answer);
	(void)state;
	assert_true(dns_tsig_sign_request(&tsig, request.p, request.n, MESSAGE_CAP, NOW + 1) > 0);
	assert_int_equal(dns_tsig_verify_answer(&tsig, m.p, m.n, NOW).result, DNS_TSIG_BADSIG);
	dns_tsig_done(&tsig);
	dns_tsig_key_done(&key);
}

/* ---- what is refused ---- */

static void times(void **state)
{
	static const struct {
		int64_t off;
		enum dns_tsig_result result;
	} rows[] = {
		{ 0, DNS_TSIG_OK },
		{ 300, DNS_TSIG_OK },
		{ -300, DNS_TSIG_OK },
		{ 301, DNS_TSIG_BADTIME },
		{ -301, DNS_TSIG_BADTIME },
		{ -NOW, DNS_TSIG_BADTIME },
		{ INT64_C(1) << 48, DNS_TSIG_BADTIME },
	};
	struct dns_tsig_key key = test_key("hmac-sha256");
	struct dns_tsig tsig;
	struct message m = signed_request(&tsig, &key);
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(verify_at(&key, &m, (uint64_t)(NOW + rows[i].off)),
				 rows[i].result);
	dns_tsig_done(&tsig);
	dns_tsig_key_done(&key);
}

/* A MAC has at least ten bytes and half of the HMAC's; the key may demand more. */
static void truncation(void **state)
{
	struct dns_tsig_key whole = test_key("hmac-sha256"), cut = test_key("hmac-sha256-128");
	struct message sixteen = message_of(cut_request), fifteen = message_of(short_request);
	struct message full = message_of(signed_requests[2][1]);
	(void)state;
	assert_int_equal(verify_at(&cut, &sixteen, NOW), DNS_TSIG_OK);
	assert_int_equal(verify_at(&cut, &full, NOW), DNS_TSIG_OK);
	assert_int_equal(verify_at(&whole, &sixteen, NOW), DNS_TSIG_BADTRUNC);
	assert_int_equal(verify_at(&whole, &fifteen, NOW), DNS_TSIG_MALFORMED);
	assert_int_equal(verify_at(&cut, &fifteen, NOW), DNS_TSIG_MALFORMED);
	/* Wrong as well: its truncation is of no interest then, and neither is the time. */
	sixteen.p[14] ^= 1;
	assert_int_equal(verify_at(&whole, &sixteen, NOW + 9999), DNS_TSIG_BADSIG);
	dns_tsig_key_done(&whole);
	dns_tsig_key_done(&cut);
}

/* Records that are not where, or not what, they should be. */
static void malformed(void **state)
{
	static const char tsig_data[] = "0b 'hmac-sha256' 00 000000000000 012c 0000 1234 0000 0000";
	static const struct {
		const char *head, *tail; /* of the record */
		enum dns_tsig_result result;
	} rows[] = {
		{ "123401000000000000000001 00 00fa 00ff 00000000 001d", "", DNS_TSIG_BADKEY },
		{ "123401000000000100000000 00 00fa 00ff 00000000 001d", "",
		  DNS_TSIG_MALFORMED }, /* the answer section */
		{ "123401000000000000000001 00 00fa 0001 00000000 001d", "",
		  DNS_TSIG_MALFORMED }, /* class IN */
		{ "123401000000000000000001 00 00fa 00ff 00000001 001d", "",
		  DNS_TSIG_MALFORMED }, /* a TTL */
		{ "123401000000000000000001 00 00fa 00ff 00000000 001c", "", DNS_TSIG_MALFORMED },
		{ "123401000000000000000001 00 00fa 00ff 00000000 001d", "00",
		  DNS_TSIG_MALFORMED }, /* bytes follow */
		{ "123401000000000000000002 00 00fa 00ff 00000000 001d",
		  "00 0001 0001 00000000 0000", DNS_TSIG_MALFORMED }, /* a record follows */
		{ "123401000000000000000002 00 00fa 00ff 00000000 001d", "", DNS_TSIG_MALFORMED },
		{ "123401000000000000000001 c00c 00fa 00ff 00000000 001d", "",
		  DNS_TSIG_MALFORMED }, /* a loop */
	};
	struct dns_tsig_key key = test_key("hmac-sha256");
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct message m = message_of(rows[i].head);
		m.n += bytes_of(tsig_data, m.p + m.n);
		m.n += bytes_of(rows[i].tail, m.p + m.n);
		assert_int_equal(verify_at(&key, &m, NOW), rows[i].result);
	}
	struct message plain = message_of(unsigned_request);
	assert_int_equal(verify_at(&key, &plain, NOW), DNS_TSIG_UNSIGNED);
	dns_tsig_key_done(&key);
}

static void no_room(void **state)
{
	struct dns_tsig_key key = test_key("hmac-sha512");
	(void)state;
	for (size_t room = 0; room < DNS_TSIG_RECORD_MAX; room++) {
		struct message m = message_of(unsigned_request);
		struct dns_tsig tsig = { .key = &key };
		int n = dns_tsig_sign_request(&tsig, m.p, m.n, m.n + room, NOW);
		assert_int_equal(n, room < 13 + 10 + 13 + 16 + 64 ? ERR_SPACE
								  : 29 + 13 + 10 + 13 + 16 + 64);
		if (n < 0)
			assert_memory_equal(m.p, message_of(unsigned_request).p, m.n);
		dns_tsig_done(&tsig);
	}
	dns_tsig_key_done(&key);
}

/* ---- errors that the server reports ---- */

static void reported(void **state)
{
	static const struct {
		const char *client, *server;
		int64_t server_ahead;
		enum dns_tsig_result found;
		bool authentic;
		const char *text;
	} rows[] = {
		{ "hmac-sha256:key.example:QUJD", "hmac-sha256:other.example:QUJD", 0,
		  DNS_TSIG_BADKEY, false,
		  "the server does not accept TSIG key 'key.example.' (BADKEY): it does not know "
		  "its name and algorithm, or the key has no rights" },
		{ "hmac-sha256:key.example:QUJD", "hmac-sha512:key.example:QUJD", 0,
		  DNS_TSIG_BADKEY, false,
		  "the server does not accept TSIG key 'key.example.' (BADKEY): it does not know "
		  "its name and algorithm, or the key has no rights" },
		{ "hmac-sha256:key.example:QUJD", "hmac-sha256:key.example:QUJE", 0,
		  DNS_TSIG_BADSIG, false,
		  "the server has another secret for TSIG key 'key.example.' (BADSIG)" },
		{ "hmac-sha256:key.example:QUJD", "hmac-sha256:KEY.example:QUJD", 1000,
		  DNS_TSIG_BADTIME, true,
		  "the server's clock is 1000 seconds ahead of this machine's (BADTIME): set the "
		  "clocks" },
		{ "hmac-sha256:key.example:QUJD", "hmac-sha256:key.example:QUJD", -4000,
		  DNS_TSIG_BADTIME, true,
		  "the server's clock is 4000 seconds behind this machine's (BADTIME): set the "
		  "clocks" },
		{ "hmac-sha256-128:key.example:QUJD", "hmac-sha256:key.example:QUJD", 0,
		  DNS_TSIG_BADTRUNC, true,
		  "the server wants longer signatures of TSIG key 'key.example.' (BADTRUNC)" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dns_tsig_key ours = key_of(rows[i].client), theirs = key_of(rows[i].server);
		struct dns_tsig client, server = { 0 };
		struct message m = signed_request(&client, &ours);
		uint64_t server_now = (uint64_t)(NOW + rows[i].server_ahead);
		char why[256] = "";
		struct dns_tsig_report report =
			dns_tsig_verify_request(&server, &theirs, 1, m.p, m.n, server_now);
		assert_int_equal(report.result, rows[i].found);
		m = answer_of(&server, DNS_RCODE_NOTAUTH, 1, server_now);
		report = dns_tsig_verify_answer(&client, m.p, m.n, NOW);
		assert_int_equal(report.result, DNS_TSIG_REJECTED);
		assert_int_equal(report.authentic, rows[i].authentic);
		dns_tsig_explain(&ours, &report, NOW, ERR_TEXT(why));
		assert_string_equal(why, rows[i].text);
		dns_tsig_done(&client);
		dns_tsig_done(&server);
		dns_tsig_key_done(&ours);
		dns_tsig_key_done(&theirs);
	}
}

/* What we find ourselves. */
static void explained(void **state)
{
	static const struct {
		struct dns_tsig_report report;
		const char *text;
	} rows[] = {
		{ { .result = DNS_TSIG_UNSIGNED, .rcode = DNS_RCODE_REFUSED },
		  "the answer (REFUSED) is not signed with TSIG key 'key.example.'" },
		{ { .result = DNS_TSIG_PENDING },
		  "the end of the answer is not signed with TSIG key 'key.example.'" },
		{ { .result = DNS_TSIG_MALFORMED }, "the answer's TSIG record is malformed" },
		{ { .result = DNS_TSIG_BADKEY },
		  "the answer is signed with another key or algorithm than TSIG key "
		  "'key.example.'" },
		{ { .result = DNS_TSIG_BADSIG },
		  "the answer's signature by TSIG key 'key.example.' is wrong: it was changed on "
		  "its way" },
		{ { .result = DNS_TSIG_BADTIME },
		  "the answer was signed at another time: the clocks of the server and of this "
		  "machine differ" },
		{ { .result = DNS_TSIG_BADTRUNC },
		  "the answer's signature by TSIG key 'key.example.' is shorter than the key "
		  "demands" },
		{ { .result = DNS_TSIG_REJECTED, .error = DNS_TSIG_ERROR_BADTIME },
		  "the clocks of the server and of this machine differ too much (BADTIME)" },
		{ { .result = DNS_TSIG_REJECTED, .error = 20 },
		  "the server rejects TSIG key 'key.example.' (BADNAME)" },
		{ { .result = DNS_TSIG_OK }, "the answer is signed with TSIG key 'key.example.'" },
	};
	struct dns_tsig_key key = test_key("hmac-sha256");
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char why[256] = "";
		dns_tsig_explain(&key, &rows[i].report, NOW, ERR_TEXT(why));
		assert_string_equal(why, rows[i].text);
	}
	dns_tsig_key_done(&key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_requests),
		cmocka_unit_test(known_answers),
		cmocka_unit_test(damaged_streams),
		cmocka_unit_test(unsigned_limit),
		cmocka_unit_test(both_sides),
		cmocka_unit_test(flipped_requests),
		cmocka_unit_test(flipped_answers),
		cmocka_unit_test(chained),
		cmocka_unit_test(times),
		cmocka_unit_test(truncation),
		cmocka_unit_test(malformed),
		cmocka_unit_test(no_room),
		cmocka_unit_test(reported),
		cmocka_unit_test(explained),
		cmocka_unit_test(keys_of_one_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NOTIFYs and what they are answered with: header, question, signature. */
#include "controller/dnsrecord/notify/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "dns/tsig/tsig.h"
#include "dns/types.h"

enum { ID = 0x1234, NOW_S = 1700000000 };

struct exchange {
	uint8_t msg[DNSRECORD_NOTIFY_MAX + DNS_REQUEST_SLACK];
	size_t len;
	struct dnsrecord_notify notify;
	uint8_t reply[DNSRECORD_NOTIFY_REPLY_MAX];
	size_t reply_n;
};

static void make_key(struct dns_tsig_key *key, const char *text)
{
	char err[200];
	if (dns_tsig_key_parse(key, slice_of(text), ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
}

static void make_message(struct exchange *exchange, unsigned opcode, const char *name,
			 uint16_t type)
{
	uint8_t wire[DNS_NAME_MAX];
	assert_true(dns_name_from_text(slice_of(name), wire) > 0);
	*exchange = (struct exchange){ 0 };
	exchange->len = dns_message_query(exchange->msg, ID, (uint16_t)(opcode << 11 | DNS_FLAG_AA),
					  wire, type);
}

static enum dnsrecord_notify_result answer(struct exchange *exchange, bool is_ours,
					   const struct dns_tsig_key *keys, size_t n_keys)
{
	struct dnsrecord_notify_zone zone = {
		.is_ours = is_ours, .keys = keys, .n_keys = n_keys, .now_s = NOW_S
	};
	assert_true(dnsrecord_notify_read(exchange->msg, exchange->len, &exchange->notify));
	return dnsrecord_notify_answer(&exchange->notify, &zone, exchange->reply,
				       &exchange->reply_n);
}

static void expect_header(const struct exchange *exchange, unsigned opcode, uint8_t rcode)
{
	unsigned flags = dns_get16(exchange->reply + 2);
	assert_true(exchange->reply_n >= DNS_HEADER_BYTES);
	assert_int_equal(dns_get16(exchange->reply), ID);
	assert_int_equal(flags, DNS_FLAG_QR | opcode << 11 |
					(rcode == DNS_RCODE_NOERROR ? DNS_FLAG_AA : 0) | rcode);
}

/* RFC 1996 section 4.7: the answer has the question, QR and the response code. */
static void accepted(void **state)
{
	struct exchange exchange;
	(void)state;
	make_message(&exchange, DNS_OPCODE_NOTIFY, "Example.TEST.", DNS_TYPE_SOA);
	assert_int_equal(answer(&exchange, true, NULL, 0), DNSRECORD_NOTIFY_ACCEPTED);
	assert_string_equal(exchange.notify.zone, "example.test");
	expect_header(&exchange, DNS_OPCODE_NOTIFY, DNS_RCODE_NOERROR);
	assert_int_equal(exchange.reply_n, exchange.len);
	assert_memory_equal(exchange.reply + DNS_HEADER_BYTES, exchange.msg + DNS_HEADER_BYTES,
			    exchange.len - DNS_HEADER_BYTES);
	/* With EDNS, with it. */
	exchange.len = dns_message_add_opt(exchange.msg, exchange.len,
					   &(struct dns_opt){ .present = true, .udp_size = 4096 });
	assert_int_equal(answer(&exchange, true, NULL, 0), DNSRECORD_NOTIFY_ACCEPTED);
	assert_int_equal(exchange.reply_n, exchange.len);
	assert_int_equal(dns_get16(exchange.reply + 10), 1);
}

static void others_are_refused(void **state)
{
	static const struct {
		unsigned opcode;
		uint16_t type;
		bool is_ours;
		enum dnsrecord_notify_result result;
		uint8_t rcode;
	} rows[] = {
		{ DNS_OPCODE_NOTIFY, DNS_TYPE_SOA, false, DNSRECORD_NOTIFY_UNKNOWN_ZONE,
		  DNS_RCODE_NOTAUTH },
		{ DNS_OPCODE_NOTIFY, DNS_TYPE_A, true, DNSRECORD_NOTIFY_REFUSED, DNS_RCODE_NOTIMP },
		{ DNS_OPCODE_QUERY, DNS_TYPE_SOA, true, DNSRECORD_NOTIFY_REFUSED,
		  DNS_RCODE_REFUSED },
		{ DNS_OPCODE_UPDATE, DNS_TYPE_SOA, true, DNSRECORD_NOTIFY_REFUSED,
		  DNS_RCODE_NOTIMP },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct exchange exchange;
		make_message(&exchange, rows[i].opcode, "example.test.", rows[i].type);
		assert_int_equal(answer(&exchange, rows[i].is_ours, NULL, 0), rows[i].result);
		expect_header(&exchange, rows[i].opcode, rows[i].rcode);
	}
}

static void bad_packets(void **state)
{
	struct exchange exchange;
	(void)state;
	make_message(&exchange, DNS_OPCODE_NOTIFY, "example.test.", DNS_TYPE_SOA);
	for (size_t n = 0; n < DNS_HEADER_BYTES; n++)
		assert_false(dnsrecord_notify_read(exchange.msg, n, &exchange.notify));
	exchange.len = DNS_HEADER_BYTES + 5; /* inside the name */
	assert_int_equal(answer(&exchange, true, NULL, 0), DNSRECORD_NOTIFY_REFUSED);
	expect_header(&exchange, DNS_OPCODE_NOTIFY, DNS_RCODE_FORMERR);
	assert_int_equal(exchange.reply_n, DNS_HEADER_BYTES);
	/* An answer is not answered: no loops. */
	make_message(&exchange, DNS_OPCODE_NOTIFY, "example.test.", DNS_TYPE_SOA);
	exchange.msg[2] |= 0x80;
	assert_false(dnsrecord_notify_read(exchange.msg, exchange.len, &exchange.notify));
	/* Of another class. */
	make_message(&exchange, DNS_OPCODE_NOTIFY, "example.test.", DNS_TYPE_SOA);
	dns_put16(exchange.msg + exchange.len - 2, DNS_CLASS_CH);
	assert_int_equal(answer(&exchange, true, NULL, 0), DNSRECORD_NOTIFY_REFUSED);
	expect_header(&exchange, DNS_OPCODE_NOTIFY, DNS_RCODE_NOTAUTH);
}

static void sign(struct exchange *exchange, struct dns_tsig *tsig, uint64_t now_s)
{
	int n = dns_tsig_sign_request(tsig, exchange->msg, exchange->len, DNSRECORD_NOTIFY_MAX,
				      now_s);
	assert_true(n > 0);
	exchange->len = (size_t)n;
}

static void signatures(void **state)
{
	struct dns_tsig_key keys[2] = { 0 }, wrong = { 0 }, unknown = { 0 };
	(void)state;
	make_key(&keys[0], "hmac-sha512:a.key:AAECAwQFBgcICQoLDA0ODw==");
	make_key(&keys[1], "hmac-sha256:b.key:AAECAwQFBgcICQoLDA0ODw==");
	make_key(&wrong, "hmac-sha256:b.key://///wQFBgcICQoLDA0ODw==");
	make_key(&unknown, "hmac-sha256:c.key:AAECAwQFBgcICQoLDA0ODw==");
	const struct {
		const struct dns_tsig_key *key;
		bool is_ours;
		uint64_t signed_s;
		enum dnsrecord_notify_result result;
		enum dns_tsig_result seen; /* by the sender */
		uint16_t error;
	} rows[] = {
		{ &keys[1], true, NOW_S, DNSRECORD_NOTIFY_ACCEPTED, DNS_TSIG_OK, 0 },
		{ &keys[0], true, NOW_S, DNSRECORD_NOTIFY_ACCEPTED, DNS_TSIG_OK, 0 },
		{ &wrong, true, NOW_S, DNSRECORD_NOTIFY_BAD_SIGNATURE, DNS_TSIG_REJECTED,
		  DNS_TSIG_ERROR_BADSIG },
		{ &keys[1], true, NOW_S - 4000, DNSRECORD_NOTIFY_BAD_SIGNATURE, DNS_TSIG_REJECTED,
		  DNS_TSIG_ERROR_BADTIME },
		{ &unknown, true, NOW_S, DNSRECORD_NOTIFY_ACCEPTED, DNS_TSIG_REJECTED,
		  DNS_TSIG_ERROR_BADKEY },
		{ &unknown, false, NOW_S, DNSRECORD_NOTIFY_UNKNOWN_ZONE, DNS_TSIG_REJECTED,
		  DNS_TSIG_ERROR_BADKEY },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dns_tsig tsig = { .key = rows[i].key };
		struct exchange exchange;
		make_message(&exchange, DNS_OPCODE_NOTIFY, "example.test.", DNS_TYPE_SOA);
		sign(&exchange, &tsig, rows[i].signed_s);
		assert_int_equal(answer(&exchange, rows[i].is_ours, keys, ARRAY_LEN(keys)),
				 rows[i].result);
		struct dns_tsig_report report = dns_tsig_verify_answer(
			&tsig, exchange.reply, exchange.reply_n, rows[i].signed_s);
		assert_int_equal(report.result, rows[i].seen);
		assert_int_equal(report.error, rows[i].error);
		assert_int_equal(report.rcode,
				 rows[i].error != 0 ? DNS_RCODE_NOTAUTH : DNS_RCODE_NOERROR);
		dns_tsig_done(&tsig);
	}
	dns_tsig_key_done(&keys[0]);
	dns_tsig_key_done(&keys[1]);
	dns_tsig_key_done(&wrong);
	dns_tsig_key_done(&unknown);
}

/* The longest names of zone, key and algorithm: the answer has room, or has no signature. */
static void long_names(void **state)
{
	struct dns_tsig_key key = { 0 };
	struct exchange exchange;
	uint8_t name[DNS_NAME_MAX];
	char text[260] = "";
	(void)state;
	for (size_t i = 0; i < 127; i++)
		memcpy(text + 2 * i, "a.", 2);
	assert_int_equal(dns_name_from_text(slice_of(text), name), DNS_NAME_MAX);
	make_key(&key, "hmac-sha512:b.key:AAECAwQFBgcICQoLDA0ODw==");
	memcpy(key.name, name, sizeof(name));
	struct dns_tsig tsig = { .key = &key };
	make_message(&exchange, DNS_OPCODE_NOTIFY, text, DNS_TYPE_SOA);
	exchange.len = dns_message_add_opt(exchange.msg, exchange.len,
					   &(struct dns_opt){ .present = true, .udp_size = 4096 });
	sign(&exchange, &tsig, NOW_S);
	assert_int_equal(answer(&exchange, true, &key, 1), DNSRECORD_NOTIFY_ACCEPTED);
	struct dns_tsig_report report =
		dns_tsig_verify_answer(&tsig, exchange.reply, exchange.reply_n, NOW_S);
	assert_int_equal(report.result, DNS_TSIG_OK);
	dns_tsig_done(&tsig);
	dns_tsig_key_done(&key);
	/* An algorithm that nobody knows. */
	struct dns_tsig_record record = { .time_s = NOW_S, .fudge = 300 };
	memcpy(record.name, name, sizeof(name));
	memcpy(record.algorithm, name, sizeof(name));
	make_message(&exchange, DNS_OPCODE_NOTIFY, text, DNS_TYPE_SOA);
	int n = dns_tsig_record_append(exchange.msg, exchange.len, DNSRECORD_NOTIFY_MAX, &record);
	assert_true(n > 0);
	exchange.len = (size_t)n;
	assert_int_equal(answer(&exchange, true, NULL, 0), DNSRECORD_NOTIFY_ACCEPTED);
	expect_header(&exchange, DNS_OPCODE_NOTIFY, DNS_RCODE_NOTAUTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted),    cmocka_unit_test(others_are_refused),
		cmocka_unit_test(bad_packets), cmocka_unit_test(signatures),
		cmocka_unit_test(long_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

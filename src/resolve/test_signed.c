/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signed exchanges with a scripted server that verifies and signs, or does something else. */
#include <errno.h>

#include "base/err.h"
#include "dns/message.h"
#include "dns/tsig/server.h"
#include "dns/update.h"
#include "resolve/signed.h"
#include "resolve/test_env.h"

enum { ROOM = 512 };

static const uint8_t zone[] = "\7example";
static const uint8_t name[] = "\1a\7example";

struct sign {
	struct env *e;
	struct resolve_signed s;
	struct dns_tsig_key key;
	uint8_t msg[ROOM], before[ROOM];
	uint16_t before_n;
	unsigned done;
	int code;
	char why[256];
	struct strbuf reply; /* as dumped */
};

static void parse_key(struct dns_tsig_key *key, const char *text)
{
	assert_int_equal(dns_tsig_key_parse(key, slice_of(text), (struct err_text){ 0 }), 0);
}

static void sign_done(struct resolve_signed *s)
{
	struct sign *sign = CONTAINER_OF(s, struct sign, s);
	sign->done++;
	sign->why[0] = '\0';
	sign->code = resolve_signed_result(s, ERR_TEXT(sign->why));
	strbuf_reset(&sign->reply);
	if (s->exchange.result == RESOLVE_OK)
		assert_int_equal(dns_dump(s->exchange.reply, s->exchange.reply_n, &sign->reply), 0);
	/* The message is ready to be signed anew. */
	assert_int_equal(s->exchange.msg_n, sign->before_n);
	assert_memory_equal(s->exchange.msg, sign->before, sign->before_n);
}

/* An UPDATE that adds one address. */
static void write_update(struct sign *sign)
{
	static const uint8_t address[] = { 192, 0, 2, 1 };
	struct dns_update u;
	assert_int_equal(dns_update_start(&u, sign->msg, sizeof(sign->msg), zone, DNS_CLASS_IN), 0);
	assert_int_equal(
		dns_update_add(&u, name, DNS_TYPE_A, 60, (struct dns_update_rdata){ address, 4 }),
		0);
	sign->s.exchange.msg_n = sign->before_n = (uint16_t)u.n;
	memcpy(sign->before, sign->msg, u.n);
}

static void sign_start(struct sign *sign)
{
	sign->done = 0;
	sign->s.exchange.deadline_ns = env_now + 2 * NS_PER_S;
	assert_int_equal(resolve_signed_start(sign->e->r, &sign->s), 0);
	env_turn(sign->e);
	env_turn(sign->e);
}

static struct sign *sign_new(const char *key)
{
	struct sign *sign = xcalloc(1, sizeof(*sign));
	sign->e = env_new(NULL);
	if (key != NULL)
		parse_key(&sign->key, key);
	strbuf_init(&sign->reply);
	sign->s = (struct resolve_signed){
		.exchange = { .up = sign->e->up, .msg = sign->msg, .tcp = true },
		.msg_cap = ROOM,
		.key = key != NULL ? &sign->key : NULL,
		.done = sign_done
	};
	write_update(sign);
	sign_start(sign);
	return sign;
}

static void sign_free(struct sign *sign)
{
	resolve_signed_cancel(sign->e->r, &sign->s);
	env_free(sign->e);
	dns_tsig_key_done(&sign->key);
	strbuf_done(&sign->reply);
	free(sign);
}

static void take(struct sign *sign)
{
	const char *text = fakeup_next(sign->e->fake);
	assert_non_null(text);
	assert_string_equal(text, "tcp example. IN SOA");
}

struct served {
	const char *key;
	uint64_t ahead_s; /* the server's clock */
	bool question;	  /* the reply repeats the zone */
	size_t spoil;	  /* counted from its end, the byte that is changed on its way; 0: none */
};

static void serve_as(struct sign *sign, const struct served *how)
{
	struct dns_tsig_key key = { 0 };
	struct dns_tsig tsig = { 0 };
	uint64_t now_s = env_now / NS_PER_S + how->ahead_s;
	uint8_t reply[ROOM];
	size_t n, head = DNS_HEADER_BYTES + (how->question ? sizeof(zone) + 4 : 0);
	take(sign);
	const uint8_t *request = fakeup_query(sign->e->fake, &n);
	parse_key(&key, how->key);
	struct dns_tsig_report report = dns_tsig_verify_request(&tsig, &key, 1, request, n, now_s);
	memcpy(reply, request, head);
	dns_put16(reply + 2, DNS_FLAG_QR | DNS_OPCODE_UPDATE << 11 |
				     (report.result == DNS_TSIG_OK ? 0 : DNS_RCODE_NOTAUTH));
	memset(reply + 4, 0, 8);
	reply[5] = how->question;
	int len = dns_tsig_sign_answer(&tsig, reply, head, sizeof(reply), now_s);
	assert_true(len > 0);
	if (how->spoil != 0)
		reply[(size_t)len - how->spoil] ^= 1;
	fakeup_bytes(sign->e->fake, reply, (size_t)len);
	env_turn(sign->e);
	dns_tsig_done(&tsig);
	dns_tsig_key_done(&key);
	assert_int_equal(sign->done, 1);
}

static void serve(struct sign *sign, const char *key_text, uint64_t ahead_s, bool question)
{
	serve_as(sign, &(struct served){ key_text, ahead_s, question, 0 });
}

/* `why` has a @ where the server's address is. */
static void expect(const struct sign *sign, int code, const char *why)
{
	char text[300] = "";
	const char *at = strchr(why, '@');
	if (at != NULL)
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - why), why, sign->e->up->text,
			 at + 1);
	assert_int_equal(sign->code, code);
	assert_string_equal(sign->why, text);
}

#define KEY "hmac-sha256:key:c2VjcmV0"

static void accepted(void **state)
{
	struct sign *sign = sign_new(KEY);
	(void)state;
	serve(sign, KEY, 1, true);
	expect(sign, 0, "");
	assert_string_equal(sign->reply.s, "NOERROR qr opcode=5\nquestion example. IN SOA\n");
	/* The same again, answered by a header alone. */
	sign_start(sign);
	serve(sign, KEY, 0, false);
	expect(sign, 0, "");
	assert_string_equal(sign->reply.s, "NOERROR qr opcode=5\n");
	assert_int_equal(fakeup_accepted(sign->e->fake), 1);
	sign_free(sign);
}

static void refused(void **state)
{
	static const struct {
		const char *server_key;
		uint64_t ahead_s;
		const char *why;
	} rows[] = {
		{ "hmac-sha256:other:c2VjcmV0", 0,
		  "@: the server does not accept TSIG key 'key.' (BADKEY): it does not know its "
		  "name and algorithm, or the key has no rights" },
		{ "hmac-sha256:key:c2VjcmVU", 0,
		  "@: the server has another secret for TSIG key 'key.' (BADSIG)" },
		{ KEY, 3600,
		  "@: the server's clock is 3600 seconds ahead of this machine's (BADTIME): set "
		  "the clocks" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sign *sign = sign_new(KEY);
		serve(sign, rows[i].server_key, rows[i].ahead_s, true);
		expect(sign, ERR_DENIED, rows[i].why);
		sign_free(sign);
	}
}

/* Behind the MAC, of 32 bytes, are the id, the error and the length of nothing: 6 bytes. */
static void wrong_mac(void **state)
{
	enum { BEHIND = 6, MAC = 32 };
	static const size_t spoilt[] = { BEHIND + 1, BEHIND + MAC };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(spoilt); i++) {
		struct sign *sign = sign_new(KEY);
		serve_as(sign, &(struct served){ KEY, 0, true, spoilt[i] });
		expect(sign, ERR_DENIED,
		       "@: the answer's signature by TSIG key 'key.' is wrong: it was changed on "
		       "its way");
		assert_int_not_equal(sign->s.report.result, DNS_TSIG_OK);
		sign_free(sign);
	}
}

static void not_signed(void **state)
{
	struct sign *sign = sign_new(KEY);
	(void)state;
	take(sign);
	fakeup_reply(sign->e->fake, &(struct fakeup_reply){ .rcode = DNS_RCODE_REFUSED });
	env_turn(sign->e);
	expect(sign, ERR_DENIED, "@: the answer (REFUSED) is not signed with TSIG key 'key.'");
	sign_free(sign);
	/* Without a key nothing is signed, and every answer counts. */
	sign = sign_new(NULL);
	take(sign);
	fakeup_reply(sign->e->fake, &(struct fakeup_reply){ .rcode = DNS_RCODE_REFUSED });
	env_turn(sign->e);
	expect(sign, 0, "");
	sign_free(sign);
}

static void no_answer(void **state)
{
	struct sign *sign = sign_new(KEY);
	(void)state;
	take(sign);
	env_advance(sign->e, 3 * NS_PER_S);
	assert_int_equal(sign->done, 1);
	expect(sign, -ETIMEDOUT, "@ did not answer in time");
	/* Cancelled: the message is as it was. */
	sign_start(sign);
	resolve_signed_cancel(sign->e->r, &sign->s);
	assert_int_equal(sign->s.exchange.msg_n, sign->before_n);
	assert_memory_equal(sign->msg, sign->before, sign->before_n);
	resolve_signed_cancel(sign->e->r, &sign->s);
	/* No room for the signature. */
	sign->s.msg_cap = sign->before_n + 20U;
	assert_int_equal(resolve_signed_start(sign->e->r, &sign->s), ERR_SPACE);
	assert_memory_equal(sign->msg, sign->before, sign->before_n);
	sign_free(sign);
}

/* A connection that was used before breaks under an UPDATE. The server may have applied it: it
 * is not sent again, as a query would be. */
static void sent_once(void **state)
{
	struct sign *sign = sign_new(KEY);
	(void)state;
	serve(sign, KEY, 0, true);
	sign_start(sign);
	take(sign);
	fakeup_hang_up(sign->e->fake, false);
	env_turn(sign->e);
	assert_int_equal(sign->done, 1);
	expect(sign, ERR_CLOSED, "cannot reach @: EOF");
	assert_null(fakeup_next(sign->e->fake));
	sign_free(sign);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted),  cmocka_unit_test(refused),
		cmocka_unit_test(wrong_mac), cmocka_unit_test(not_signed),
		cmocka_unit_test(no_answer), cmocka_unit_test(sent_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

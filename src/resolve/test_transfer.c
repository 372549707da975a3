/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transfers from a scripted server that signs its messages, or does something else. */
#include <errno.h>

#include "base/err.h"
#include "dns/tsig/server.h"
#include "resolve/test_env.h"
#include "resolve/test_transfer_messages.h"
#include "resolve/transfer.h"

#define KEY "hmac-sha256:key:c2VjcmV0"

struct run {
	struct env *e;
	struct resolve_transfer t;
	struct dns_tsig_key key, server_key;
	struct dns_tsig tsig; /* the server's */
	struct strbuf out;
	unsigned done;
};

static int note_record(struct resolve_transfer *transfer,
		       const struct resolve_transfer_record *record)
{
	struct run *run = CONTAINER_OF(transfer, struct run, t);
	strbuf_addf(&run->out, "%c%.*s", record->is_deletion ? '-' : '+', record->rdata[0],
		    (const char *)record->rdata + 1);
	return 0;
}

static void note_done(struct resolve_transfer *transfer)
{
	CONTAINER_OF(transfer, struct run, t)->done++;
}

static struct run *run_new(const char *server_key, const uint32_t *serial)
{
	struct run *run = xcalloc(1, sizeof(*run));
	run->e = env_new(NULL);
	strbuf_init(&run->out);
	assert_int_equal(dns_tsig_key_parse(&run->key, SLICE(KEY), (struct err_text){ 0 }), 0);
	assert_int_equal(
		dns_tsig_key_parse(&run->server_key, slice_of(server_key), (struct err_text){ 0 }),
		0);
	run->t = (struct resolve_transfer){ .loop = run->e->loop,
					    .server = *fakeup_addr(run->e->fake),
					    .zone = transfer_zone,
					    .key = &run->key,
					    .incremental = serial != NULL,
					    .serial = serial != NULL ? *serial : 0,
					    .timeout_ns = 5 * NS_PER_S,
					    .max_records = 100,
					    .max_bytes = 100000,
					    .record = note_record,
					    .done = note_done };
	resolve_transfer_start(&run->t);
	assert_int_equal(run->done, 0);
	env_turn(run->e);
	env_turn(run->e);
	return run;
}

static void run_free(struct run *run)
{
	resolve_transfer_cancel(&run->t);
	dns_tsig_done(&run->tsig);
	env_free(run->e);
	dns_tsig_key_done(&run->key);
	dns_tsig_key_done(&run->server_key);
	strbuf_done(&run->out);
	free(run);
}

/* Takes the request and verifies it. */
static void take_request(struct run *run, const char *want, enum dns_tsig_result result)
{
	size_t n;
	const char *text = fakeup_next(run->e->fake);
	assert_non_null(text);
	assert_string_equal(text, want);
	const uint8_t *request = fakeup_query(run->e->fake, &n);
	dns_tsig_done(&run->tsig);
	struct dns_tsig_report report = dns_tsig_verify_request(&run->tsig, &run->server_key, 1,
								request, n, env_now / NS_PER_S);
	assert_int_equal(report.result, result);
}

enum how { SIGNED, UNSIGNED_PART, SPOILT };

static void send_message(struct run *run, const char *script, enum how how)
{
	struct transfer_message message;
	message_start(&message, 0, true);
	message_add_script(&message, script);
	if (how != UNSIGNED_PART) {
		int n = dns_tsig_sign_answer(&run->tsig, message.bytes, message.n,
					     sizeof(message.bytes), env_now / NS_PER_S);
		assert_true(n > 0);
		message.n = (size_t)n;
	}
	if (how == SPOILT)
		message.bytes[message.n - 10] ^= 1; /* of the MAC */
	fakeup_bytes(run->e->fake, message.bytes, message.n);
	env_turn(run->e);
}

static void expect(const struct run *run, int result, const char *records, const char *why)
{
	char text[400];
	char server[NET_ADDR_TEXT_MAX];
	assert_int_equal(run->done, 1);
	if (run->t.result != result)
		print_error("%s\n", run->t.error);
	assert_int_equal(run->t.result, result);
	assert_string_equal(run->out.n != 0 ? run->out.s : "", records);
	net_addr_str(&run->t.server, server);
	snprintf(text, sizeof(text), "%s%s%s", result < 0 ? server : "", result < 0 ? ": " : "",
		 why);
	assert_string_equal(run->t.error, text);
}

static void whole_zone(void **state)
{
	struct run *run = run_new(KEY, NULL);
	(void)state;
	take_request(run, "tcp example. IN AXFR", DNS_TSIG_OK);
	send_message(run, "9 a", SIGNED);
	assert_int_equal(run->done, 0);
	send_message(run, "b", SIGNED);
	send_message(run, "c 9", SIGNED);
	expect(run, 0, "+a+b+c", "");
	assert_int_equal(run->t.new_serial, 9);
	assert_false(run->t.is_current);
	run_free(run);
}

static void differences(void **state)
{
	uint32_t serial = 70000;
	struct run *run = run_new(KEY, &serial);
	size_t n;
	(void)state;
	take_request(run, "tcp example. IN SOA", DNS_TSIG_OK);
	send_message(run, "70002", SIGNED);
	env_turn(run->e);
	take_request(run, "tcp example. IN IXFR", DNS_TSIG_OK);
	const uint8_t *request = fakeup_query(run->e->fake, &n);
	/* behind the question: a pointer, the fixed part, two roots, the serial */
	assert_int_equal(dns_get32(request + 12 + 13 + 2 + 10 + 2), serial);
	send_message(run, "70003 70000 a 70003 b", SIGNED);
	send_message(run, "70003", SIGNED);
	expect(run, 0, "-a+b", "");
	assert_int_equal(run->t.new_serial, 70003);
	assert_int_equal(fakeup_accepted(run->e->fake), 1);
	run_free(run);
}

static void nothing_new(void **state)
{
	uint32_t serial = 70000;
	struct run *run = run_new(KEY, &serial);
	(void)state;
	take_request(run, "tcp example. IN SOA", DNS_TSIG_OK);
	send_message(run, "70000", SIGNED);
	expect(run, 0, "", "");
	assert_true(run->t.is_current);
	run_free(run);
	run = run_new(KEY, &serial);
	take_request(run, "tcp example. IN SOA", DNS_TSIG_OK);
	send_message(run, "70001 a", SIGNED);
	assert_int_equal(run->t.result, ERR_PARSE);
	run_free(run);
}

/* RFC 8945 section 5.3.1: not every message is signed, but the last one is. */
static void some_unsigned(void **state)
{
	struct run *run = run_new(KEY, NULL);
	(void)state;
	take_request(run, "tcp example. IN AXFR", DNS_TSIG_OK);
	send_message(run, "9 a", SIGNED);
	send_message(run, "b 9", UNSIGNED_PART);
	expect(run, ERR_DENIED, "+a+b", "the last message of the transfer is not signed");
	run_free(run);
}

static void wrong_signatures(void **state)
{
	(void)state;
	struct run *run = run_new(KEY, NULL);
	take_request(run, "tcp example. IN AXFR", DNS_TSIG_OK);
	send_message(run, "9 a", SIGNED);
	send_message(run, "b 9", SPOILT);
	assert_int_equal(run->done, 1);
	assert_int_equal(run->t.result, ERR_DENIED);
	assert_string_equal(run->out.s, "+a"); /* nothing of a message whose MAC is wrong */
	run_free(run);

	run = run_new("hmac-sha256:other:c2VjcmV0", NULL);
	take_request(run, "tcp example. IN AXFR", DNS_TSIG_BADKEY);
	struct transfer_message message;
	message_start(&message, 0, true);
	message.bytes[3] = DNS_RCODE_NOTAUTH;
	int n = dns_tsig_sign_answer(&run->tsig, message.bytes, message.n, sizeof(message.bytes),
				     env_now / NS_PER_S);
	assert_true(n > 0);
	fakeup_bytes(run->e->fake, message.bytes, (size_t)n);
	env_turn(run->e);
	expect(run, ERR_DENIED, "",
	       "the server does not accept TSIG key 'key.' (BADKEY): it does not know its name and "
	       "algorithm, or the key has no rights");
	run_free(run);
}

/* Without a signature: an error is reported, records are not used. */
static void unsigned_answers(void **state)
{
	(void)state;
	struct run *run = run_new(KEY, NULL);
	struct transfer_message message;
	take_request(run, "tcp example. IN AXFR", DNS_TSIG_OK);
	message_start(&message, 0, true);
	message.bytes[3] = DNS_RCODE_REFUSED;
	fakeup_bytes(run->e->fake, message.bytes, message.n);
	env_turn(run->e);
	expect(run, ERR_DENIED, "", "the server refuses the transfer (rcode 5)");
	run_free(run);

	run = run_new(KEY, NULL);
	take_request(run, "tcp example. IN AXFR", DNS_TSIG_OK);
	send_message(run, "9 a 9", UNSIGNED_PART);
	assert_int_equal(run->t.result, ERR_DENIED);
	assert_int_equal(run->out.n, 0);
	run_free(run);
}

static void network_faults(void **state)
{
	(void)state;
	struct run *run = run_new(KEY, NULL);
	take_request(run, "tcp example. IN AXFR", DNS_TSIG_OK);
	send_message(run, "9 a", SIGNED);
	fakeup_hang_up(run->e->fake, false);
	env_turn(run->e);
	expect(run, ERR_CLOSED, "+a", err_str(ERR_CLOSED));
	run_free(run);

	run = run_new(KEY, NULL);
	env_advance(run->e, 6 * NS_PER_S);
	expect(run, -ETIMEDOUT, "", "no whole transfer in time");
	run_free(run);

	run = run_new(KEY, NULL);
	resolve_transfer_cancel(&run->t);
	env_advance(run->e, 6 * NS_PER_S);
	assert_int_equal(run->done, 0);
	/* Nobody listens. */
	fakeup_stop_tcp(run->e->fake);
	resolve_transfer_start(&run->t);
	assert_int_equal(run->done, 0);
	env_turn(run->e);
	assert_int_equal(run->done, 1);
	assert_int_equal(run->t.result, -ECONNREFUSED);
	run_free(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_zone),	    cmocka_unit_test(differences),
		cmocka_unit_test(nothing_new),	    cmocka_unit_test(some_unsigned),
		cmocka_unit_test(wrong_signatures), cmocka_unit_test(unsigned_answers),
		cmocka_unit_test(network_faults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

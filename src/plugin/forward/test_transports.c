/* SPDX-License-Identifier: GPL-3.0-or-later */
/* forward over UDP and TCP: which of them is used, and what follows truncated and missing replies. */
#include "plugin/forward/test_rig.h"

/* Longer than the client's size: header and question with TC, as CoreDNS makes of it. */
static void too_long_for_the_client(void **state)
{
	struct env *e = *state;
	uint8_t m[700] = "\0\0\201\200\0\1\0\2\0\0\0\0\1a\7example\3org\0\0\20\0\1";
	size_t at = 12 + 19 + 0;
	serve(e, ". {\n forward . @0\n}\n");
	fake_send(e->f, &(struct fake_ask){ .name = "a.example.org", .type = "TXT" });
	assert_int_equal(asked(e, "udp a.example.org. IN TXT"), 0);
	for (int i = 0; i < 2; i++) {
		static const uint8_t head[] = "\300\14\0\20\0\1\0\0\0\74\1\0\377";
		memcpy(m + at, head, sizeof(head) - 1);
		at += sizeof(head) - 1 + 255;
	}
	fakeup_bytes(e->up[0], m, at);
	assert_string_equal(reply(e), "NOERROR qr tc rd ra\nquestion a.example.org. IN TXT\n");
}

static void force_tcp(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0 {\n force_tcp\n prefer_udp\n}\n}\n");
	ask(e, "a.example.org");
	settle(e);
	assert_int_equal(asked(e, "tcp a.example.org. IN A"), 0);
	fakeup_answer(e->up[0], "a.example.org. 60 IN A 192.0.2.1");
	assert_int_equal(strncmp(reply(e), "NOERROR", 7), 0);
}

static void prefer_udp_asks_truncated_ones_again(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0 {\n prefer_udp\n}\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	fakeup_reply(e->up[0], &(struct fakeup_reply){ .set_flags = DNS_FLAG_TC });
	settle(e);
	assert_int_equal(asked(e, "tcp a.example.org. IN A"), 0);
	fakeup_reply(e->up[0], &(struct fakeup_reply){ .set_flags = DNS_FLAG_TC });
	assert_string_equal(reply(e), "NOERROR qr tc rd ra\nquestion a.example.org. IN A\n");
	assert_int_equal(asked(e, A_ORG), -1);
}

/* Without it a truncated reply is the client's business. */
static void truncated_is_relayed(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	fakeup_reply(e->up[0], &(struct fakeup_reply){ .set_flags = DNS_FLAG_TC });
	assert_string_equal(reply(e), "NOERROR qr tc rd ra\nquestion a.example.org. IN A\n");
	assert_int_equal(asked(e, A_ORG), -1);
}

/* Over UDP no more than 4096 octets are read. */
static void long_udp_replies_are_asked_over_tcp(void **state)
{
	struct env *e = *state;
	uint8_t m[5000] = "\0\0\201\200\0\1\0\1\0\0\0\0\1a\7example\3org\0\0\12\0\1"
			  "\300\14\0\12\0\1\0\0\0\74\23\132";
	serve(e, ". {\n forward . @0 {\n prefer_udp\n}\n}\n");
	fake_send(e->f,
		  &(struct fake_ask){ .name = "a.example.org", .type = "NULL", .udp_size = 65000 });
	assert_int_equal(asked(e, "udp a.example.org. IN NULL"), 0);
	fakeup_bytes(e->up[0], m, 12 + 19 + 12 + 0x135a);
	settle(e);
	assert_int_equal(asked(e, "tcp a.example.org. IN NULL"), 0);
	fakeup_bytes(e->up[0], m, 12 + 19 + 12 + 0x135a);
	assert_non_null(strstr(reply(e), "answer a.example.org. 60 IN NULL "));
}

static void refused_tcp_is_told(void **state)
{
	struct env *e = *state;
	char want[120];
	serve(e, ". {\n errors\n forward . @0 {\n force_tcp\n}\n}\n");
	fakeup_stop_tcp(e->up[0]);
	ask(e, "a.example.org");
	settle(e);
	settle(e);
	assert_int_equal(strncmp(reply(e), "SERVFAIL", 8), 0);
	snprintf(want, sizeof(want),
		 "[ERROR] plugin/errors: 2 a.example.org. A: dial tcp 127.0.0.1:%u: connect: "
		 "connection refused\n",
		 fakeup_port(e->up[0]));
	assert_non_null(strstr(fake_log(e->f), want));
}

static void silent_tcp_ends_in_time(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0 {\n force_tcp\n max_connect_attempts 1\n}\n}\n");
	ask(e, "a.example.org");
	settle(e);
	assert_int_equal(asked(e, "tcp a.example.org. IN A"), 0);
	seconds(e, 1.9);
	assert_string_equal(reply(e), "(none)");
	seconds(e, 0.2);
	assert_int_equal(strncmp(reply(e), "SERVFAIL", 8), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(too_long_for_the_client),
		T(force_tcp),
		T(prefer_udp_asks_truncated_ones_again),
		T(truncated_is_relayed),
		T(long_udp_replies_are_asked_over_tcp),
		T(refused_tcp_is_told),
		T(silent_tcp_ends_in_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

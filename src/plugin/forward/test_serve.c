/* SPDX-License-Identifier: GPL-3.0-or-later */
/* forward: queries and replies that pass, errors, several stanzas, reloads. */
#include "plugin/forward/test_rig.h"

/* ---- one upstream ---- */

static void relays_a_reply(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	assert_int_equal(fake_inflight(e->f), 1);
	fakeup_answer(e->up[0], "a.example.org. 60 IN A 192.0.2.1");
	assert_string_equal(reply(e), "NOERROR qr rd ra\nquestion a.example.org. IN A\n"
				      "answer a.example.org. 60 IN A 192.0.2.1\n");
	assert_int_equal(fake_inflight(e->f), 0);
}

/* EDNS, AD and CD pass unchanged, with another id. */
static void query_passes_unchanged(void **state)
{
	struct env *e = *state;
	size_t n;
	static const uint8_t nsid[] = { 0, 3, 0, 2, 'h', 'i' };
	serve(e, ". {\n forward . @0\n}\n");
	fake_send(e->f, &(struct fake_ask){ .name = "A.Example.ORG",
					    .type = "TXT",
					    .flags = DNS_FLAG_AD | DNS_FLAG_CD,
					    .udp_size = 4000,
					    .dnssec_ok = true,
					    .options = nsid,
					    .options_n = sizeof(nsid) });
	assert_int_equal(asked(e, "udp A.Example.ORG. IN TXT"), 0);
	const uint8_t *q = fakeup_query(e->up[0], &n);
	static const uint8_t want[] = "\0\60\0\1\0\0\0\0\0\1\1A\7Example\3ORG\0\0\20\0\1\0\0\51\17"
				      "\240\0\0\200\0\0\6\0\3\0\2hi";
	assert_int_equal(n, 2 + sizeof(want) - 1);
	assert_memory_equal(q + 2, want, sizeof(want) - 1);
}

/* A request's own records go up, too: the SOA of an IXFR. */
static void other_records_pass(void **state)
{
	struct env *e = *state;
	size_t n;
	static const uint8_t ixfr[] = "\0\1\0\0\0\1\0\0\0\1\0\0\1a\0\0\373\0\1"
				      "\300\14\0\6\0\1\0\0\0\0\0\30\300\14\300\14"
				      "\0\0\0\7\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1";
	serve(e, ". {\n forward . @0\n}\n");
	fake_send(e->f, &(struct fake_ask){ .raw = ixfr, .raw_n = sizeof(ixfr) - 1 });
	assert_int_equal(asked(e, "udp a. IN IXFR"), 0);
	const uint8_t *q = fakeup_query(e->up[0], &n);
	assert_int_equal(n, sizeof(ixfr) - 1);
	assert_memory_equal(q + 2, ixfr + 2, n - 2);
}

static void wrong_question_is_formerr(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n errors\n forward . @0\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	fakeup_reply(e->up[0], &(struct fakeup_reply){ .question = "b.example.org" });
	assert_string_equal(reply(e), "FORMERR qr rd\nquestion a.example.org. IN A\n");
	assert_string_equal(fake_log(e->f), "");
}

static void wrong_id_is_ignored(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	fakeup_reply(e->up[0], &(struct fakeup_reply){ .wrong_id = true });
	assert_string_equal(reply(e), "(none)");
	fakeup_answer(e->up[0], "a.example.org. 60 IN A 192.0.2.1");
	assert_int_equal(strncmp(reply(e), "NOERROR", 7), 0);
}

#define ODD_HEAD(additional) "\0\0\201\200\0\1\0\1\0\0\0" additional "\1a\7example\3org\0\0\1\0\1"
#define ODD_A		     "\300\14\0\1\0\1\0\0\0\74\0\4\300\0\2\1"
#define ODD_OPT		     "\0\51\4\320\0\0\0\0\0\0"
#define ODD_NSID	     "\0\51\4\320\0\0\0\0\0\6\0\3\0\2hi"

/* OPT records that no server should send: the client gets the records and one OPT, or none, and not
 * an octet more, from the upstream and from the cache. */
static void odd_opts(void **state)
{
#define ROW(what, bytes)                       \
	{                                      \
		what, bytes, sizeof(bytes) - 1 \
	}
	static const struct {
		const char *what, *bytes;
		size_t n;
	} rows[] = {
		ROW("usual", ODD_HEAD("\1") ODD_A "\0" ODD_OPT),
		ROW("of another name", ODD_HEAD("\1") ODD_A "\1x\0" ODD_OPT),
		ROW("of the question's name", ODD_HEAD("\1") ODD_A "\300\14" ODD_OPT),
		ROW("of a long name, with an option",
		    ODD_HEAD("\1") ODD_A "\11long-name\300\14" ODD_NSID),
		ROW("two", ODD_HEAD("\2") ODD_A "\0" ODD_OPT "\0" ODD_OPT),
		ROW("two of other names", ODD_HEAD("\2") ODD_A "\1x\0" ODD_NSID "\1y\0" ODD_OPT),
		ROW("three", ODD_HEAD("\3") ODD_A "\0" ODD_OPT "\0" ODD_NSID "\0" ODD_OPT),
		ROW("one before and one behind a record",
		    ODD_HEAD("\3") ODD_A "\0" ODD_OPT ODD_A "\1x\0" ODD_OPT),
	};
#undef ROW
	struct env *e = *state;
	for (size_t i = 0; i < 4 * ARRAY_LEN(rows); i++) {
		bool edns = i % 2 != 0, cached = i / 2 % 2 != 0;
		serve(e, cached ? ". {\n cache\n forward . @0\n}\n" : ". {\n forward . @0\n}\n");
		for (int hit = 0; hit <= cached; hit++) {
			size_t n, extra = i / 4 + 1 == ARRAY_LEN(rows);
			fake_send(e->f, &(struct fake_ask){ .name = "a.example.org",
							    .udp_size = edns ? 1232 : 0 });
			if (hit == 0) {
				assert_int_equal(asked(e, A_ORG), 0);
				fakeup_bytes(e->up[0], (const uint8_t *)rows[i / 4].bytes,
					     rows[i / 4].n);
			}
			const char *text = reply(e);
			const uint8_t *m = fake_wire(e->f, &n);
			const char *opt = strstr(text, "\nopt ");
			size_t want = 12 + 19 + 16 * (1 + extra) +
				      (opt != NULL ? DNS_OPT_BYTES : 0) +
				      (strstr(text, "3:6869") != NULL ? 6 : 0);
			if (strstr(text, "answer a.example.org. 60 IN A 192.0.2.1\n") == NULL ||
			    n != want || dns_get16(m + 10) != extra + (opt != NULL) ||
			    (edns && opt == NULL))
				fail_msg("%s, %s: %zu bytes instead of %zu, ARCOUNT %u:\n%s",
					 rows[i / 4].what, hit ? "hit" : "miss", n, want,
					 dns_get16(m + 10), text);
		}
		fake_free(e->f);
		e->f = NULL;
	}
}

/* More replies of a usual size at a time than there are blocks for those that need much room. */
static void many_replies_at_once(void **state)
{
	enum { N = 150, DATA = 1100 };
	struct env *e = *state;
	uint8_t m[2000] = "\0\0\201\200\0\1\0\1\0\0\0\0\1a\7example\3org\0\0\12\0\1"
			  "\300\14\0\12\0\1\0\0\0\74\4\114";
	int answered = 0;
	serve(e, ". {\n forward . @0\n}\n");
	for (int i = 0; i < N; i++)
		fake_send(e->f, &(struct fake_ask){ .name = "a.example.org",
						    .type = "NULL",
						    .udp_size = 1232 });
	for (int i = 0; i < N; i++) {
		assert_non_null(question(e, 0));
		fakeup_bytes(e->up[0], m, 12 + 19 + 12 + DATA);
	}
	for (int i = 0; i < N; i++)
		answered += strncmp(reply(e), "NOERROR", 7) == 0;
	assert_int_equal(answered, N);
}

/* When the blocks for long replies are used up, clients are told to ask over TCP. */
static void long_replies_at_once(void **state)
{
	enum { N = 100, DATA = 3000 };
	struct env *e = *state;
	uint8_t m[4000] = "\0\0\201\200\0\1\0\1\0\0\0\0\1a\7example\3org\0\0\12\0\1"
			  "\300\14\0\12\0\1\0\0\0\74\13\270";
	int whole = 0, truncated = 0;
	serve(e, ". {\n forward . @0\n}\n");
	for (int i = 0; i < N; i++)
		fake_send(e->f, &(struct fake_ask){ .name = "a.example.org",
						    .type = "NULL",
						    .udp_size = 4096 });
	for (int i = 0; i < N; i++) {
		assert_non_null(question(e, 0));
		fakeup_bytes(e->up[0], m, 12 + 19 + 12 + DATA);
	}
	for (int i = 0; i < N; i++) {
		const char *text = reply(e);
		whole += strncmp(text, "NOERROR qr rd ra\n", 17) == 0;
		truncated += strncmp(text, "NOERROR qr tc rd ra\n", 20) == 0;
	}
	assert_true(whole >= 32);
	assert_int_equal(whole + truncated, N);
}

/* ---- errors ---- */

static void time_out_is_servfail(void **state)
{
	struct env *e = *state;
	char want[200];
	serve(e, ". {\n errors\n forward . @0\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	seconds(e, 1.9);
	assert_int_equal(asked(e, A_ORG), -1);
	seconds(e, 0.2);
	assert_int_equal(asked(e, A_ORG), 0); /* twice for each upstream */
	assert_string_equal(reply(e), "(none)");
	seconds(e, 2.1);
	assert_string_equal(reply(e), "SERVFAIL qr rd\nquestion a.example.org. IN A\n");
	snprintf(want, sizeof(want), "->127.0.0.1:%u: i/o timeout\n", fakeup_port(e->up[0]));
	const char *log = fake_log(e->f);
	assert_non_null(
		strstr(log, "[ERROR] plugin/errors: 2 a.example.org. A: read udp 127.0.0.1:"));
	assert_non_null(strstr(log, want));
}

/* Nobody waits for more than 5 s, however many are silent. */
static void five_seconds_in_all(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0 @1 @2 {\n policy sequential\n}\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	seconds(e, 2.01);
	assert_int_equal(asked(e, A_ORG), 1);
	seconds(e, 2.01);
	assert_int_equal(asked(e, A_ORG), 2);
	seconds(e, 0.97);
	assert_string_equal(reply(e), "SERVFAIL qr rd\nquestion a.example.org. IN A\n");
	assert_int_equal(asked(e, A_ORG), -1);
}

static void cancel_ends_the_wait(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n cancel 1s\n forward . @0\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	seconds(e, 1.1);
	assert_string_equal(reply(e), "SERVFAIL qr rd\nquestion a.example.org. IN A\n");
}

static void refused_goes_to_the_next(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0 @1 {\n policy sequential\n}\n}\n");
	fakeup_stop_udp(e->up[0]);
	ask(e, "a.example.org");
	settle(e);
	assert_int_equal(asked(e, A_ORG), 1);
	fakeup_answer(e->up[1], "a.example.org. 60 IN A 192.0.2.1");
	assert_int_equal(strncmp(reply(e), "NOERROR", 7), 0);
}

static int links_used(struct env *e, const char *kind)
{
	char line[160];
	snprintf(line, sizeof(line),
		 "coredns_proxy_conn_cache_%s_total{proto=\"udp\",proxy_name=\"forward\","
		 "to=\"127.0.0.1:%u\"}",
		 kind, fakeup_port(e->up[0]));
	double v = fake_metric(e->f, line);
	return v < 0 ? 0 : (int)v;
}

static void attempts_are_counted(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n errors\n forward . @0 {\n max_connect_attempts 3\n max_fails 0\n}\n}\n");
	fakeup_stop_udp(e->up[0]);
	ask(e, "a.example.org");
	for (int i = 0; i < 6; i++)
		settle(e);
	assert_string_equal(reply(e), "SERVFAIL qr rd\nquestion a.example.org. IN A\n");
	assert_int_equal(links_used(e, "misses") + links_used(e, "hits"), 3);
	assert_non_null(strstr(fake_log(e->f), ": read: connection refused\n"));
}

/* ---- stanzas and rcodes ---- */

static void next_forward_of_the_block(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0 {\n next NXDOMAIN\n next_on_nodata\n}\n forward . @1\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	fakeup_reply(e->up[0], &(struct fakeup_reply){ .rcode = 3 });
	settle(e);
	assert_int_equal(asked(e, A_ORG), 1);
	fakeup_answer(e->up[1], "a.example.org. 60 IN A 192.0.2.1");
	assert_int_equal(strncmp(reply(e), "NOERROR", 7), 0);
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	fakeup_answer(e->up[0], "");
	settle(e);
	assert_int_equal(asked(e, A_ORG), 1);
	fakeup_reply(e->up[1], &(struct fakeup_reply){ .rcode = 3 });
	assert_int_equal(strncmp(reply(e), "NXDOMAIN", 8), 0);
}

static void failover_ends_with_the_last(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0 @1 {\n policy sequential\n failover SERVFAIL REFUSED\n}\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	fakeup_reply(e->up[0], &(struct fakeup_reply){ .rcode = 2 });
	settle(e);
	assert_int_equal(asked(e, A_ORG), 1);
	fakeup_reply(e->up[1], &(struct fakeup_reply){ .rcode = 5 });
	assert_int_equal(strncmp(reply(e), "REFUSED", 7), 0);
}

static void except_goes_to_the_next_plugin(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward example.org @0 {\n except example.org\n}\n whoami\n}\n");
	ask(e, "a.example.org");
	assert_non_null(strstr(reply(e), "_udp."));
	ask(e, "example.org"); /* FROM itself is never excluded */
	assert_int_equal(asked(e, "udp example.org. IN A"), 0);
}

static void too_many_at_once(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n errors\n forward . @0 {\n max_concurrent 2\n}\n}\n");
	double before = fake_metric(e->f, "coredns_forward_max_concurrent_rejects_total");
	ask(e, "a.example.org");
	ask(e, "a.example.org");
	ask(e, "b.example.org");
	assert_string_equal(reply(e), "REFUSED qr rd\nquestion b.example.org. IN A\n");
	assert_non_null(strstr(fake_log(e->f), "[ERROR] plugin/errors: 5 b.example.org. A: "
					       "concurrent queries exceeded maximum 2\n"));
	assert_true(fake_metric(e->f, "coredns_forward_max_concurrent_rejects_total") ==
		    before + 1);
	assert_int_equal(asked(e, A_ORG), 0);
	fakeup_answer(e->up[0], "");
	assert_int_equal(strncmp(reply(e), "NOERROR", 7), 0);
	ask(e, "c.example.org"); /* one left, so there is room */
	assert_string_equal(reply(e), "(none)");
}

/* ---- additions ---- */

static void random_case_is_checked(void **state)
{
	struct env *e = *state;
	size_t n;
	serve(e, ". {\n forward . @0 {\n random_case\n}\n}\n");
	fake_send(e->f, &(struct fake_ask){ .name = "abcdefghijklmnopqrstuvwxyz.example.org" });
	assert_non_null(fakeup_next(e->up[0]));
	const uint8_t *q = fakeup_query(e->up[0], &n);
	assert_memory_not_equal(q + 12, "\32abcdefghijklmnopqrstuvwxyz", 27);
	fakeup_answer(e->up[0], "");
	assert_string_equal(reply(e), "NOERROR qr rd ra\n"
				      "question abcdefghijklmnopqrstuvwxyz.example.org. IN A\n");
}

/* Names as long as they can be, with all that touches a name or the message around it. */
static void longest_names_pass(void **state)
{
	static const char *const options[] = { "",
					       "random_case",
					       "cookies",
					       "random_case\n cookies",
					       "random_case\n hedge 1s",
					       "prefer_udp" };
	struct env *e = *state;
	for (size_t i = 0; i < ARRAY_LEN(options) * LONGEST_NAMES; i++) {
		const char *name = longest_names[i % LONGEST_NAMES];
		char text[200], record[700];
		snprintf(text, sizeof(text), ". {\n forward . @0 {\n %s\n}\n}\n",
			 options[i / LONGEST_NAMES]);
		serve(e, text);
		fake_send(e->f, &(struct fake_ask){ .name = name, .udp_size = 1232 });
		const char *got = fakeup_next(e->up[0]);
		assert_non_null(got);
		assert_int_equal(strncasecmp(got + 4, name, strlen(name)), 0);
		snprintf(record, sizeof(record), "%s 60 IN CNAME %s", name, name);
		fakeup_answer(e->up[0], record);
		assert_non_null(strstr(reply(e), record));
		fake_free(e->f);
		e->f = NULL;
	}
}

/* ---- life ---- */

static void metadata_names_the_upstream(void **state)
{
	struct env *e = *state;
	char want[80];
	serve(e, ". {\n metadata\n log . \"up={/forward/upstream}\"\n forward example.org @0\n"
		 " whoami\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	fakeup_answer(e->up[0], "");
	reply(e);
	snprintf(want, sizeof(want), "up=127.0.0.1:%u\n", fakeup_port(e->up[0]));
	assert_non_null(strstr(fake_log(e->f), want));
	ask(e, "a.example.net");
	reply(e);
	assert_non_null(strstr(fake_log(e->f), "up=-\n"));
}

static void durations_are_counted(void **state)
{
	struct env *e = *state;
	char line[200];
	serve(e, ". {\n forward . @0\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	seconds(e, 0.003);
	fakeup_reply(e->up[0], &(struct fakeup_reply){ .rcode = 3 });
	assert_int_equal(strncmp(reply(e), "NXDOMAIN", 8), 0);
	snprintf(line, sizeof(line),
		 "coredns_forward_requests_total{to=\"127.0.0.1:%u\",type=\"A\"}",
		 fakeup_port(e->up[0]));
	assert_true(fake_metric(e->f, line) == 1);
	static const struct {
		const char *suffix, *le;
		double want;
	} rows[] = {
		{ "bucket", ",le=\"0.002\"", 0 },
		{ "bucket", ",le=\"0.004\"", 1 },
		{ "count", "", 1 },
		{ "sum", "", 0.003 },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(line, sizeof(line),
			 "coredns_proxy_request_duration_seconds_%s{proxy_name=\"forward\","
			 "rcode=\"NXDOMAIN\",to=\"127.0.0.1:%u\"%s}",
			 rows[i].suffix, fakeup_port(e->up[0]), rows[i].le);
		double got = fake_metric(e->f, line);
		assert_true(got > rows[i].want - 1e-9 && got < rows[i].want + 1e-9);
	}
}

/* Queries that wait finish under the configuration they came in with. */
static void reload_keeps_waiting_queries(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	assert_true(fake_reload(e->f, corefile(e, ". {\n forward . @1\n}\n")));
	ask(e, "b.example.org");
	assert_int_equal(asked(e, "udp b.example.org. IN A"), 1);
	fakeup_answer(e->up[0], "a.example.org. 60 IN A 192.0.2.1");
	assert_string_equal(reply(e), "NOERROR qr rd ra\nquestion a.example.org. IN A\n"
				      "answer a.example.org. 60 IN A 192.0.2.1\n");
	fakeup_answer(e->up[1], "");
	assert_string_equal(reply(e), "NOERROR qr rd ra\nquestion b.example.org. IN A\n");
}

static void stop_while_queries_wait(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0 {\n hedge 20ms\n}\n}\n");
	for (int i = 0; i < 20; i++)
		ask(e, "a.example.org");
	assert_int_equal(fake_inflight(e->f), 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(relays_a_reply),
		T(query_passes_unchanged),
		T(other_records_pass),
		T(wrong_question_is_formerr),
		T(wrong_id_is_ignored),
		T(many_replies_at_once),
		T(long_replies_at_once),
		T(time_out_is_servfail),
		T(five_seconds_in_all),
		T(cancel_ends_the_wait),
		T(refused_goes_to_the_next),
		T(attempts_are_counted),
		T(next_forward_of_the_block),
		T(failover_ends_with_the_last),
		T(except_goes_to_the_next_plugin),
		T(too_many_at_once),
		T(odd_opts),
		T(random_case_is_checked),
		T(longest_names_pass),
		T(metadata_names_the_upstream),
		T(durations_are_counted),
		T(reload_keeps_waiting_queries),
		T(stop_while_queries_wait),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

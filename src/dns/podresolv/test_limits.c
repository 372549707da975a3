/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits of each profile, at the exact number, with kubelet's Events. */
#include "dns/podresolv/podresolv.h"

#include "dns/podresolv/test_podresolv.h"

#define SEARCH_EVENT                                                                          \
	"Search Line limits were exceeded, some search paths have been omitted, the applied " \
	"search line is: "
#define SERVER_EVENT                                                                        \
	"Nameserver limits were exceeded, some nameservers have been omitted, the applied " \
	"nameserver line is: "

/* Letters that stand for runs of them: "B256" is 256 times B. */
static void expand_runs(struct strbuf *out, const char *text)
{
	struct slice rest = slice_of(text);
	while (rest.n > 0) {
		struct slice word = slice_cut(&rest, ' ');
		uint64_t n;
		if (out->n > 0)
			strbuf_addc(out, ' ');
		if (word.n > 2 && slice_u64(slice_from(word, 1), &n) == 0) {
			while (n-- > 0)
				strbuf_addc(out, word.p[0]);
		} else {
			strbuf_add_slice(out, word);
		}
	}
}

struct outcome {
	struct arena arena;
	struct test_config own;
	struct podresolv_result result;
};

static void compute_lists(struct outcome *outcome, const char *nameservers, const char *searches,
			  enum podresolv_profile profile)
{
	*outcome = (struct outcome){ 0 };
	struct podresolv_input input = {
		.ns = SLICE("testNS"),
		.policy = PODRESOLV_NONE,
		.config = set_config(&outcome->own, nameservers, searches, ""),
		.profile = profile,
	};
	arena_init(&outcome->arena);
	assert_int_equal(podresolv_compute(&input, &outcome->arena, &outcome->result,
					   (struct err_text){ NULL, 0 }),
			 0);
}

/* The finding that is no lint, or NULL. */
static const struct podresolv_finding *only_event(const struct podresolv_result *result)
{
	const struct podresolv_finding *found = NULL;
	for (size_t i = 0; i < result->n_findings; i++) {
		if (result->findings[i].severity == PODRESOLV_LINT)
			continue;
		assert_null(found);
		found = &result->findings[i];
	}
	return found;
}

#define SIX "testNS.svc.TEST svc.TEST TEST AAA BBB CCC"
#define UP_TO_31                                                                                  \
	"testNS.svc.TEST svc.TEST TEST 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 " \
	"25 26 27 28 29 30 31"
#define CHARS_2048 "A128 B127 C127 D127 E127 F127 G127 H127 I127 J127 K127 L127 M127 N127 O127 P127"

/* The nine lists of kubelet's test (profile seed has the limits it once had), then ours. PD-25 */
static void searches(void **state)
{
	static const struct {
		enum podresolv_profile profile;
		const char *searches, *kept;
		bool is_cut;
	} rows[] = {
		{ PODRESOLV_SEED, "testNS.svc.TEST svc.TEST TEST", "testNS.svc.TEST svc.TEST TEST",
		  false },
		{ PODRESOLV_SEED, "testNS.svc.TEST svc.TEST TEST AAA BBB",
		  "testNS.svc.TEST svc.TEST TEST AAA BBB", false },
		{ PODRESOLV_SEED, "testNS.svc.TEST svc.TEST TEST AAA B256 BBB",
		  "testNS.svc.TEST svc.TEST TEST AAA BBB", true },
		{ PODRESOLV_KUBELET, CHARS_2048, CHARS_2048, false },
		{ PODRESOLV_KUBELET, CHARS_2048 " B", CHARS_2048, true },
		{ PODRESOLV_KUBELET, "testNS.svc.TEST svc.TEST TEST AAA B256 BBB",
		  "testNS.svc.TEST svc.TEST TEST AAA BBB", true },
		{ PODRESOLV_SEED, SIX " DDD", SIX, true },
		{ PODRESOLV_KUBELET, UP_TO_31 " 32", UP_TO_31 " 32", false },
		{ PODRESOLV_KUBELET, UP_TO_31 " 32 33", UP_TO_31 " 32", true },
		/* 2049 characters; 253 and 254 in one; an overlong one takes the place of another. */
		{ PODRESOLV_KUBELET,
		  "A129 "
		  "B127 C127 D127 E127 F127 G127 H127 I127 J127 K127 L127 M127 N127 O127 P127",
		  "A129 "
		  "B127 C127 D127 E127 F127 G127 H127 I127 J127 K127 L127 M127 N127 O127",
		  true },
		{ PODRESOLV_KUBELET, "A253 b", "A253 b", false },
		{ PODRESOLV_KUBELET, "A254 b", "b", true },
		{ PODRESOLV_KUBELET, "A254 " UP_TO_31 " 33", UP_TO_31, true },
		/* 256 and 257 characters, six and seven domains. */
		{ PODRESOLV_SEED, "A128 B127", "A128 B127", false },
		{ PODRESOLV_SEED, "A128 B128", "A128", true },
		{ PODRESOLV_SEED, SIX, SIX, false },
		/* 247 and 248: also with one domain. */
		{ PODRESOLV_LIBC_SAFE, "A123 B123", "A123 B123", false },
		{ PODRESOLV_LIBC_SAFE, "A123 B124", "A123", true },
		{ PODRESOLV_LIBC_SAFE, "A247", "A247", false },
		{ PODRESOLV_LIBC_SAFE, "A248", "", true },
		{ PODRESOLV_LIBC_SAFE, UP_TO_31 " 32", UP_TO_31 " 32", false },
		{ PODRESOLV_LIBC_SAFE, UP_TO_31 " 32 33", UP_TO_31 " 32", true },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done)
		struct strbuf text = STRBUF_INIT, want = STRBUF_INIT, got = STRBUF_INIT,
			      message = STRBUF_INIT;
		struct outcome outcome;
		expand_runs(&text, rows[i].searches);
		expand_runs(&want, rows[i].kept);
		compute_lists(&outcome, "", text.s, rows[i].profile);
		print_entries(&got, "", &outcome.result.searches);
		if (strcmp(got.n > 0 ? got.s + 1 : "", want.s) != 0)
			fail_msg("row %zu: got '%s', not '%s'", i, got.s, want.s);
		const struct podresolv_finding *event = only_event(&outcome.result);
		assert_int_equal(event != NULL, rows[i].is_cut);
		if (event != NULL) {
			strbuf_addf(&message, SEARCH_EVENT "%s", want.s);
			if (rows[i].profile != PODRESOLV_SEED)
				assert_string_equal(event->message, message.s);
			assert_string_equal(event->reason, "DNSConfigForming");
			assert_int_equal(event->severity, rows[i].profile == PODRESOLV_SEED
								  ? PODRESOLV_REFUSAL
								  : PODRESOLV_EVENT);
		}
		arena_done(&outcome.arena);
	}
}

/* A refusal has applied nothing: it says what is too much, and how much is allowed. */
static void refusals(void **state)
{
	static const struct {
		const char *nameservers, *searches, *message;
	} rows[] = {
		{ "", SIX " DDD",
		  "the merged search list has 7 domains and 45 characters, the longest domain 15; "
		  "the profile allows 6 domains, 256 characters, and 253 in a domain" },
		{ "", "A128 B128",
		  "the merged search list has 2 domains and 257 characters, the longest domain "
		  "128; the profile allows 6 domains, 256 characters, and 253 in a domain" },
		{ "", "A254 b",
		  "the merged search list has 2 domains and 256 characters, the longest domain "
		  "254; the profile allows 6 domains, 256 characters, and 253 in a domain" },
		{ "127.0.0.1 10.0.0.10 8.8.8.8 1.2.3.4 10.0.0.10", "",
		  "the merged list has 4 name servers; the profile allows 3" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		struct outcome outcome;
		expand_runs(&text, rows[i].searches);
		compute_lists(&outcome, rows[i].nameservers, text.s, PODRESOLV_SEED);
		const struct podresolv_finding *refusal = only_event(&outcome.result);
		if (refusal == NULL) {
			fail_msg("row %zu is not refused", i);
			return;
		}
		assert_string_equal(refusal->message, rows[i].message);
		assert_int_equal(refusal->severity, PODRESOLV_REFUSAL);
		arena_done(&outcome.arena);
	}
}

/* PD-24 */
static void nameservers(void **state)
{
	static const struct {
		const char *nameservers, *kept;
		bool is_cut;
	} rows[] = {
		{ "127.0.0.1", " 127.0.0.1", false },
		{ "127.0.0.1 10.0.0.10 8.8.8.8", " 127.0.0.1 10.0.0.10 8.8.8.8", false },
		{ "127.0.0.1 10.0.0.10 8.8.8.8 1.2.3.4", " 127.0.0.1 10.0.0.10 8.8.8.8", true },
		{ "::1 0::1 ::0:1 0::0001 ::2 ::3", " ::1 ::2 ::3", false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
		struct outcome outcome;
		compute_lists(&outcome, rows[i].nameservers, "", PODRESOLV_KUBELET);
		print_entries(&got, "", &outcome.result.nameservers);
		assert_string_equal(got.s, rows[i].kept);
		const struct podresolv_finding *event = only_event(&outcome.result);
		assert_int_equal(event != NULL, rows[i].is_cut);
		if (event != NULL)
			assert_string_equal(event->message,
					    SERVER_EVENT "127.0.0.1 10.0.0.10 8.8.8.8");
		arena_done(&outcome.arena);
	}
}

/* PD-26 */
static void host_files(void **state)
{
	static const struct {
		const char *searches, *zone, *message;
	} rows[] = {
		{ UP_TO_31 " 32", "", NULL },
		{ UP_TO_31 " 32 33", "",
		  "Resolv.conf file '/etc/x\"y' contains search line consisting of more than 32 "
		  "domains!" },
		{ "a b c d e f g h i j k l m n o p q r s t u v w x y z A B C", "z", NULL },
		{ "a b c d e f g h i j k l m n o p q r s t u v w x y z A B C D", "z",
		  "Resolv.conf file '/etc/x\"y' contains search line consisting of more than 29 "
		  "domains!" },
		{ "A253", "z", NULL },
		{ "A254", "z",
		  "Resolv.conf file \"/etc/x\\\"y\" contains a search path which length is more "
		  "than allowed 253 chars!" },
		{ CHARS_2048, "z", NULL },
		{ CHARS_2048 " Q", "z",
		  "Resolv.conf file '/etc/x\"y' contains search line which length is more than "
		  "allowed 2048 chars!" },
	};
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		struct test_config host = { 0 };
		struct podresolv_finding finding;
		expand_runs(&text, rows[i].searches);
		set_config(&host, "", text.s, "");
		bool is_past = podresolv_check_host(&host.config, slice_of(rows[i].zone),
						    "/etc/x\"y", &arena, &finding);
		assert_int_equal(is_past, rows[i].message != NULL);
		if (!is_past)
			continue;
		assert_string_equal(finding.message, rows[i].message);
		assert_string_equal(finding.reason, "CheckLimitsForResolvConf");
		assert_true(finding.on_node);
	}
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(searches),
		cmocka_unit_test(refusals),
		cmocka_unit_test(nameservers),
		cmocka_unit_test(host_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

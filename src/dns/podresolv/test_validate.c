/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is refused: the 40 cases of kube-apiserver's own tests, with its words, and what is ours. */
#include "dns/podresolv/podresolv.h"

#include "dns/podresolv/test_podresolv.h"

static const char *const type_words[] = {
	[PODRESOLV_REQUIRED] = "Required value",
	[PODRESOLV_INVALID] = "Invalid value",
	[PODRESOLV_UNSUPPORTED] = "Unsupported value",
};

/* "FIELD: TYPE: VALUE: DETAIL\n" each. */
static void validate(struct strbuf *out, const char *policy, const struct podresolv_config *config,
		     enum podresolv_profile profile)
{
	struct arena arena;
	struct podresolv_errors errors;
	arena_init(&arena);
	podresolv_validate(slice_of(policy), config, profile, &arena, &errors);
	for (size_t i = 0; i < errors.n; i++) {
		strbuf_addf(out, "%s: %s", errors.v[i].field, type_words[errors.v[i].type]);
		if (errors.v[i].value != NULL)
			strbuf_addf(out, ": %s", errors.v[i].value);
		if (errors.v[i].detail[0] != '\0')
			strbuf_addf(out, ": %s", errors.v[i].detail);
		strbuf_addc(out, '\n');
	}
	arena_done(&arena);
}

#define DOMAIN_WORDS                                                                            \
	": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, " \
	"'_', '-' or '.', and must start and end with an alphanumeric character (e.g. "         \
	"'example.com', regex used for validation is "                                          \
	"'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')\n"
#define NO_ADDRESS ": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)\n"
#define POLICIES                                                                           \
	": supported values: \"ClusterFirstWithHostNet\", \"ClusterFirst\", \"Default\", " \
	"\"None\"\n"
#define SIX	 "custom mydomain.com local cluster.local svc.cluster.local default.svc.cluster.local."
#define UP_TO_32 SIX " 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32"

struct row {
	const char *policy, *nameservers, *searches, *options;
	const char *want;
	bool no_config;
};

static void check_rows(const struct row *rows, size_t n, enum podresolv_profile profile)
{
	for (size_t i = 0; i < n; i++) {
		CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
		struct test_config own = { 0 };
		set_config(&own, rows[i].nameservers, rows[i].searches, rows[i].options);
		validate(&got, rows[i].policy, rows[i].no_config ? NULL : &own.config, profile);
		if (strcmp(got.s, rows[i].want) != 0)
			fail_msg("row %zu: got '%s', not '%s'", i, got.s, rows[i].want);
	}
}

/* PD-7: four policies and two that are none. */
static void policies(void **state)
{
	static const struct row rows[] = {
		{ "ClusterFirst", "", "", "", "", true },
		{ "Default", "", "", "", "", true },
		{ "ClusterFirstWithHostNet", "", "", "", "", true },
		{ "None", "192.0.2.1", "", "", "", false },
		{ "invalid", "", "", "", "dnsPolicy: Unsupported value: \"invalid\"" POLICIES,
		  true },
		{ "", "", "", "", "dnsPolicy: Required value\n", true },
		/* Ours: the older word is no policy of an API server (PD-6). */
		{ "Custom", "1.2.3.4", "", "", "dnsPolicy: Unsupported value: \"Custom\"" POLICIES,
		  false },
	};
	static const struct row seed[] = {
		{ "Custom", "1.2.3.4", "", "", "", false },
		{ "Custom", "", "", "",
		  "dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None\n",
		  true },
	};
	(void)state;
	check_rows(rows, ARRAY_LEN(rows), PODRESOLV_KUBELET);
	check_rows(rows, ARRAY_LEN(rows), PODRESOLV_LIBC_SAFE);
	check_rows(seed, ARRAY_LEN(seed), PODRESOLV_SEED);
}

/* The 22 of ValidatePodDNSConfig but for the lengths, which are below (PD-23, PD-28, PD-31 to
 * PD-33), and the older rule for leading zeros, which is switched off by default. */
static void configs(void **state)
{
	static const struct row rows[] = {
		{ "ClusterFirst", "", "", "", "", false },
		{ "ClusterFirst", "", "", "ndots:2", "", false },
		{ "ClusterFirst", "127.0.0.1", "", "", "", false },
		{ "None", "127.0.0.1", "", "", "", false },
		{ "ClusterFirst", "", "custom", "", "", false },
		{ "ClusterFirst", "", "custom.", "", "", false },
		{ "ClusterFirst", "127.0.0.1 10.0.0.10 8.8.8.8", SIX, "", "", false },
		{ "ClusterFirst", "127.0.0.1 10.0.0.10 8.8.8.8", UP_TO_32, "", "", false },
		{ "ClusterFirst", "FE80::0202:B3FF:FE1E:8329", "", "", "", false },
		{ "ClusterFirst", "127.0.0.1 10.0.0.10 8.8.8.8 1.2.3.4", "", "",
		  "dnsConfig.nameservers: Invalid value: "
		  "[\"127.0.0.1\",\"10.0.0.10\",\"8.8.8.8\",\"1.2.3.4\"]: must not have more than "
		  "3 "
		  "nameservers\n",
		  false },
		{ "ClusterFirst", "", SIX " exceeded", "", "", false },
		{ "ClusterFirst", "", "custom?", "",
		  "dnsConfig.searches[0]: Invalid value: \"custom?\"" DOMAIN_WORDS, false },
		{ "ClusterFirst", "invalid", "", "",
		  "dnsConfig.nameservers[0]: Invalid value: \"invalid\"" NO_ADDRESS, false },
		{ "ClusterFirst", "001.002.003.004", "", "",
		  "dnsConfig.nameservers[0]: Invalid value: \"001.002.003.004\": must not have "
		  "leading 0s\n",
		  false },
		{ "ClusterFirst", "", "", ":2",
		  "dnsConfig.options[0]: Required value: must not be empty\n", false },
		{ "None", "", "custom", "",
		  "dnsConfig.nameservers: Required value: must provide at least one DNS nameserver "
		  "when `dnsPolicy` is None\n",
		  false },
		/* Beyond those. */
		{ "None", "", "", "",
		  "dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None\n",
		  true },
		{ "None", "", "CUSTOM ..", ":",
		  "dnsConfig.nameservers: Required value: must provide at least one DNS nameserver "
		  "when `dnsPolicy` is None\n",
		  false }, /* nothing else is reported */
		{ "other", "x", "", "",
		  "dnsPolicy: Unsupported value: \"other\"" POLICIES
		  "dnsConfig.nameservers[0]: Invalid value: \"x\"" NO_ADDRESS,
		  false },
		{ "Default", "192.0.2.1 ::ffff:192.0.2.1 fe80::1%eth0 192.0.2", "", "",
		  "dnsConfig.nameservers: Invalid value: "
		  "[\"192.0.2.1\",\"::ffff:192.0.2.1\",\"fe80::1%eth0\",\"192.0.2\"]: must not "
		  "have "
		  "more than 3 nameservers\n"
		  "dnsConfig.nameservers[1]: Invalid value: \"::ffff:192.0.2.1\": must not be an "
		  "IPv4-mapped IPv6 address\n"
		  "dnsConfig.nameservers[2]: Invalid value: \"fe80::1%eth0\"" NO_ADDRESS
		  "dnsConfig.nameservers[3]: Invalid value: \"192.0.2\"" NO_ADDRESS,
		  false },
	};
	(void)state;
	check_rows(rows, ARRAY_LEN(rows), PODRESOLV_KUBELET);
}

/* PD-32: the 12 of the relaxed rule, and more. */
static void search_domains(void **state)
{
	static const struct {
		const char *domain;
		bool is_valid;
		const char *shown; /* without its final dot */
	} rows[] = {
		{ "_sip._tcp.abc_d.example.com", true, "" },
		{ "abc_d.example.com", true, "" },
		{ ".", true, "" },
		{ "..", false, "." },
		{ "_.", false, "_" },
		{ "-.", false, "-" },
		{ "__.", false, "__" },
		{ ".__", false, ".__" },
		{ "._", false, "._" },
		{ "____________", false, "____________" },
		{ "example.com", true, "" },
		{ "\xe2\x98\x83.example.com", false, "\xe2\x98\x83.example.com" },
		{ "a._b", true, "" },
		{ "a.__b", false, "a.__b" },
		{ "a-b.c_d", true, "" },
		{ "a_", false, "a_" },
		{ "a-", false, "a-" },
		{ "-a", false, "-a" },
		{ "A.b", false, "A.b" },
		{ "a..b", false, "a..b" },
		{ ".a", false, ".a" },
		{ "a b", false, "a b" },
		{ "", false, "" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true,
		  "" }, /* 64 */
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT, want = STRBUF_INIT;
		struct slice domain = slice_of(rows[i].domain);
		struct podresolv_config config = { .searches = &domain, .n_searches = 1 };
		validate(&got, "ClusterFirst", &config, PODRESOLV_KUBELET);
		if (!rows[i].is_valid)
			strbuf_addf(&want, "dnsConfig.searches[0]: Invalid value: \"%s\"%s",
				    rows[i].shown, DOMAIN_WORDS);
		assert_string_equal(got.s, want.s);
	}
}

/* PD-22, PD-23: each profile at its limit and one past it. */
static void search_limits(void **state)
{
	static const struct {
		enum podresolv_profile profile;
		size_t n, characters;
		const char *detail; /* NULL: valid */
	} rows[] = {
		{ PODRESOLV_KUBELET, 6, 256, NULL },
		{ PODRESOLV_KUBELET, 6, 257, NULL },
		{ PODRESOLV_KUBELET, 32, 2048, NULL },
		{ PODRESOLV_KUBELET, 32, 2049,
		  "must not have more than 2048 characters (including spaces) in the search list" },
		{ PODRESOLV_KUBELET, 33, 300, "must not have more than 32 search paths" },
		{ PODRESOLV_SEED, 6, 256, NULL },
		{ PODRESOLV_SEED, 6, 257,
		  "must not have more than 256 characters (including spaces) in the search list" },
		{ PODRESOLV_SEED, 7, 100, "must not have more than 6 search paths" },
		{ PODRESOLV_LIBC_SAFE, 2, 247, NULL },
		{ PODRESOLV_LIBC_SAFE, 2, 248,
		  "must not have more than 247 characters (including spaces) in the search list" },
		{ PODRESOLV_LIBC_SAFE, 33, 200, "must not have more than 32 search paths" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char letters[PODRESOLV_SEARCH_CHARACTERS_MAX + 2];
		struct slice searches[33];
		struct podresolv_config config = { .searches = searches, .n_searches = rows[i].n };
		struct podresolv_errors errors;
		struct arena arena;
		arena_init(&arena);
		fill_searches(searches, rows[i].n, rows[i].characters, letters);
		podresolv_validate(SLICE("ClusterFirst"), &config, rows[i].profile, &arena,
				   &errors);
		assert_int_equal(errors.n, rows[i].detail != NULL);
		if (errors.n > 0) {
			assert_string_equal(errors.v[0].field, "dnsConfig.searches");
			assert_string_equal(errors.v[0].detail, rows[i].detail);
		}
		arena_done(&arena);
	}
}

/* 253 characters, also with a final dot; 254. */
static void domain_length(void **state)
{
	char letters[PODRESOLV_DOMAIN_MAX + 2];
	struct slice domain = { letters, PODRESOLV_DOMAIN_MAX };
	struct podresolv_config config = { .searches = &domain, .n_searches = 1 };
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	(void)state;
	memset(letters, 'a', sizeof(letters));
	validate(&got, "Default", &config, PODRESOLV_KUBELET);
	assert_string_equal(got.s, "");
	domain.n++;
	letters[PODRESOLV_DOMAIN_MAX] = '.';
	validate(&got, "Default", &config, PODRESOLV_KUBELET);
	assert_string_equal(got.s, "");
	letters[PODRESOLV_DOMAIN_MAX] = 'a';
	validate(&got, "Default", &config, PODRESOLV_KUBELET);
	assert_non_null(strstr(got.s, "must be no more than 253 characters\n"));
}

/* PD-19, PD-29: an option cannot add options, lines or servers. */
static void option_injection(void **state)
{
	static const char bad_name[] =
		": must not contain white space, control or invisible characters or ':'\n";
	static const char bad_value[] =
		": must not contain white space, control or invisible characters\n";
	const struct {
		struct podresolv_option option;
		const char *field, *shown, *detail; /* NULL: valid */
	} rows[] = {
		{ { SLICE("edns0"), SLICE("") }, NULL, NULL, NULL },
		{ { SLICE("x"), SLICE("a:b#c") }, NULL, NULL, NULL },
		{ { SLICE("ndots:1"), SLICE("") }, "name", "\"ndots:1\"", bad_name },
		{ { SLICE("a b"), SLICE("1") }, "name", "\"a b\"", bad_name },
		{ { SLICE("a\nnameserver"), SLICE("") }, "name", "\"a\\nnameserver\"", bad_name },
		{ { SLICE("a\x7f"), SLICE("") }, "name", "\"a\\x7f\"", bad_name },
		{ { SLICE("a\xc2\xa1\xc2\xbf"), SLICE("\xc2\xa1") }, NULL, NULL, NULL },
		{ { SLICE("a\xc2\x80"), SLICE("") }, "name", "\"a\\u0080\"", bad_name },
		{ { SLICE("\xc2\x9b"
			  "1m"),
		    SLICE("") },
		  "name",
		  "\"\\u009b1m\"",
		  bad_name },
		{ { SLICE("ndots\xe2\x80\x8b"), SLICE("1") },
		  "name",
		  "\"ndots\\u200b\"",
		  bad_name },
		{ { SLICE("ndots"), SLICE("\xef\xbb\xbf\x31") },
		  "value",
		  "\"\\ufeff1\"",
		  bad_value },
		{ { SLICE("ndots"), SLICE("1\xe2\x80\xae") }, "value", "\"1\\u202e\"", bad_value },
		{ { SLICE("a"), SLICE("\xc2\x9f") }, "value", "\"\\u009f\"", bad_value },
		{ { SLICE("a\xc2\xa0"), SLICE("") }, "name", "\"a\xc2\xa0\"", bad_name },
		{ { SLICE("a"), SLICE("1\nnameserver 192.0.2.1") },
		  "value",
		  "\"1\\nnameserver 192.0.2.1\"",
		  bad_value },
		{ { SLICE("a"), SLICE("1 ndots:0") }, "value", "\"1 ndots:0\"", bad_value },
		{ { SLICE("a"), SLICE("\t") }, "value", "\"\\t\"", bad_value },
		{ { SLICE("a"), SLICE("\r") }, "value", "\"\\r\"", bad_value },
	};
	(void)state;
	for (int profile = PODRESOLV_KUBELET; profile <= PODRESOLV_LIBC_SAFE; profile++) {
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT, want = STRBUF_INIT;
			struct podresolv_option option = rows[i].option;
			struct podresolv_config config = { .options = &option, .n_options = 1 };
			if (profile == PODRESOLV_SEED && rows[i].field == NULL)
				continue;
			validate(&got, "Default", &config, (enum podresolv_profile)profile);
			if (rows[i].field != NULL)
				strbuf_addf(&want, "dnsConfig.options[0].%s: Invalid value: %s%s",
					    rows[i].field, rows[i].shown, rows[i].detail);
			assert_string_equal(got.s, want.s);
		}
	}
}

/* PD-30: the seed's "invalid option for the given platform". */
static void platform_options(void **state)
{
	static const struct row rows[] = {
		{ "Default", "", "",
		  "ndots:2 timeout:1 attempts:2 rotate debug edns0 single-request "
		  "single-request-reopen no-check-names no-tld-query use-vc no-reload trust-ad "
		  "no-aaaa",
		  "", false },
		{ "Default", "", "", "edns0 inet7",
		  "dnsConfig.options[1].name: Unsupported value: \"inet7\": supported values: "
		  "\"ndots\", \"timeout\", \"attempts\", \"rotate\", \"debug\", \"edns0\", "
		  "\"single-request\", \"single-request-reopen\", \"no-check-names\", "
		  "\"no-tld-query\", \"use-vc\", \"no-reload\", \"trust-ad\", \"no-aaaa\"\n",
		  false },
		{ "Default", "", "", "ndots ndots:x",
		  "dnsConfig.options[0].value: Invalid value: \"\": must be a number\n"
		  "dnsConfig.options[1].value: Invalid value: \"x\": must be a number\n",
		  false },
		{ "Default", "", "", "edns0:1",
		  "dnsConfig.options[0].value: Invalid value: \"1\": option edns0 has no value\n",
		  false },
	};
	static const struct row others[] = { { "Default", "", "", "inet7 ndots:x edns0:1", "",
					       false } };
	(void)state;
	check_rows(rows, ARRAY_LEN(rows), PODRESOLV_SEED);
	check_rows(others, 1, PODRESOLV_KUBELET);
	check_rows(others, 1, PODRESOLV_LIBC_SAFE);
}

/* A hostile object costs little. */
static void many_errors(void **state)
{
	enum { MANY = 5000 };
	static struct podresolv_option options[MANY];
	struct podresolv_config config = { .options = options, .n_options = MANY };
	struct podresolv_errors errors;
	struct arena arena;
	(void)state;
	arena_init(&arena);
	podresolv_validate(SLICE("Default"), &config, PODRESOLV_KUBELET, &arena, &errors);
	assert_int_equal(errors.n, 1000);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policies),	    cmocka_unit_test(configs),
		cmocka_unit_test(search_domains),   cmocka_unit_test(search_limits),
		cmocka_unit_test(domain_length),    cmocka_unit_test(option_injection),
		cmocka_unit_test(platform_options), cmocka_unit_test(many_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

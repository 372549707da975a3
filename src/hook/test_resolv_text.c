/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Annotations and a file -> the new file; and the new file stays as it is. */
#include "hook/resolv_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"

#define SEED_CONFIG                                                                    \
	"{\"nameservers\":[\"1.2.3.4\"],\"searches\":[\"ns1.svc.cluster.local\","      \
	"\"my.dns.search.suffix\"],\"options\":[{\"name\":\"ndots\",\"value\":\"2\"}," \
	"{\"name\":\"edns0\"}]}"
#define SEED_FILE                                                                 \
	"nameserver 1.2.3.4\nsearch ns1.svc.cluster.local my.dns.search.suffix\n" \
	"options ndots:2 edns0\n"
#define CLUSTER_FILE                                                         \
	"search default.svc.cluster.local svc.cluster.local cluster.local\n" \
	"nameserver 10.0.0.10\noptions ndots:5\n"

/* `want` begins with '!' where it is the reason of a refusal. */
static const struct {
	const char *policy, *profile, *libc, *config, *file, *want;
} rows[] = {
	/* PD-21 */
	{ "None", NULL, NULL, SEED_CONFIG, CLUSTER_FILE, SEED_FILE },
	{ "Custom", NULL, NULL, SEED_CONFIG, "", SEED_FILE },
	/* PD-12: a file that cannot be read is no matter to None. */
	{ "None", NULL, NULL, SEED_CONFIG, "nameserver\n", SEED_FILE },
	/* PD-20 */
	{ NULL, NULL, NULL, "{\"options\":[{\"name\":\"ndots\",\"value\":\"1\"}]}", CLUSTER_FILE,
	  "nameserver 10.0.0.10\n"
	  "search default.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:1\n" },
	{ "Default", NULL, NULL, "{\"searches\":[\"svc.cluster.local\",\"foo.com\"]}", CLUSTER_FILE,
	  "nameserver 10.0.0.10\nsearch default.svc.cluster.local svc.cluster.local cluster.local "
	  "foo.com\noptions ndots:5\n" },
	{ NULL, NULL, NULL, "{}", "nameserver 192.0.2.1\n", "nameserver 192.0.2.1\n" },
	{ NULL, NULL, NULL, "{}", "domain a.example\nnameserver 192.0.2.1\n",
	  "nameserver 192.0.2.1\nsearch a.example\n" },
	/* `.` moves to the end before it stays. */
	{ NULL, NULL, NULL, "{\"searches\":[\".\",\"b\"]}", "search a\nnameserver 192.0.2.1\n",
	  "nameserver 192.0.2.1\nsearch a b .\n" },
	{ NULL, NULL, NULL, "{\"nameservers\":[\"192.0.2.4\"]}",
	  "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\n",
	  "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\n" },

	{ NULL, NULL, NULL, "{}", "nameserver\n",
	  "!cannot add to the file: line 1: nameserver has no address" },
	{ "ClusterFirst", NULL, NULL, "{}", "",
	  "!annotation dns.fairlead.dev/policy is 'ClusterFirst'; it may be Default (added to the "
	  "file "
	  "as it is) or None" },
	{ "", NULL, NULL, "{}", "",
	  "!annotation dns.fairlead.dev/policy is ''; it may be Default (added to the file as it "
	  "is) "
	  "or None" },
	{ NULL, "strict", NULL, "{}", "",
	  "!annotation dns.fairlead.dev/profile is 'strict'; it may be kubelet, seed or "
	  "libc-safe" },
	{ NULL, NULL, "uclibc", "{}", "",
	  "!annotation dns.fairlead.dev/libc is 'uclibc'; it may be glibc, musl or any" },
	{ "None", NULL, NULL, NULL, "",
	  "!annotation dns.fairlead.dev/policy is given without dns.fairlead.dev/config" },
	{ NULL, NULL, NULL, "{", "",
	  "!annotation dns.fairlead.dev/config is no JSON: line 1, column 1: string or '}' "
	  "expected near "
	  "end of file" },
	{ NULL, NULL, NULL, "{\"searches\":[],\"searches\":[]}", "",
	  "!annotation dns.fairlead.dev/config is no JSON: line 1, column 25: duplicate object key "
	  "near "
	  "'\"searches\"'" },
	{ NULL, NULL, NULL, "{\"nameservers\":1}", "",
	  "!annotation dns.fairlead.dev/config is refused: dnsConfig.nameservers is no list" },
};

static void makes_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct hook_request request = {
			.annotation = { rows[i].config, rows[i].policy, rows[i].profile,
					rows[i].libc },
		};
		struct strbuf got = STRBUF_INIT, again = STRBUF_INIT;
		char why[512] = "!";
		struct err_text err = { why + 1, sizeof(why) - 1 };
		int r = hook_resolv_text_make(&request, slice_of(rows[i].file), &got, NULL, err);
		assert_string_equal(r < 0 ? why : got.s, rows[i].want);
		if (r == 0) {
			assert_int_equal(hook_resolv_text_make(&request, strbuf_slice(&got), &again,
							       NULL, err),
					 0);
			assert_string_equal(again.s, got.s);
			assert_true(hook_resolv_text_is_resolver_file(strbuf_slice(&got)));
		}
		strbuf_done(&got);
		strbuf_done(&again);
	}
}

/* Refusals of podresolv_validate: the field and the value are in the sentence. */
static void refusals_name_the_field(void **state)
{
	(void)state;
	static const struct {
		const char *policy, *profile, *config, *field;
	} refused[] = {
		{ "None", NULL, "{}", "dnsConfig.nameservers" },
		{ NULL, NULL, "{\"nameservers\":[\"192.0.2.256\"]}", "dnsConfig.nameservers[0]" },
		{ NULL, NULL, "{\"searches\":[\"a\",\"B\"]}", "dnsConfig.searches[1]" },
		{ NULL, NULL, "{\"options\":[{}]}", "dnsConfig.options[0]" },
		{ NULL, NULL, "{\"options\":[{\"name\":\"a\\nnameserver 192.0.2.66\"}]}",
		  "dnsConfig.options[0]" },
		{ NULL, NULL, "{\"options\":[{\"name\":\"a\",\"value\":\"1 ndots:9\"}]}",
		  "dnsConfig.options[0]" },
		{ NULL, NULL, "{\"options\":[{\"name\":\"ndots:1\"}]}", "dnsConfig.options[0]" },
		{ NULL, "seed", "{\"options\":[{\"name\":\"unheard-of\"}]}",
		  "dnsConfig.options[0]" },
		{ NULL, "seed", "{\"searches\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\"]}",
		  "dnsConfig.searches" },
		{ NULL, NULL,
		  "{\"nameservers\":[\"192.0.2.1\",\"192.0.2.2\",\"192.0.2.3\",\"192.0.2.4\"]}",
		  "dnsConfig.nameservers" },
	};
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct hook_request request = {
			.annotation = { .config = refused[i].config,
					.policy = refused[i].policy,
					.profile = refused[i].profile },
		};
		struct strbuf got = STRBUF_INIT;
		char why[512] = "";
		assert_true(hook_resolv_text_make(&request, SLICE(CLUSTER_FILE), &got, NULL,
						  ERR_TEXT(why)) < 0);
		assert_non_null(strstr(why, "annotation dns.fairlead.dev/config is refused: "));
		assert_non_null(strstr(why, refused[i].field));
		assert_null(strchr(why, '\n'));
		strbuf_done(&got);
	}
}

/* The pod's own list is allowed, together with the file's it is too long for the profile `seed`. */
static void merged_lists_past_the_seed(void **state)
{
	(void)state;
	struct hook_request request = {
		.annotation = { .config = "{\"searches\":[\"e\",\"f\",\"g\"]}", .profile = "seed" },
	};
	struct strbuf got = STRBUF_INIT;
	char why[512] = "";
	assert_true(hook_resolv_text_make(&request, SLICE("search a b c d\nnameserver 192.0.2.1\n"),
					  &got, NULL, ERR_TEXT(why)) < 0);
	assert_non_null(strstr(why, "the profile refuses the settings: "));
	strbuf_done(&got);
}

static void remarks_become_notes(void **state)
{
	(void)state;
	struct hook_request request = {
		.annotation = { .config = "{\"nameservers\":[\"192.0.2.4\"]}" },
	};
	struct strbuf got = STRBUF_INIT, notes = STRBUF_INIT;
	char why[512] = "";
	assert_int_equal(
		hook_resolv_text_make(
			&request,
			SLICE("nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\n"),
			&got, &notes, ERR_TEXT(why)),
		0);
	assert_non_null(strstr(notes.s, "DNSConfigForming: "));
	assert_int_equal(notes.s[notes.n - 1], '\n');
	strbuf_done(&got);
	strbuf_done(&notes);
}

static void limits(void **state)
{
	(void)state;
	struct strbuf config = STRBUF_INIT, got = STRBUF_INIT;
	struct hook_request request = { 0 };
	char why[512] = "";
	strbuf_adds(&config, "{\"options\":[");
	for (int i = 0; i < 1000; i++)
		strbuf_addf(&config, "%s{\"name\":\"o%d\"}", i > 0 ? "," : "", i);
	strbuf_adds(&config, "]}");
	request.annotation.config = config.s;
	assert_true(hook_resolv_text_make(&request, SLICE(""), &got, NULL, ERR_TEXT(why)) < 0);
	assert_string_equal(why, "the file would have 4898 bytes; 4096 is the limit");
	while (config.n <= HOOK_DNS_CONFIG_BYTES_MAX)
		strbuf_addc(&config, ' ');
	request.annotation.config = config.s;
	assert_true(hook_resolv_text_make(&request, SLICE(""), &got, NULL, ERR_TEXT(why)) < 0);
	assert_string_equal(why, "annotation dns.fairlead.dev/config has more than 65536 bytes");
	strbuf_done(&config);
	strbuf_done(&got);
}

static void other_files_are_told_apart(void **state)
{
	(void)state;
	static const char *const resolver[] = {
		"",
		"\n \t\r\n",
		CLUSTER_FILE,
		"# generated\n; by hand\nsortlist 192.0.2.0\n",
		"domain\ta.example",
		"nameserver",
		"  options  rotate \r\n",
	};
	static const char *const others[] = {
		"root:x:0:0:root:/root:/bin/sh\n",
		"nameserver 192.0.2.1\n127.0.0.1 localhost\n",
		"nameservers 192.0.2.1\n",
		"Search a\n",
		"{}",
		"\177ELF",
	};
	for (size_t i = 0; i < ARRAY_LEN(resolver); i++)
		assert_true(hook_resolv_text_is_resolver_file(slice_of(resolver[i])));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_false(hook_resolv_text_is_resolver_file(slice_of(others[i])));
	assert_false(hook_resolv_text_is_resolver_file(SLICE("search a\n\0\n")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(makes_rows),
		cmocka_unit_test(refusals_name_the_field),
		cmocka_unit_test(merged_lists_past_the_seed),
		cmocka_unit_test(remarks_become_notes),
		cmocka_unit_test(limits),
		cmocka_unit_test(other_files_are_told_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

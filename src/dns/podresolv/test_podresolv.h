/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: configurations from texts with spaces between their entries, and results as texts. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "dns/podresolv/podresolv.h"

enum { TEST_WORDS = 64 };

/* Borrowed texts; NULL and "" are empty lists. */
struct test_config {
	struct slice nameservers[TEST_WORDS], searches[TEST_WORDS];
	struct podresolv_option options[TEST_WORDS];
	struct podresolv_config config;
};

static inline size_t split_words(const char *text, struct slice words[TEST_WORDS])
{
	size_t n = 0;
	struct slice rest = slice_of(text);
	while (rest.n > 0) {
		assert_true(n < TEST_WORDS);
		words[n++] = slice_cut(&rest, ' ');
	}
	return n;
}

static inline const struct podresolv_config *set_config(struct test_config *test,
							const char *nameservers,
							const char *searches, const char *options)
{
	struct slice words[TEST_WORDS];
	size_t n_options = split_words(options, words);
	for (size_t i = 0; i < n_options; i++) {
		test->options[i].value = words[i];
		test->options[i].name = slice_cut(&test->options[i].value, ':');
	}
	test->config = (struct podresolv_config){
		.nameservers = test->nameservers,
		.n_nameservers = split_words(nameservers, test->nameservers),
		.searches = test->searches,
		.n_searches = split_words(searches, test->searches),
		.options = test->options,
		.n_options = n_options,
	};
	return &test->config;
}

/* A list of `n` different search domains that has `characters` with its spaces. `letters` is its
 * memory. */
static inline void fill_searches(struct slice *searches, size_t n, size_t characters,
				 char letters[PODRESOLV_SEARCH_CHARACTERS_MAX + 2])
{
	size_t left = characters - (n - 1);
	for (size_t i = 0; i < n; i++) {
		size_t len = left / (n - i);
		memset(letters, 'a', len);
		letters[0] = (char)('a' + i % 26);
		letters[len - 1] = (char)('a' + i / 26);
		searches[i] = (struct slice){ letters, len };
		letters += len;
		left -= len;
	}
}

static inline void print_entries(struct strbuf *out, const char *name,
				 const struct podresolv_list *list)
{
	strbuf_adds(out, name);
	for (size_t i = 0; i < list->n; i++) {
		const struct podresolv_entry *entry = &list->v[i];
		if (entry->dropped != PODRESOLV_KEPT)
			continue;
		strbuf_addf(out, " %.*s", (int)entry->text.n, entry->text.p);
		if (entry->value.n > 0)
			strbuf_addf(out, ":%.*s", (int)entry->value.n, entry->value.p);
	}
}

/* "ns 192.0.2.1; search a b; options ndots:5" */
static inline void print_result(struct strbuf *out, const struct podresolv_result *result)
{
	print_entries(out, "ns", &result->nameservers);
	print_entries(out, "; search", &result->searches);
	print_entries(out, "; options", &result->options);
}

/* The findings that are not lints, or the lints only: "REASON: message\n" each. */
static inline void print_findings(struct strbuf *out, const struct podresolv_result *result,
				  bool lints)
{
	for (size_t i = 0; i < result->n_findings; i++) {
		const struct podresolv_finding *finding = &result->findings[i];
		if ((finding->severity == PODRESOLV_LINT) == lints)
			strbuf_addf(out, "%s%s: %s\n", finding->on_node ? "node " : "",
				    finding->reason, finding->message);
	}
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sentences for plugins that are not there, and docs/plugins/README.md against the catalogue
 * and the registry: same rows, same order, same words. */
#include "plugin/catalogue.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/readfile.h"
#include "server/handler.h"

static const struct {
	const char *name, *want;
} rows[] = {
	{ "on", "'on' (runs commands at start and stop) is a plugin of CoreDNS that Fairlead will "
		"not have: use the service manager's hooks (`ExecStartPost=`, container life-cycle "
		"hooks)" },
	{ "fanout", "'fanout' (asks several servers at once) is no plugin of CoreDNS itself, and "
		    "none of Fairlead: use `forward` with several servers" },
	{ "proxy", "'proxy' (asked other servers) is not a plugin any more: use `forward`" },
	{ "geoip", "'geoip' (place of a client as metadata) is not built yet; until then use "
		   "`view` with the clients' networks" },
	{ "tempalte", "unknown directive 'tempalte', did you mean 'template'?" },
	{ "templat", "unknown directive 'templat', did you mean 'template'?" },
	{ "Errors", "unknown directive 'Errors', did you mean 'errors'?" },
	{ "hots", "unknown directive 'hots', did you mean 'hosts'?" },
	{ "helath", "unknown directive 'helath', did you mean 'health'?" },
	{ "xyz", "unknown directive 'xyz', expected the name of a plugin (see `fairlead dns "
		 "-plugins`)" },
	{ "a-name-of-thirty-two-characters!", "unknown directive "
					      "'a-name-of-thirty-two-characters!', expected the "
					      "name of a plugin (see `fairlead dns -plugins`)" },
};

static void sentences(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
		catalogue_explain(rows[i].name, &got);
		assert_string_equal(got.s, rows[i].want);
	}
}

static bool is_built(const char *name)
{
	for (size_t i = 0; plugin_list[i] != NULL; i++) {
		if (strcmp(plugin_list[i]->name, name) == 0)
			return true;
	}
	return false;
}

static void every_plugin_has_a_row(void **state)
{
	(void)state;
	size_t n_built = 0, n = 0;
	for (const struct catalogue_row *r = catalogue; r->name != NULL; r++) {
		bool built = is_built(r->name);
		if (built && r->kind != CATALOGUE_CHAIN)
			fail_msg("'%s' is built, the catalogue says it is not", r->name);
		if (!built && r->what == NULL)
			fail_msg("'%s' is not built, and the catalogue does not say what it is",
				 r->name);
		if (r->kind != CATALOGUE_CHAIN && r->instead == NULL)
			fail_msg("'%s' lacks what to use instead", r->name);
		n_built += built;
	}
	for (; plugin_list[n] != NULL; n++)
		;
	assert_int_equal(n_built, n);
}

/* The row of the document; a built plugin has words of its own after `built |`. */
static void add_row(struct strbuf *want, const struct catalogue_row *r)
{
	const char *state = r->kind == CATALOGUE_NEVER ? "never" : "planned";
	if (is_built(r->name)) {
		strbuf_addf(want, "| [%s](%s.md) | built | ", r->name, r->name);
		return;
	}
	if (r->kind == CATALOGUE_OUTSIDE || r->kind == CATALOGUE_GONE) {
		strbuf_addf(want, "| %s | %s | %s |", r->name, r->what, r->instead);
		return;
	}
	strbuf_addf(want, "| %s | %s | %s", r->name, state, r->what);
	if (r->instead != NULL)
		strbuf_addf(want, "%s %s", state[0] == 'n' ? ":" : "; until then", r->instead);
	strbuf_adds(want, " |");
}

/* The next row of a table whose first cell is a plugin. */
static struct slice next_row(struct slice *text)
{
	while (text->n > 0) {
		struct slice line = slice_cut(text, '\n');
		if (slice_starts(line, SLICE("| ")) && !slice_starts(line, SLICE("| plugin ")) &&
		    !slice_starts(line, SLICE("| not supported ")))
			return line;
	}
	return (struct slice){ NULL, 0 };
}

static void document_agrees(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf page = STRBUF_INIT;
	int fd = open(SOURCE_DIR "/../../docs/plugins/README.md", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(readfile_fd(fd, 1 << 20, &page), 0);
	close(fd);
	struct slice text = strbuf_slice(&page);
	for (const struct catalogue_row *r = catalogue; r->name != NULL; r++) {
		CLEANUP(strbuf_done) struct strbuf want = STRBUF_INIT;
		add_row(&want, r);
		struct slice row = next_row(&text);
		bool same = want.s[want.n - 1] == '|' ? slice_eq(row, strbuf_slice(&want))
						      : slice_starts(row, strbuf_slice(&want));
		if (!same)
			fail_msg("docs/plugins/README.md has '%.*s' where the catalogue has '%s'",
				 (int)row.n, row.p, want.s);
	}
	assert_int_equal(next_row(&text).n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sentences),
		cmocka_unit_test(every_plugin_has_a_row),
		cmocka_unit_test(document_agrees),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

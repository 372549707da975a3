/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every plugin is documented: docs/plugins/NAME.md exists, its option table has a row for each
 * option the plugin parses, with the default, and no row for one it does not. The list is in
 * CoreDNS's order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/opt.h"
#include "base/strbuf.h"
#include "server/handler.h"

static const char *const chain_order[] = {
	"root",		  "metadata",	 "geoip",   "cancel",	"proxyproto",
	"quic",		  "grpc_server", "https",   "https3",	"timeouts",
	"multisocket",	  "reload",	 "nsid",    "bufsize",	"bind",
	"debug",	  "trace",	 "ready",   "health",	"pprof",
	"shed",		  "prometheus",	 "errors",  "log",	"dnstap",
	"egressfirewall", "local",	 "dns64",   "siit",	"any",
	"chaos",	  "loadbalance", "tsig",    "rewrite",	"autopath",
	"searchpath",	  "acl",	 "records", "cache",	"header",
	"dnssec",	  "tls",	 "minimal", "template", "transfer",
	"dynupdate",	  "hosts",	 "route53", "azure",	"clouddns",
	"k8s_external",	  "kubernetes",	 "file",    "auto",	"secondary",
	"etcd",		  "loop",	 "forward", "grpc",	"erratic",
	"whoami",	  "on",		 "sign",    "view",	"nomad",
};

static void list_is_in_chain_order(void **state)
{
	(void)state;
	size_t at = 0;
	for (size_t i = 0; plugin_list[i] != NULL; i++) {
		while (at < ARRAY_LEN(chain_order) &&
		       strcmp(chain_order[at], plugin_list[i]->name) != 0)
			at++;
		if (at == ARRAY_LEN(chain_order))
			fail_msg("'%s' is not at its place in the chain", plugin_list[i]->name);
	}
}

static void read_page(const char *plugin, struct strbuf *out)
{
	char path[512], buf[4096];
	size_t n;
	snprintf(path, sizeof(path), "%s/../../docs/plugins/%s.md", SOURCE_DIR, plugin);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		fail_msg("'%s' has no page docs/plugins/%s.md", plugin, plugin);
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		strbuf_add(out, buf, n);
	fclose(f);
}

/* The line of the option table for `name`, or an empty slice. */
static struct slice row_of(const struct strbuf *page, const char *name)
{
	char start[128];
	snprintf(start, sizeof(start), "\n| `%s", name);
	const char *at = page->s;
	while ((at = strstr(at, start)) != NULL) {
		char after = at[strlen(start)];
		if (after == '`' || after == ' ')
			return (struct slice){ at + 1, strcspn(at + 1, "\n") };
		at++;
	}
	return (struct slice){ NULL, 0 };
}

static void options_are_documented(void **state)
{
	(void)state;
	for (size_t i = 0; plugin_list[i] != NULL; i++) {
		const struct plugin *p = plugin_list[i];
		CLEANUP(strbuf_done) struct strbuf page = STRBUF_INIT;
		read_page(p->name, &page);
		for (size_t k = 0; k < p->n_opts; k++) {
			struct slice row = row_of(&page, p->opts[k].name);
			if (row.n == 0)
				fail_msg("docs/plugins/%s.md has no row for '%s'", p->name,
					 p->opts[k].name);
			char *text = strndup(row.p, row.n);
			if (p->opts[k].def != NULL && strstr(text, p->opts[k].def) == NULL)
				fail_msg("docs/plugins/%s.md: row of '%s' lacks the default '%s'",
					 p->name, p->opts[k].name, p->opts[k].def);
			free(text);
		}
	}
}

static bool parses(const struct plugin *p, struct slice name)
{
	for (size_t k = 0; k < p->n_opts; k++) {
		if (slice_is(name, p->opts[k].name))
			return true;
	}
	return false;
}

/* Rows between a header `| option ` and the next blank line. */
static void pages_document_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; plugin_list[i] != NULL; i++) {
		const struct plugin *p = plugin_list[i];
		CLEANUP(strbuf_done) struct strbuf page = STRBUF_INIT;
		read_page(p->name, &page);
		const char *at = strstr(page.s, "\n| option ");
		if (at == NULL || p->n_opts == 0)
			continue;
		struct slice rest = slice_of(at + 1);
		while (rest.n > 0) {
			struct slice line = slice_cut(&rest, '\n');
			if (line.n == 0 || line.p[0] != '|')
				break;
			if (!slice_starts(line, SLICE("| `")))
				continue;
			struct slice name = slice_from(line, 3);
			name.n = MIN((size_t)slice_find(name, '`'), name.n);
			struct slice first = name;
			first = slice_cut(&first, ' ');
			if (!parses(p, name) && !parses(p, first))
				fail_msg("docs/plugins/%s.md documents '%.*s', which is not parsed",
					 p->name, (int)name.n, name.p);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_is_in_chain_order),
		cmocka_unit_test(options_are_documented),
		cmocka_unit_test(pages_document_nothing_else),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

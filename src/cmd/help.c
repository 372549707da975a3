/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead help PLUGIN`: the options of a plugin, from the rows it parses them by. */
#include "cmd/help.h"

#include <stdio.h>
#include <string.h>

#include "base/opt.h"
#include "cmd/cmd.h"
#include "plugin/catalogue.h"
#include "server/handler.h"

static const struct plugin *find_plugin(const char *name)
{
	for (size_t i = 0; plugin_list[i] != NULL; i++) {
		if (strcmp(plugin_list[i]->name, name) == 0)
			return plugin_list[i];
	}
	return NULL;
}

int cmd_help(int argc, char **argv)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		printf("usage: fairlead help PLUGIN (`fairlead dns -plugins` lists them)\n");
		return EXIT_DONE;
	}
	if (argc != 2) {
		fprintf(stderr,
			"usage: fairlead help PLUGIN (`fairlead dns -plugins` lists them)\n");
		return EXIT_USAGE;
	}
	const struct plugin *p = find_plugin(argv[1]);
	if (p == NULL) {
		catalogue_explain(argv[1], &text);
		fprintf(stderr, "%s\n", text.s);
		return EXIT_FAILED;
	}
	if (p->n_opts == 0)
		strbuf_adds(&text, "  (no options)\n");
	opt_help(p->opts, p->n_opts, &text);
	printf("%s\n%s", p->name, text.s);
	return EXIT_DONE;
}

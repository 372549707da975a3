/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead check`: reads Corefiles as a start would, files they name included, and opens no port.
 */
#include "cmd/check.h"

#include <stdio.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/flags.h"
#include "corefile_source/corefile_source.h"
#include "corefile/corefile.h"
#include "plugin/catalogue.h"
#include "server/config/load.h"
#include "server/server.h"

static int load_corefile(void *ctx, struct strbuf *out, struct err_text why)
{
	return corefile_source_load(ctx, out, why);
}

static int check_file(const char *path)
{
	struct corefile_source *cs = corefile_source_new(path, 53);
	struct config_source src = { .ctx = cs,
				     .name = corefile_source_name(cs),
				     .load = load_corefile,
				     .fallback = corefile_source_default(cs) };
	struct server_opts opts = { .default_port = 53, .explain = catalogue_explain };
	struct corefile *cf = NULL;
	struct srcerr err = { 0 };
	int r = config_load_for_start(&src, &cf, &err);
	if (r == 0)
		r = server_check(&opts, cf, &err);
	if (r < 0) {
		char text[1024];
		if (err.file[0] == '\0') {
			char copy[sizeof(err.text)];
			snprintf(copy, sizeof(copy), "%s", err.text);
			srcerr_set(&err, (struct srcpos){ .file = path, .line = 1, .col = 1 }, "%s",
				   copy);
		}
		printf("%s\n", srcerr_str(&err, text, sizeof(text)));
	}
	corefile_source_free(cs);
	return r;
}

int cmd_check(int argc, char **argv)
{
	char why[256];
	int at = flags_parse(NULL, 0, argc, argv, ERR_TEXT(why));
	if (at == -2) {
		printf("usage: fairlead check FILE...\n\n"
		       "Validates Corefiles as a start would, without opening a port. Exit status "
		       "0:\n"
		       "all valid; 1: one line `file:line:col: text` per finding on standard "
		       "output.\n");
		return EXIT_DONE;
	}
	if (at < 0 || at >= argc) {
		fprintf(stderr, "%s\nusage: fairlead check FILE...\n",
			at < 0 ? why : "no file given");
		return EXIT_USAGE;
	}
	/* Standard output has findings only; plugins may have warnings besides. */
	log_set_fd(STDERR_FILENO);
	int status = EXIT_DONE;
	for (int i = at; i < argc; i++) {
		if (check_file(argv[i]) < 0)
			status = EXIT_FAILED;
	}
	return status;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead backup`, `restore` and `export`: copies of a data directory, while it is in use. */
#include "cmd/backup.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apiserver/export.h"
#include "apiserver/store/backup.h"
#include "apiserver/store/store.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/flags.h"

enum { ERR_BYTES = 700 };

/* One of the three: arguments are read the same way. */
struct verb {
	const char *name, *arguments, *help;
	size_t n_args;
	int (*run)(const char *data, const char *file);
};

static int report_failure(const char *verb, const char *err)
{
	fprintf(stderr, "fairlead %s: %s\n", verb, err);
	return EXIT_FAILED;
}

static int run_backup(const char *data, const char *file)
{
	char err[ERR_BYTES] = "";
	if (apiserver_backup(data, file, ERR_TEXT(err)) < 0)
		return report_failure("backup", err);
	printf("wrote all objects of %s to %s\n", data, file);
	return EXIT_DONE;
}

static int run_restore(const char *data, const char *file)
{
	char err[ERR_BYTES] = "";
	if (apiserver_restore(data, file, ERR_TEXT(err)) < 0)
		return report_failure("restore", err);
	printf("restored %s from %s%s%s\n", data, file, err[0] != '\0' ? "; " : "", err);
	return EXIT_DONE;
}

/* ---- export ---- */

static void remove_folder(const char *path)
{
	DIR *d = opendir(path);
	const struct dirent *e;
	while (d != NULL && (e = readdir(d)) != NULL) {
		CLEANUP(freep) char *file = xasprintf("%s/%s", path, e->d_name);
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlink(file);
	}
	if (d != NULL)
		closedir(d);
	rmdir(path);
}

static int write_yaml(const char *data, struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct apiserver_store *s = NULL;
	int r = apiserver_store_open(
		&(struct apiserver_store_conf){ .dir = data, .compact_every_ns = UINT64_MAX }, &s,
		err);
	if (r < 0)
		return r;
	r = apiserver_export(s, &out);
	if (r < 0)
		err_text_set(err, "cannot read the objects: %s", err_str(r));
	else if (fwrite(out.s, 1, out.n, stdout) != out.n || fflush(stdout) != 0)
		r = -errno;
	apiserver_store_close(s);
	return r;
}

/* A copy is read, so that a running program is not disturbed and its lock not needed. */
static int export_copy(const char *data, const char *dir, struct err_text err)
{
	CLEANUP(freep) char *copy = xasprintf("%s/copy.db", dir);
	CLEANUP(freep) char *store = xasprintf("%s/data", dir);
	int r = apiserver_backup(data, copy, err);
	if (r == 0)
		r = apiserver_restore(store, copy, err);
	if (r == 0)
		r = write_yaml(store, err);
	remove_folder(store);
	return r;
}

static int run_export(const char *data, const char *file)
{
	const char *tmp = getenv("TMPDIR");
	char err[ERR_BYTES] = "";
	CLEANUP(freep)
	char *dir = xasprintf("%s/fairlead-export-XXXXXX", tmp != NULL ? tmp : "/tmp");
	(void)file;
	if (mkdtemp(dir) == NULL) {
		snprintf(err, sizeof(err), "cannot create folder '%s': %s", dir, err_str(-errno));
		return report_failure("export", err);
	}
	int r = export_copy(data, dir, ERR_TEXT(err));
	remove_folder(dir);
	return r < 0 ? report_failure("export", err[0] != '\0' ? err : err_str(r)) : EXIT_DONE;
}

/* ---- */

static const struct verb verbs[] = {
	{ "backup", "FILE",
	  "Copies all objects of a data directory into a new file, also while it is in use.", 1,
	  run_backup },
	{ "restore", "FILE",
	  "Restores a backup into a data directory that is not in use. The old data is kept beside "
	  "it.",
	  1, run_restore },
	{ "export", "",
	  "Writes all objects of a data directory as manifests, also while it is in use.", 0,
	  run_export },
};

static int run_verb(const struct verb *verb, int argc, char **argv)
{
	const char *data = "fairlead-data";
	const struct flag flags[] = {
		FLAG_VALUE("data", &data, "DIR", "the data directory; default fairlead-data"),
	};
	struct flag_values args = { 0 };
	char why[256] = "";
	int status = EXIT_USAGE;
	int r = flags_parse_mixed(flags, ARRAY_LEN(flags), argc, argv, &args, ERR_TEXT(why));
	if (r == -2) {
		printf("usage: fairlead %s%s%s [FLAGS]\n\n%s\n\nflags:\n", verb->name,
		       verb->n_args != 0 ? " " : "", verb->arguments, verb->help);
		flags_help(flags, ARRAY_LEN(flags), stdout);
		status = EXIT_DONE;
	} else if (r < 0 || args.n != verb->n_args) {
		fprintf(stderr, "fairlead %s: %s\nTry `fairlead %s --help`.\n", verb->name,
			r < 0		    ? why
			: verb->n_args != 0 ? "expected one FILE"
					    : "takes no arguments",
			verb->name);
	} else {
		signal(SIGXFSZ, SIG_IGN);
		status = verb->run(data, args.n != 0 ? args.v[0] : NULL);
	}
	vec_done(&args);
	return status;
}

int cmd_backup(int argc, char **argv)
{
	return run_verb(&verbs[0], argc, argv);
}

int cmd_restore(int argc, char **argv)
{
	return run_verb(&verbs[1], argc, argv);
}

int cmd_export(int argc, char **argv)
{
	return run_verb(&verbs[2], argc, argv);
}

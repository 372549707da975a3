/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a source to a Corefile: imports of files, the environment, what cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/err_text.h"
#include "corefile/corefile.h"
#include "server/config/load.h"
#include "server/handler.h"

const struct plugin *const plugin_list[] = { NULL };

static char dir[] = "/tmp/configload-XXXXXX";
static const char *text;
static int load_result;

static int load(void *ctx, struct strbuf *out, struct err_text why)
{
	(void)ctx;
	if (load_result < 0)
		err_text_set(why, "cannot read it today");
	else
		strbuf_adds(out, text);
	return load_result;
}

static void write_file(const char *name, const char *content)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs(content, f);
	fclose(f);
}

/* The number of blocks, or the error's text. */
static int read_conf(char *why, size_t n)
{
	char name[256];
	snprintf(name, sizeof(name), "%s/Corefile", dir);
	struct config_source src = { .name = name, .load = load };
	struct corefile *cf = NULL;
	struct srcerr err = { 0 };
	int r = config_load(&src, &cf, &err);
	if (r < 0) {
		snprintf(why, n, "%.200s", err.text);
		assert_null(cf);
		return r;
	}
	r = (int)cf->n_block;
	corefile_free(cf);
	return r;
}

static int make_dir(void **state)
{
	(void)state;
	load_result = 0;
	return mkdtemp(dir) == NULL;
}

static int remove_dir(void **state)
{
	char command[300];
	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	int r = system(command);
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	return r;
}

static void reads_imports(void **state)
{
	char why[256] = "";
	(void)state;
	write_file("a.conf", "a.test {\n whoami\n}\n");
	write_file("b.conf", "b.test {\n whoami\n}\n");
	write_file("empty", "");
	text = "import *.conf\nimport empty\nc.test {\n}\n";
	assert_int_equal(read_conf(why, sizeof(why)), 3);
	text = "import none*\nc.test {\n}\n"; /* a warning only */
	assert_int_equal(read_conf(why, sizeof(why)), 1);
	setenv("CONFLOAD_TEST", "d.test", 1);
	text = "{$CONFLOAD_TEST} {\n}\n{%CONFLOAD_TEST%}:54 {\n}\n";
	assert_int_equal(read_conf(why, sizeof(why)), 2);
}

static void tells_what_cannot_be_read(void **state)
{
	char why[256] = "", path[256];
	(void)state;
	text = "import nosuch\n";
	assert_true(read_conf(why, sizeof(why)) < 0);
	assert_non_null(strstr(why, "nosuch"));
	text = "import .\n";
	assert_true(read_conf(why, sizeof(why)) < 0);
	/* A pipe nobody writes to is refused, not waited for. */
	snprintf(path, sizeof(path), "%s/pipe", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	text = "import pipe\n";
	assert_true(read_conf(why, sizeof(why)) < 0);
	assert_non_null(strstr(why, "pipe"));
	/* Longer than any Corefile. */
	snprintf(path, sizeof(path), "%s/long", dir);
	write_file("long", "#");
	assert_int_equal(truncate(path, (off_t)COREFILE_MAX_BYTES + 1), 0);
	text = "import long\n";
	assert_true(read_conf(why, sizeof(why)) < 0);
	load_result = -EACCES;
	assert_int_equal(read_conf(why, sizeof(why)), -EACCES);
	assert_string_equal(why, "cannot read it today");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_imports, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(tells_what_cannot_be_read, make_dir, remove_dir),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

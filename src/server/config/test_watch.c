/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hearing of changed files: what a kubelet, editors and scripts do to them, links on the way, files
 * that come and go, and what is none of our business. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/config/watch.h"
#include "server/handler.h"

const struct plugin *const plugin_list[] = { NULL };

static char dir[] = "/tmp/watch-XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) == NULL || chdir(dir) < 0;
}

static int remove_dir(void **state)
{
	char command[300];
	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	int r = chdir("/") < 0 || system(command) != 0;
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	return r;
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* As a kubelet lays a ConfigMap out: Corefile -> ..data/Corefile, ..data -> a folder by version. */
static void lay_out(const char *version)
{
	char name[300];
	assert_int_equal(mkdir(version, 0755), 0);
	snprintf(name, sizeof(name), "%s/Corefile", version);
	write_file(name, version);
	assert_int_equal(symlink(version, "..data_tmp"), 0);
	assert_int_equal(rename("..data_tmp", "..data"), 0);
}

static bool heard(struct config_watch *w)
{
	struct pollfd p = { .fd = config_watch_fd(w), .events = POLLIN };
	return poll(&p, 1, 0) == 1 && config_watch_changed(w);
}

static void read_files(struct config_watch *w, const char *file, const char *pattern)
{
	config_watch_begin(w);
	config_watch_file(w, file);
	if (pattern != NULL)
		config_watch_pattern(w, pattern);
	config_watch_end(w);
}

static void hears_of_a_mounted_config_map(void **state)
{
	(void)state;
	char path[300];
	struct config_watch *w = config_watch_new();
	assert_non_null(w);
	lay_out("..v1");
	assert_int_equal(symlink("..data/Corefile", "Corefile"), 0);
	snprintf(path, sizeof(path), "%s/Corefile", dir);
	for (int i = 2; i < 6; i++) {
		char version[8], old[8];
		read_files(w, path, NULL);
		assert_false(heard(w));
		snprintf(version, sizeof(version), "..v%d", i);
		snprintf(old, sizeof(old), "..v%d", i - 1);
		lay_out(version);
		assert_true(heard(w));
		read_files(w, path, NULL);
		/* The old folder goes afterwards, which means nothing any more. */
		snprintf(path, sizeof(path), "%s/Corefile", old);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(rmdir(old), 0);
		assert_false(heard(w));
		snprintf(path, sizeof(path), "%s/Corefile", dir);
	}
	config_watch_free(w);
}

static void hears_of_plain_files(void **state)
{
	(void)state;
	struct config_watch *w = config_watch_new();
	write_file("Corefile", "1");
	read_files(w, "Corefile", NULL);
	assert_false(heard(w));
	write_file("Corefile", "2"); /* in place */
	assert_true(heard(w));
	write_file("other", "3");
	assert_false(heard(w));
	assert_int_equal(rename("other", "Corefile"), 0);
	assert_true(heard(w));
	assert_int_equal(unlink("Corefile"), 0);
	assert_true(heard(w));
	write_file("Corefile", "4");
	assert_true(heard(w));
	config_watch_free(w);
}

/* Not before it is closed: half of a text may be a text, too. */
static void waits_for_the_end_of_writing(void **state)
{
	(void)state;
	struct config_watch *w = config_watch_new();
	read_files(w, "Corefile", NULL);
	FILE *f = fopen("Corefile", "we");
	assert_non_null(f);
	fputs("half", f);
	fflush(f);
	assert_false(heard(w));
	fclose(f);
	assert_true(heard(w));
	/* A second name, and a link, are whole when they come. */
	assert_int_equal(rename("Corefile", "whole"), 0);
	assert_true(heard(w));
	assert_int_equal(link("whole", "Corefile"), 0);
	assert_true(heard(w));
	assert_int_equal(unlink("Corefile") | symlink("whole", "Corefile"), 0);
	assert_true(heard(w));
	config_watch_free(w);
}

static void hears_of_links_to_folders(void **state)
{
	(void)state;
	struct config_watch *w = config_watch_new();
	assert_int_equal(mkdir("a", 0755) | mkdir("b", 0755) | mkdir("c", 0755), 0);
	write_file("a/Corefile", "a");
	write_file("b/Corefile", "b");
	assert_int_equal(symlink("../a", "c/now"), 0);
	read_files(w, "c/now/Corefile", NULL);
	assert_false(heard(w));
	write_file("a/Corefile", "a2");
	assert_true(heard(w));
	assert_int_equal(symlink("../b", "c/tmp") | rename("c/tmp", "c/now"), 0);
	assert_true(heard(w));
	read_files(w, "c/now/Corefile", NULL);
	write_file("a/Corefile", "a3"); /* not ours any more */
	assert_false(heard(w));
	write_file("b/Corefile", "b2");
	assert_true(heard(w));
	config_watch_free(w);
}

static void hears_of_imports(void **state)
{
	(void)state;
	struct config_watch *w = config_watch_new();
	write_file("Corefile", "1");
	assert_int_equal(mkdir("conf.d", 0755), 0);
	read_files(w, "Corefile", "conf.d/*.conf");
	assert_false(heard(w));
	write_file("conf.d/a.conf", "a");
	assert_true(heard(w));
	assert_int_equal(unlink("conf.d/a.conf"), 0);
	assert_true(heard(w));
	read_files(w, "Corefile", NULL); /* imports nothing now */
	write_file("conf.d/a.conf", "a");
	assert_false(heard(w));
	config_watch_free(w);
}

static void bears_what_is_not_there(void **state)
{
	(void)state;
	struct config_watch *w = config_watch_new();
	read_files(w, "no/such/Corefile", "neither/*");
	assert_false(heard(w));
	assert_int_equal(symlink("loop", "loop"), 0);
	assert_false(heard(w));
	read_files(w, "loop", "loop/*");
	assert_false(heard(w));
	read_files(w, "", "");
	read_files(w, "/", "/*");
	config_watch_free(w);
	/* And being none. */
	read_files(NULL, "Corefile", "*");
	assert_false(config_watch_changed(NULL));
	assert_int_equal(config_watch_fd(NULL), -1);
	config_watch_free(NULL);
}

/* More than the kernel keeps: something may have been lost, so it counts. */
static void takes_an_overflow_for_a_change(void **state)
{
	(void)state;
	struct config_watch *w = config_watch_new();
	long max = 0;
	FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld", &max), 1);
	fclose(f);
	read_files(w, "Corefile", NULL);
	write_file("a", "");
	for (long i = 0; i <= max / 2; i++) {
		assert_int_equal(rename("a", "b"), 0);
		assert_int_equal(rename("b", "a"), 0);
	}
	assert_true(heard(w));
	assert_false(heard(w));
	config_watch_free(w);
}

#define IN_A_FOLDER(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_FOLDER(hears_of_a_mounted_config_map),
		IN_A_FOLDER(hears_of_plain_files),
		IN_A_FOLDER(waits_for_the_end_of_writing),
		IN_A_FOLDER(hears_of_links_to_folders),
		IN_A_FOLDER(hears_of_imports),
		IN_A_FOLDER(bears_what_is_not_there),
		IN_A_FOLDER(takes_an_overflow_for_a_change),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is noticed of folders, files and network namespaces (EF-D3). */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "node/target_watch.h"

static char dir[] = "/tmp/test-target-watch-XXXXXX";
static char path[64];
static struct node_target_watch *watch;

static int begin(void **state UNUSED)
{
	watch = node_target_watch_new();
	return 0;
}

static int end(void **state UNUSED)
{
	node_target_watch_free(watch);
	return 0;
}

static void pass(void)
{
	node_target_watch_begin(watch);
	node_target_watch_add(watch, path);
	node_target_watch_end(watch);
}

/* It has changed until the next pass, and not afterwards. */
static void assert_noticed(void)
{
	assert_true(node_target_watch_has_changed(watch));
	assert_true(node_target_watch_has_changed(watch));
	pass();
	assert_false(node_target_watch_has_changed(watch));
}

static void folders_come_and_go(void **state UNUSED)
{
	char below[80];
	pass();
	assert_false(node_target_watch_has_changed(watch));
	assert_int_equal(mkdir(path, 0755), 0);
	assert_noticed();
	/* What is in it is nobody's concern. */
	snprintf(below, sizeof(below), "%s/below", path);
	assert_int_equal(mkdir(below, 0755), 0);
	assert_false(node_target_watch_has_changed(watch));
	assert_int_equal(rmdir(below), 0);
	assert_int_equal(rmdir(path), 0);
	assert_noticed();
}

static void write_text(const char *text)
{
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void files_change(void **state UNUSED)
{
	write_text("nameserver 192.0.2.1\n");
	pass();
	assert_false(node_target_watch_has_changed(watch));
	write_text("nameserver 192.0.2.10\n");
	assert_noticed();
	assert_int_equal(unlink(path), 0);
	assert_noticed();
}

static void what_is_not_added_is_forgotten(void **state UNUSED)
{
	pass();
	node_target_watch_begin(watch);
	node_target_watch_end(watch);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_false(node_target_watch_has_changed(watch));
	assert_int_equal(rmdir(path), 0);
}

/* A socket belongs to what the path was. */
static void sockets(void **state UNUSED)
{
	assert_false(node_target_watch_needs_socket(watch, path));
	assert_int_equal(mkdir(path, 0755), 0);
	pass();
	assert_true(node_target_watch_needs_socket(watch, path));
	int fd = node_target_watch_open_socket();
	assert_true(fd >= 0);
	node_target_watch_set_socket(watch, path, fd);
	assert_false(node_target_watch_needs_socket(watch, path));
	pass();
	assert_false(node_target_watch_needs_socket(watch, path));
	assert_int_equal(rmdir(path), 0);
	pass();
	assert_true(node_target_watch_needs_socket(watch, path));
	assert_int_equal(fcntl(fd, F_GETFD), -1); /* it was closed */
}

/* One that always has more to read does not keep the agent. */
static void news_without_end(void **state UNUSED)
{
	enum { MESSAGES = 100 };
	int ends[2];
	char byte;
	pass();
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
	for (int i = 0; i < MESSAGES; i++)
		assert_int_equal(send(ends[1], "x", 1, 0), 1);
	node_target_watch_set_socket(watch, path, ends[0]);
	assert_true(node_target_watch_has_changed(watch));
	assert_int_equal(recv(ends[0], &byte, 1, 0), 1); /* some are left */
	assert_true(node_target_watch_has_changed(watch));
	assert_false(node_target_watch_has_changed(watch));
	close(ends[1]);
	assert_true(node_target_watch_has_changed(watch)); /* the end can be read for ever */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static int make_dir(void **state UNUSED)
{
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/target", dir);
	return 0;
}

static int remove_dir(void **state UNUSED)
{
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(folders_come_and_go),
		TEST(files_change),
		TEST(what_is_not_added_is_forgotten),
		TEST(sockets),
		TEST(news_without_end),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

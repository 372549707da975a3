/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What may stand in a path instead of the folder or file that was meant. */
#include "hook/safe_open.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/err.h"

enum { MAX = 100 };

static char top[64]; /* the test's folder; current while it runs */
static int bundle_fd;
static char root[128]; /* the storage folder */
static struct hook_storage storage;
static struct hook_owner owner;

static void put_file(const char *name, const char *content)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	close(fd);
}

static int set_up(void **state)
{
	(void)state;
	char path[128], why[256];
	snprintf(top, sizeof(top), "/tmp/fairlead-open-XXXXXX");
	if (mkdtemp(top) == NULL || chdir(top) < 0)
		return -1;
	mkdir("bundle", 0755);
	mkdir("bundle/rootfs", 0755);
	mkdir("outside", 0755);
	snprintf(root, sizeof(root), "%s/outside", top);
	storage = (struct hook_storage){ .root = { root }, .n_roots = 1 };
	owner = (struct hook_owner){ .storage = &storage, .is_any = true };
	snprintf(path, sizeof(path), "%s/bundle", top);
	bundle_fd = hook_open_bundle(path, ERR_TEXT(why));
	return bundle_fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	char command[128];
	close(bundle_fd);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command); /* NOLINT(cert-env33-c): a folder of the test's own */
}

/* `path` relative to the test's folder unless it begins with '/'; `why` without that folder. */
static int open_source(const char *path, char *why, size_t n)
{
	char whole[512], text[1024] = "";
	snprintf(whole, sizeof(whole), "%s%s%s", path[0] == '/' ? "" : top,
		 path[0] == '/' ? "" : "/", path);
	int fd = hook_open_source(bundle_fd, whole, MAX, &owner, ERR_TEXT(text));
	const char *at = strstr(text, top);
	if (at != NULL)
		snprintf(why, n, "%.*s%s", (int)(at - text), text, at + strlen(top) + 1);
	else
		snprintf(why, n, "%s", text);
	return fd;
}

static void assert_opens(const char *path)
{
	char why[1024];
	int fd = open_source(path, why, sizeof(why));
	assert_string_equal(why, "");
	assert_true(fd >= 0);
	close(fd);
}

static void assert_refused(const char *path, const char *want)
{
	char why[1024];
	assert_true(open_source(path, why, sizeof(why)) < 0);
	assert_string_equal(why, want);
}

static void ordinary_files(void **state)
{
	(void)state;
	char why[256] = "";
	mkdir("outside/sandbox", 0755);
	put_file("outside/sandbox/resolv.conf", "");
	put_file("bundle/resolv.conf", "nameserver 192.0.2.1\n");
	assert_opens("outside/sandbox/resolv.conf");
	assert_opens("outside//./sandbox/resolv.conf");
	assert_opens("bundle/resolv.conf");
	int fd = hook_open_source(bundle_fd, "resolv.conf", MAX, &owner, ERR_TEXT(why));
	assert_true(fd >= 0);
	close(fd);
}

static void things_that_are_no_files(void **state)
{
	(void)state;
	mkdir("outside/dir", 0755);
	mkdir("outside/dir/resolv.conf", 0755);
	mkdir("outside/pipe", 0755);
	assert_int_equal(mkfifo("outside/pipe/resolv.conf", 0644), 0);
	mkdir("outside/link", 0755);
	put_file("outside/resolv.conf", "");
	assert_int_equal(symlink("../resolv.conf", "outside/link/resolv.conf"), 0);
	assert_refused("outside/dir/resolv.conf", "'outside/dir/resolv.conf' is a directory");
	assert_refused("outside/dir/resolv.conf/", "'outside/dir/resolv.conf/' is a directory");
	assert_refused("outside/pipe/resolv.conf", "'outside/pipe/resolv.conf' is a named pipe");
	assert_refused("outside/link/resolv.conf", "'outside/link/resolv.conf' is a symbolic link");
	assert_refused("outside/none/resolv.conf",
		       "cannot open 'outside/none/resolv.conf': No such file or directory");
	assert_refused("outside/resolv.conf/resolv.conf",
		       "cannot open 'outside/resolv.conf/resolv.conf': Not a directory");
	assert_refused("/", "'/' is a directory");
	assert_refused("/dev/null",
		       "'/dev/null' is not named resolv.conf: it is no file of the runtime");
}

static void files_that_are_another_s(void **state)
{
	(void)state;
	put_file("outside/passwd", "root:x:0:0\n");
	assert_refused("outside/passwd",
		       "'outside/passwd' is not named resolv.conf: it is no file of the runtime");
	assert_int_equal(link("outside/passwd", "outside/resolv.conf"), 0);
	assert_refused("outside/resolv.conf",
		       "'outside/resolv.conf' has more than one name (hard links)");
	assert_refused("outside/../outside/resolv.conf",
		       "'outside/../outside/resolv.conf' goes up by '..'");
	mkdir("outside/big", 0755);
	put_file("outside/big/resolv.conf", "");
	assert_int_equal(truncate("outside/big/resolv.conf", MAX), 0);
	assert_opens("outside/big/resolv.conf");
	assert_int_equal(truncate("outside/big/resolv.conf", MAX + 1), 0);
	assert_refused("outside/big/resolv.conf",
		       "'outside/big/resolv.conf' has 101 bytes; 100 is the limit");
}

static void the_node_s_own_file(void **state)
{
	(void)state;
	struct stat file;
	if (lstat("/etc/resolv.conf", &file) < 0 || !S_ISREG(file.st_mode) || file.st_nlink != 1 ||
	    file.st_size > MAX || access("/etc/resolv.conf", W_OK) < 0)
		skip();
	assert_refused("/etc/resolv.conf",
		       "'/etc/resolv.conf' is the resolver file of the node itself");
}

static void links_on_the_way(void **state)
{
	(void)state;
	char target[256], why[256] = "";
	mkdir("outside/moved", 0755);
	snprintf(root, sizeof(root), "%s/outside/moved", top);
	put_file("outside/moved/resolv.conf", "");
	/* As /var/run is one: made by root (here: by this user), outside of the bundle. */
	assert_int_equal(symlink("moved", "outside/relative"), 0);
	snprintf(target, sizeof(target), "%s/outside/moved", top);
	assert_int_equal(symlink(target, "outside/absolute"), 0);
	assert_int_equal(symlink("../outside/relative", "outside/twice"), 0);
	assert_opens("outside/relative/resolv.conf");
	assert_opens("outside/absolute/resolv.conf");
	assert_opens("outside/twice/resolv.conf");
	assert_int_equal(symlink("endless", "outside/endless"), 0);
	assert_refused("outside/endless/resolv.conf",
		       "'outside/endless/resolv.conf' leads over too many symbolic links");
	/* In a folder that others can write to. */
	assert_int_equal(chmod("outside", 0777), 0);
	assert_refused(
		"outside/relative/resolv.conf",
		"'outside/relative/resolv.conf' leads over a symbolic link that is not root's");
	assert_int_equal(chmod("outside", 01777), 0);
	assert_opens("outside/relative/resolv.conf");
	/* Another user's. */
	if (geteuid() == 0) {
		assert_int_equal(lchown("outside/relative", 12345, 12345), 0);
		assert_refused(
			"outside/relative/resolv.conf",
			"'outside/relative/resolv.conf' leads over a symbolic link that is not "
			"root's");
	}
	/* In the bundle, by each of its names. */
	assert_int_equal(symlink(target, "bundle/rootfs/etc"), 0);
	assert_refused("bundle/rootfs/etc/resolv.conf",
		       "'bundle/rootfs/etc/resolv.conf' leads over a symbolic link in the bundle");
	assert_int_equal(symlink("bundle", "other-name"), 0);
	assert_refused(
		"other-name/rootfs/etc/resolv.conf",
		"'other-name/rootfs/etc/resolv.conf' leads over a symbolic link in the bundle");
	assert_true(hook_open_source(bundle_fd, "rootfs/etc/resolv.conf", MAX, &owner,
				     ERR_TEXT(why)) < 0);
	assert_string_equal(why,
			    "'rootfs/etc/resolv.conf' leads over a symbolic link in the bundle");
	assert_true(hook_open_source(bundle_fd, "../outside/resolv.conf", MAX, &owner,
				     ERR_TEXT(why)) < 0);
	assert_string_equal(why, "'../outside/resolv.conf' goes up by '..'");
}

/* Whatever the mount says: a pod may mount what it may not write to. */
static void files_outside_of_the_storage(void **state)
{
	(void)state;
	mkdir("kubelet", 0755);
	put_file("kubelet/resolv.conf", "nameserver 192.0.2.1\n");
	assert_refused(
		"kubelet/resolv.conf",
		"'kubelet/resolv.conf' is neither in the bundle nor in a storage folder of the "
		"runtime (--storage-root)");
	mkdir("outside2", 0755);
	put_file("outside2/resolv.conf", "");
	assert_refused(
		"outside2/resolv.conf",
		"'outside2/resolv.conf' is neither in the bundle nor in a storage folder of the "
		"runtime (--storage-root)");
	/* No link leads out of the storage folder, not even one of root's. */
	assert_int_equal(symlink("../kubelet", "outside/c1"), 0);
	assert_refused("outside/c1/resolv.conf",
		       "'outside/c1/resolv.conf' leads over a symbolic link in a storage folder");
	assert_int_equal(symlink("outside", "by-link"), 0);
	put_file("outside/resolv.conf", "");
	assert_opens("by-link/resolv.conf");
	storage.n_roots = 0;
	assert_refused(
		"outside/resolv.conf",
		"'outside/resolv.conf' is neither in the bundle nor in a storage folder of the "
		"runtime (--storage-root)");
}

static void files_of_other_sandboxes(void **state)
{
	(void)state;
	static const char *const folders[] = { "outside/a", "outside/a/c1", "outside/a/c1/userdata",
					       "outside/a/s1", "outside/a/s1/b" };
	static const char why[] =
		"'%s' is in the folder neither of this container nor of its sandbox";
	char path[128], want[256];
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		mkdir(folders[i], 0755);
		snprintf(path, sizeof(path), "%s/resolv.conf", folders[i]);
		put_file(path, "");
	}
	owner = (struct hook_owner){ .storage = &storage, .id = { "c1", "s1" } };
	assert_opens("outside/a/c1/userdata/resolv.conf");
	assert_opens("outside/a/c1/resolv.conf");
	assert_opens("outside/a/s1/resolv.conf");
	snprintf(want, sizeof(want), why, "outside/a/s1/b/resolv.conf");
	assert_refused("outside/a/s1/b/resolv.conf", want);
	owner.id[0] = "userdata";
	snprintf(want, sizeof(want), why, "outside/a/c1/userdata/resolv.conf");
	assert_refused("outside/a/c1/userdata/resolv.conf", want);
	owner.id[0] = "";
	owner.id[1] = NULL;
	assert_refused("outside/a/c1/userdata/resolv.conf", want);
	/* The folder's own name is none of a container. */
	put_file("outside/resolv.conf", "");
	owner.id[0] = "outside";
	snprintf(want, sizeof(want), why, "outside/resolv.conf");
	assert_refused("outside/resolv.conf", want);
}

static void paths_without_measure(void **state)
{
	(void)state;
	static char path[8192], why[10000];
	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(hook_open_source(bundle_fd, path, MAX, &owner, ERR_TEXT(why)), ERR_DENIED);
	assert_non_null(strstr(why, "is too long a path"));
	path[1000] = '\0';
	assert_int_equal(hook_open_source(bundle_fd, path, MAX, &owner, ERR_TEXT(why)), ERR_DENIED);
	assert_non_null(strstr(why, "has too long a component"));
}

static void files_of_the_bundle(void **state)
{
	(void)state;
	char why[256] = "";
	put_file("bundle/config.json", "{}");
	int fd = hook_open_in_bundle(bundle_fd, "config.json", MAX, ERR_TEXT(why));
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(hook_open_in_bundle(bundle_fd, "config.json", 1, ERR_TEXT(why)),
			 ERR_LIMIT);
	assert_string_equal(why, "'config.json' has 2 bytes; 1 is the limit");
	assert_int_equal(hook_open_in_bundle(bundle_fd, "none", MAX, ERR_TEXT(why)), -ENOENT);
	assert_int_equal(hook_open_in_bundle(bundle_fd, "rootfs", MAX, ERR_TEXT(why)), ERR_DENIED);
	assert_int_equal(symlink("config.json", "bundle/link"), 0);
	assert_int_equal(hook_open_in_bundle(bundle_fd, "link", MAX, ERR_TEXT(why)), ERR_DENIED);
	assert_string_equal(why, "'link' is a symbolic link");
	assert_int_equal(mkfifo("bundle/pipe", 0644), 0);
	assert_int_equal(hook_open_in_bundle(bundle_fd, "pipe", MAX, ERR_TEXT(why)), ERR_DENIED);
	assert_int_equal(hook_open_bundle("/nowhere/at/all", ERR_TEXT(why)), -ENOENT);
	assert_int_equal(hook_open_bundle("/dev/null", ERR_TEXT(why)), -ENOTDIR);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(ordinary_files),	     IN_FOLDER(things_that_are_no_files),
		IN_FOLDER(files_that_are_another_s), IN_FOLDER(the_node_s_own_file),
		IN_FOLDER(links_on_the_way),	     IN_FOLDER(paths_without_measure),
		IN_FOLDER(files_of_the_bundle),	     IN_FOLDER(files_outside_of_the_storage),
		IN_FOLDER(files_of_other_sandboxes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

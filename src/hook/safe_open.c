/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening without being led elsewhere (safe_open.h has the rules). */
#include "hook/safe_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

enum { LINKS_MAX = 8 };

/* The node's own resolver file by its usual names: a pod may mount it (hostPath, or a runtime that
 * hands it through), and then all programs of the node would share what the pod asks for. */
static const char *const node_files[] = {
	"/etc/resolv.conf",
	"/run/systemd/resolve/resolv.conf",
	"/run/systemd/resolve/stub-resolv.conf",
	"/usr/lib/systemd/resolv.conf",
	"/run/NetworkManager/resolv.conf",
	"/run/NetworkManager/no-stub-resolv.conf",
	"/run/resolvconf/resolv.conf",
	"/run/connman/resolv.conf",
};

struct walk {
	const char *path; /* as given, for messages */
	int dir_fd;	  /* where the walk stands; its own */
	bool in_bundle;	  /* links are not followed any more */
	bool in_storage;  /* nor here */
	unsigned links;
	char name[NAME_MAX + 1]; /* the next component */
	char rest[PATH_MAX];	 /* what follows it */
	/* The folder where the walk stands and the one above, below a storage folder. */
	char folder[NAME_MAX + 1], above[NAME_MAX + 1];
	struct stat root[HOOK_STORAGE_ROOTS_MAX]; /* storage folders that exist */
	size_t n_roots;
	struct err_text err;
};

static int fail_errno(struct walk *walk, const char *what)
{
	int code = errno;
	err_text_set(walk->err, "cannot open %s'%s': %s", what, walk->path, strerror(code));
	return -code;
}

static int refuse_path(struct walk *walk, const char *why)
{
	err_text_set(walk->err, "'%s' %s", walk->path, why);
	return ERR_DENIED;
}

/* Runtimes write clean paths; only a link's target may go up. */
static bool goes_up(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")) != NULL; at += 2) {
		if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
			return true;
	}
	return false;
}

static int start_walk(struct walk *walk, int bundle_fd, const char *path, struct err_text err)
{
	*walk = (struct walk){ .path = path, .dir_fd = -1, .err = err };
	size_t n = strlen(path);
	if (n >= sizeof(walk->rest))
		return refuse_path(walk, "is too long a path");
	if (goes_up(path))
		return refuse_path(walk, "goes up by '..'");
	memcpy(walk->rest, path, n + 1);
	walk->in_bundle = path[0] != '/';
	if (walk->in_bundle)
		walk->dir_fd = fcntl(bundle_fd, F_DUPFD_CLOEXEC, 0);
	else
		walk->dir_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return walk->dir_fd < 0 ? fail_errno(walk, "the start of ") : 0;
}

static void end_walk(struct walk *walk)
{
	if (walk->dir_fd >= 0)
		close(walk->dir_fd);
	walk->dir_fd = -1;
}

/* Takes the next component from the rest. 1: there is one; 0: the path is at its end. */
static int take_component(struct walk *walk)
{
	const char *from = walk->rest;
	size_t n;
	do {
		from += strspn(from, "/");
		n = strcspn(from, "/");
		if (n > NAME_MAX)
			return refuse_path(walk, "has too long a component");
		memcpy(walk->name, from, n);
		walk->name[n] = '\0';
		from += n;
	} while (strcmp(walk->name, ".") == 0);
	from += strspn(from, "/");
	memmove(walk->rest, from, strlen(from) + 1);
	return n > 0;
}

/* Whether nobody but root and this user could have put a link there. */
static bool is_trusted_link(int dir_fd, const struct stat *link)
{
	struct stat dir;
	if (fstat(dir_fd, &dir) < 0)
		return false;
	bool others_write = (dir.st_mode & (S_IWGRP | S_IWOTH)) != 0;
	return (link->st_uid == 0 || link->st_uid == geteuid()) &&
	       (dir.st_uid == 0 || dir.st_uid == geteuid()) &&
	       (!others_write || (dir.st_mode & S_ISVTX) != 0);
}

/* Puts the link's target in front of the rest. */
static int follow_link(struct walk *walk, const struct stat *link)
{
	char target[PATH_MAX];
	if (walk->in_bundle)
		return refuse_path(walk, "leads over a symbolic link in the bundle");
	if (walk->in_storage)
		return refuse_path(walk, "leads over a symbolic link in a storage folder");
	if (!is_trusted_link(walk->dir_fd, link))
		return refuse_path(walk, "leads over a symbolic link that is not root's");
	if (++walk->links > LINKS_MAX)
		return refuse_path(walk, "leads over too many symbolic links");
	ssize_t n = readlinkat(walk->dir_fd, walk->name, target, sizeof(target) - 1);
	if (n < 0)
		return fail_errno(walk, "");
	size_t length = (size_t)n, rest = strlen(walk->rest);
	if (length + 1 + rest >= sizeof(walk->rest))
		return refuse_path(walk, "leads over a symbolic link to too long a path");
	memmove(walk->rest + length + 1, walk->rest, rest + 1);
	memcpy(walk->rest, target, length);
	walk->rest[length] = '/';
	if (target[0] != '/')
		return 0;
	end_walk(walk);
	walk->dir_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return walk->dir_fd < 0 ? fail_errno(walk, "") : 0;
}

static bool is_same_file(const struct stat *left, const struct stat *right)
{
	return left->st_dev == right->st_dev && left->st_ino == right->st_ino;
}

static void find_roots(struct walk *walk, const struct hook_storage *storage)
{
	for (size_t i = 0; i < storage->n_roots; i++) {
		struct stat *root = &walk->root[walk->n_roots];
		if (stat(storage->root[i], root) == 0 && S_ISDIR(root->st_mode))
			walk->n_roots++;
	}
}

/* Notes where the walk has come, by whatever names. */
static void note_folder(struct walk *walk, int bundle_fd, const struct stat *folder)
{
	struct stat bundle;
	memcpy(walk->above, walk->folder, sizeof(walk->above));
	memcpy(walk->folder, walk->name, sizeof(walk->folder));
	if (bundle_fd >= 0 && fstat(bundle_fd, &bundle) == 0 && is_same_file(folder, &bundle))
		walk->in_bundle = true;
	for (size_t i = 0; i < walk->n_roots; i++) {
		if (is_same_file(folder, &walk->root[i])) {
			walk->in_storage = true;
			walk->folder[0] = walk->above[0] = '\0';
		}
	}
}

/* Goes to the folder `name`, or over the link of that name. */
static int enter_folder(struct walk *walk, int bundle_fd)
{
	struct stat entry;
	if (fstatat(walk->dir_fd, walk->name, &entry, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_errno(walk, "");
	if (S_ISLNK(entry.st_mode))
		return follow_link(walk, &entry);
	int fd = openat(walk->dir_fd, walk->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail_errno(walk, "");
	end_walk(walk);
	walk->dir_fd = fd;
	note_folder(walk, bundle_fd, &entry);
	return 0;
}

static const char *describe_type(mode_t mode)
{
	return S_ISLNK(mode)	? "is a symbolic link"
	       : S_ISDIR(mode)	? "is a directory"
	       : S_ISFIFO(mode) ? "is a named pipe"
	       : S_ISSOCK(mode) ? "is a socket"
				: "is a device";
}

/* Opens the component `name`: a regular file of a bounded size. */
static int open_file(struct walk *walk, int flags, size_t max_bytes, struct stat *ret)
{
	struct stat before;
	if (fstatat(walk->dir_fd, walk->name, &before, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_errno(walk, "");
	if (!S_ISREG(before.st_mode))
		return refuse_path(walk, describe_type(before.st_mode));
	/* O_NONBLOCK: what was put there since then must not hold the container up. */
	int fd = openat(walk->dir_fd, walk->name,
			flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return fail_errno(walk, "");
	int r = 0;
	if (fstat(fd, ret) < 0)
		r = fail_errno(walk, "");
	else if (!S_ISREG(ret->st_mode) || !is_same_file(&before, ret))
		r = refuse_path(walk, "was replaced meanwhile");
	else if (ret->st_size < 0 || (size_t)ret->st_size > max_bytes) {
		err_text_set(walk->err, "'%s' has %lld bytes; %zu is the limit", walk->path,
			     (long long)ret->st_size, max_bytes);
		r = ERR_LIMIT;
	}
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static bool is_node_file(const struct stat *file)
{
	struct stat node;
	for (size_t i = 0; i < ARRAY_LEN(node_files); i++) {
		if (stat(node_files[i], &node) == 0 && is_same_file(&node, file))
			return true;
	}
	return false;
}

int hook_open_bundle(const char *path, struct err_text err)
{
	struct walk walk;
	int r = start_walk(&walk, -1, path, err);
	while (r == 0 && (r = take_component(&walk)) > 0)
		r = enter_folder(&walk, -1);
	if (r < 0) {
		end_walk(&walk);
		return r;
	}
	return walk.dir_fd;
}

int hook_open_in_bundle(int bundle_fd, const char *name, size_t max_bytes, struct err_text err)
{
	struct walk walk;
	struct stat file;
	int r = start_walk(&walk, bundle_fd, name, err);
	if (r == 0)
		r = take_component(&walk);
	if (r > 0)
		r = open_file(&walk, O_RDONLY, max_bytes, &file);
	end_walk(&walk);
	return r;
}

/* Walks to the folder of the last component, which is then in `name`. */
static int walk_to_last(struct walk *walk, int bundle_fd)
{
	int r = take_component(walk);
	while (r > 0 && walk->rest[0] != '\0') {
		r = enter_folder(walk, bundle_fd);
		if (r == 0)
			r = take_component(walk);
	}
	return r == 0 ? refuse_path(walk, "is a directory") : r;
}

static bool is_owners_folder(const struct walk *walk, const struct hook_owner *owner)
{
	const char *name = strcmp(walk->folder, "userdata") == 0 ? walk->above : walk->folder;
	for (size_t i = 0; i < ARRAY_LEN(owner->id); i++) {
		if (owner->id[i] != NULL && name[0] != '\0' && strcmp(owner->id[i], name) == 0)
			return true;
	}
	return owner->is_any;
}

/* Before the file is opened: whether it is the container's at all. */
static int check_place(struct walk *walk, const struct hook_owner *owner)
{
	struct stat file;
	if (walk->in_bundle)
		return 1;
	if (fstatat(walk->dir_fd, walk->name, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
	    is_node_file(&file))
		return refuse_path(walk, "is the resolver file of the node itself");
	if (!walk->in_storage)
		return refuse_path(walk, "is neither in the bundle nor in a storage folder of the "
					 "runtime (--storage-root)");
	if (!is_owners_folder(walk, owner))
		return refuse_path(walk, "is in the folder neither of this container nor of its "
					 "sandbox");
	return 1;
}

int hook_open_source(int bundle_fd, const char *path, size_t max_bytes,
		     const struct hook_owner *owner, struct err_text err)
{
	struct walk walk;
	struct stat file = { 0 };
	int r = start_walk(&walk, bundle_fd, path, err);
	find_roots(&walk, owner->storage);
	if (r == 0)
		r = walk_to_last(&walk, bundle_fd);
	/* What every runtime calls it. Files that a pod mounts there by itself have other names,
	 * and are not the runtime's to change. */
	if (r > 0 && strcmp(walk.name, "resolv.conf") != 0)
		r = refuse_path(&walk, "is not named resolv.conf: it is no file of the runtime");
	if (r > 0)
		r = check_place(&walk, owner);
	if (r > 0)
		r = open_file(&walk, O_RDWR, max_bytes, &file);
	end_walk(&walk);
	if (r < 0)
		return r;
	const char *why = file.st_nlink != 1	? "has more than one name (hard links)"
			  : is_node_file(&file) ? "is the resolver file of the node itself"
						: NULL;
	if (why != NULL) {
		close(r);
		return refuse_path(&walk, why);
	}
	return r;
}

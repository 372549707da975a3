/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stat says about each path, and sockets inside of network namespaces. An open socket keeps its network namespace
 * alive: it is closed when the path names another one, or none. */
#include "node/target_watch.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/map.h"
#include "base/mem.h"

enum { READS_MAX = 64 }; /* of a socket each time */

/* All zero: it does not exist. */
struct state {
	dev_t device;
	ino_t number;
	off_t bytes; /* of a file; folders change theirs */
	struct timespec changed;
};

struct target {
	struct state state;
	int fd; /* -1: none */
	bool is_used;
};

struct node_target_watch {
	struct map targets; /* by path */
};

static struct state read_state(const char *path)
{
	struct stat st;
	struct state state;
	memset(&state, 0, sizeof(state)); /* it is compared as bytes */
	if (stat(path, &st) < 0)
		return state;
	state.device = st.st_dev;
	state.number = st.st_ino;
	if (S_ISREG(st.st_mode) && st.st_size != 0) {
		state.bytes = st.st_size;
		state.changed = st.st_mtim;
	}
	return state;
}

static void close_socket(struct target *target)
{
	if (target->fd >= 0)
		close(target->fd);
	target->fd = -1;
}

static void free_target(struct target *target)
{
	close_socket(target);
	free(target);
}

struct node_target_watch *node_target_watch_new(void)
{
	struct node_target_watch *watch = xcalloc(1, sizeof(*watch));
	map_init(&watch->targets);
	return watch;
}

void node_target_watch_free(struct node_target_watch *watch)
{
	const struct map_entry *entry;
	size_t pos = 0;
	if (watch == NULL)
		return;
	while ((entry = map_next(&watch->targets, &pos)) != NULL)
		free_target(entry->value);
	map_done(&watch->targets);
	free(watch);
}

void node_target_watch_begin(struct node_target_watch *watch)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&watch->targets, &pos)) != NULL)
		((struct target *)entry->value)->is_used = false;
}

void node_target_watch_add(struct node_target_watch *watch, const char *path)
{
	struct target *target = map_get(&watch->targets, slice_of(path));
	struct state state = read_state(path);
	if (target == NULL) {
		target = xcalloc(1, sizeof(*target));
		target->fd = -1;
		map_set(&watch->targets, slice_of(path), target);
	}
	if (memcmp(&state, &target->state, sizeof(state)) != 0)
		close_socket(target);
	target->state = state;
	target->is_used = true;
}

void node_target_watch_end(struct node_target_watch *watch)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&watch->targets, &pos)) != NULL) {
		struct target *target = entry->value;
		if (!target->is_used)
			free_target(map_del(&watch->targets,
					    (struct slice){ entry->key, entry->key_n }));
	}
}

bool node_target_watch_needs_socket(const struct node_target_watch *watch, const char *path)
{
	const struct target *target = map_get(&watch->targets, slice_of(path));
	return target != NULL && target->fd < 0;
}

void node_target_watch_set_socket(struct node_target_watch *watch, const char *path, int fd)
{
	struct target *target = map_get(&watch->targets, slice_of(path));
	if (target == NULL) {
		close(fd);
		return;
	}
	close_socket(target);
	target->fd = fd;
}

int node_target_watch_open_socket(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK,
				       .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)(const void *)&address, sizeof(address)) == 0)
		return fd;
	int r = -errno;
	close(fd);
	return r;
}

/* ENOBUFS is news, too: there were too many to keep. Whoever owns the network namespace may change addresses faster than
 * they are read here: what is left counts the next time. */
static bool has_news(int fd)
{
	char bytes[8192];
	bool is_any = false;
	for (int i = 0; i < READS_MAX; i++) {
		if (recv(fd, bytes, sizeof(bytes), 0) >= 0 || errno == ENOBUFS)
			is_any = true;
		else if (errno != EINTR)
			return is_any;
	}
	return true;
}

bool node_target_watch_has_changed(struct node_target_watch *watch)
{
	const struct map_entry *entry;
	size_t pos = 0;
	bool has_changed = false;
	while ((entry = map_next(&watch->targets, &pos)) != NULL) {
		struct target *target = entry->value;
		struct state state = read_state(entry->key);
		has_changed |= memcmp(&state, &target->state, sizeof(state)) != 0;
		has_changed |= target->fd >= 0 && has_news(target->fd);
	}
	return has_changed;
}

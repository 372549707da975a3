/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Notices that what firewalls of one machine apply to has changed: cgroups and network namespaces that come, go or are made
 * anew, addresses of network namespaces, and files. It is asked twice a second, which costs one system call for each; there is
 * no notice of the mount that makes a file of /run/netns a network namespace, so that one would have to ask in any case. One
 * thread. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"

struct node_target_watch;

struct node_target_watch *node_target_watch_new(void);
void node_target_watch_free(struct node_target_watch *watch); /* NULL is fine */

/* A pass over all targets: begin, add each before it is read, end. What was not added is forgotten. */
void node_target_watch_begin(struct node_target_watch *watch);
void node_target_watch_add(struct node_target_watch *watch, const char *path);
void node_target_watch_end(struct node_target_watch *watch);

/* Of a path that was added, which is a network namespace: whether a socket is wanted that hears of its addresses. */
bool node_target_watch_needs_socket(const struct node_target_watch *watch, const char *path);
/* Takes it over. */
void node_target_watch_set_socket(struct node_target_watch *watch, const char *path, int fd);
/* Such a socket, of the network namespace that the calling thread is in; or -errno. */
MUST_CHECK int node_target_watch_open_socket(void);

/* Has something changed since the last pass? */
bool node_target_watch_has_changed(struct node_target_watch *watch);

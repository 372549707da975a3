/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports when files of a configuration may have changed, so that they need not be read again and
 * again (inotify). Folders are watched for the names that matter, with all symbolic links on the
 * way: a kubelet changes a mounted ConfigMap by giving the link `..data` another target.
 *
 * It is a hint. Where the kernel has no watch left, or files are on a network and change elsewhere,
 * nothing comes: look at them now and then as well. One thread. */
#pragma once

#include <stdbool.h>

struct config_watch;

/* NULL when the kernel has no watch left; all functions accept that. */
struct config_watch *config_watch_new(void);
void config_watch_free(struct config_watch *watch);
/* Readable when something has happened; -1 for NULL. */
int config_watch_fd(const struct config_watch *watch);

/* A reading of the files: between begin and end each one is named before it is opened, so that no
 * change falls between. What was named the time before and is not any more is forgotten. */
void config_watch_begin(struct config_watch *watch);
void config_watch_file(struct config_watch *watch, const char *path);
/* Files by wildcards: any name in the folder in front of the first one. */
void config_watch_pattern(struct config_watch *watch, const char *pattern);
void config_watch_end(struct config_watch *watch);

/* Reads the pending events; true when one of the files was concerned. */
bool config_watch_changed(struct config_watch *watch);

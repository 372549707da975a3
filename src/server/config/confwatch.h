/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports when files of a configuration may have changed, so that they need not be read again and
 * again (inotify). Folders are watched for the names that matter, with all symbolic links on the
 * way: a kubelet changes a mounted ConfigMap by giving the link `..data` another target.
 *
 * It is a hint. Where the kernel has no watch left, or files are on a network and change elsewhere,
 * nothing comes: look at them now and then as well. One thread. */
#pragma once

#include <stdbool.h>

struct confwatch;

/* NULL when the kernel has no watch left; all functions accept that. */
struct confwatch *confwatch_new(void);
void confwatch_free(struct confwatch *confwatch);
/* Readable when something has happened; -1 for NULL. */
int confwatch_fd(const struct confwatch *confwatch);

/* A reading of the files: between begin and end each one is named before it is opened, so that no
 * change falls between. What was named the time before and is not any more is forgotten. */
void confwatch_begin(struct confwatch *confwatch);
void confwatch_file(struct confwatch *confwatch, const char *path);
/* Files by wildcards: any name in the folder in front of the first one. */
void confwatch_pattern(struct confwatch *confwatch, const char *pattern);
void confwatch_end(struct confwatch *confwatch);

/* Reads the pending events; true when one of the files was concerned. */
bool confwatch_changed(struct confwatch *confwatch);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries of an account that concern one name stand in a line: only the first of it is worked on. An
 * entry with several names stands in several lines, and must be the first of all. */
#pragma once

#include <stdbool.h>

#include "base/map.h"

struct publisher_entry;

struct name_lines {
	struct map first; /* by name: struct entry_claim */
};

void name_lines_init(struct name_lines *lines);
void name_lines_done(struct name_lines *lines); /* entries are left alone */
/* Joins the lines of its names. True: it is the first everywhere. */
bool name_lines_join(struct name_lines *lines, struct publisher_entry *entry);
/* Leaves them; calls `on_first` for each that has become the first everywhere. */
void name_lines_leave(struct name_lines *lines, struct publisher_entry *entry,
		      void (*on_first)(struct publisher_entry *entry));

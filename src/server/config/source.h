/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a Corefile comes from, as the server and plugin/reload see it. */
#pragma once

#include <stdbool.h>

#include "base/err_text.h"
#include "base/strbuf.h"

struct config_watch;

/* Members that may be NULL are marked. All calls come from the control thread. */
struct config_source {
	void *ctx;
	const char *name;	    /* shown in error positions */
	const char *fallback;	    /* Corefile for a start without any server block; may be NULL */
	const char *path;	    /* the file that it is, to be watched; may be NULL */
	struct config_watch *watch; /* watches it and the files it imports; may be NULL */
	/* The whole text now; 0, or -errno with a text in `why`. */
	int (*load)(void *ctx, struct strbuf *out, struct err_text why);
	/* For sources that report changes; may be NULL. A descriptor that is readable then, and the
	 * function that reads the events: true when the Corefile is another one. */
	int (*fd)(void *ctx);
	bool (*changed)(void *ctx);
	/* The text that was loaded last serves now; may be NULL. */
	void (*accepted)(void *ctx);
	/* For a start when the Corefile cannot be loaded or served: the one that was served before;
	 * as load. May be NULL. */
	int (*last_good)(void *ctx, struct strbuf *out, struct err_text why);
	const char *last_good_name; /* for the log; NULL: "the last good configuration" */
};

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The control thread of `fairlead dns`: start, signals, reloads, orderly end. */
#pragma once

#include <stdbool.h>

#include "server/config/source.h"
#include "server/server.h"

struct control_opts {
	struct config_source src;
	struct server_opts server;
	const char *pidfile; /* NULL: none */
	bool quiet;
	const char *version;	    /* shown at start: name and version */
	void (*started)(void *ctx); /* once it serves; may be NULL */
	void *started_ctx;
};

/* Serves until a signal ends it; the exit status. */
int control_run(const struct control_opts *opts);

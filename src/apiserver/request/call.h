/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One API request as the verbs see it: method, decoded path and arguments, body, and who sent it.
 * No HTTP library and no TLS, so that every rule is tested without a socket. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"
#include "http/server.h"

enum {
	APISERVER_BODY_MAX_BYTES = 3 << 20,
	APISERVER_ARGS_MAX = 64,
};

/* The user who sent a request. */
struct apiserver_identity {
	const char *user;
	const char *const *groups; /* NULL-terminated */
	bool system;		   /* may write status and what only the controllers write */
};

struct apiserver_arg {
	const char *name, *value; /* decoded */
};

struct apiserver_call {
	enum http_method method;
	const char *method_text;
	const char *path; /* decoded, without arguments */
	const struct apiserver_arg *args;
	size_t n_args;
	const char *accept, *content_type, *if_none_match, *user_agent; /* "" when not sent */
	struct slice body;
	const struct apiserver_identity *who;
};

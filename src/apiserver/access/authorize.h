/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Authorization, before anything else is done with a request: what it wants to do, read from its
 * method and path alone, and whether its user may. The path is parsed by the code that routes the
 * request (apiserver/request/route.h): a second parser could allow one thing and do another. */
#pragma once

#include <stdbool.h>

#include "apiserver/kind/resource.h"
#include "apiserver/request/answer.h"
#include "apiserver/request/call.h"
#include "apiserver/request/route.h"
#include "base/strbuf.h"

struct apiserver_attributes {
	struct apiserver_action action; /* points into the route */
	struct apiserver_route route;
};

/* False when the path is no resource's, or too long. The result points into itself: do not copy
 * it. */
bool apiserver_authorize_read_call(const struct apiserver_call *call,
				   struct apiserver_attributes *ret);

/* Whether the user may do this. Group and resource may be "*", as reviews ask it. */
bool apiserver_authorize(const struct apiserver_identity *who,
			 const struct apiserver_action *action);
/* The same by name, as `may` of struct apiserver_env; unknown users may nothing. ctx is unused. */
bool apiserver_authorize_user(void *ctx, const char *user, const struct apiserver_action *action);
/* Answers 403 with a Status that explains why. */
void apiserver_authorize_refuse(const struct apiserver_identity *who,
				const struct apiserver_action *action,
				struct apiserver_answer *ret);

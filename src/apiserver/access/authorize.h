/* What a request wants to do, read from its method and path alone, before anybody looks whether
 * such a thing exists: what is not allowed is refused first. The path is read by the code that
 * routes the request (apiserver/verb/route.h): a second reading could allow one thing and do another. */
#pragma once

#include <stdbool.h>

#include "apiserver/access/auth.h"
#include "apiserver/verb/rest.h"
#include "apiserver/verb/route.h"

struct apiserver_wish {
	struct apiserver_action action; /* points into the route */
	struct apiserver_route route;
};

/* False when the path is none of a resource, or too long for any. The wish points into itself: it
 * must stay where it is. */
bool apiserver_wish_read(const struct apiserver_call *call, struct apiserver_wish *ret);
/* 403 and the Status that says why. */
void apiserver_refuse_action(const struct apiserver_identity *who,
			     const struct apiserver_action *action, struct apiserver_answer *ret);

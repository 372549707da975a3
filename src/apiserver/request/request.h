/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One request while a verb serves it: the call, its route, the form of the reply, and the answer
 * that the verb fills in. */
#pragma once

#include "apiserver/codec/accept.h"
#include "apiserver/codec/status.h"
#include "apiserver/codec/table.h"
#include "apiserver/kind/resource.h"
#include "apiserver/request/answer.h"
#include "apiserver/request/api_state.h"
#include "apiserver/request/call.h"
#include "apiserver/request/route.h"

struct apiserver_request {
	struct apiserver_api *api;
	const struct apiserver_call *call;
	struct apiserver_answer *answer;
	struct apiserver_status *status; /* why the request is refused */
	struct apiserver_route route;
	const struct apiserver_resource *resource; /* route.resource, which is served */
	struct apiserver_accept accept;
	enum apiserver_include include;
};

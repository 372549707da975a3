/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The entry of the API: one request in, one answer out. */
#pragma once

#include "apiserver/request/answer.h"
#include "apiserver/request/call.h"

struct apiserver_api;

/* Serves one request. Any thread, many at a time; may wait for the disk. Initializes `ret`; free it
 * with apiserver_answer_done. */
void apiserver_dispatch(struct apiserver_api *api, const struct apiserver_call *call,
			struct apiserver_answer *ret);

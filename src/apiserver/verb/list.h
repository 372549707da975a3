/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GET of a collection. */
#pragma once

#include "apiserver/request/options.h"
#include "apiserver/request/request.h"

/* 0: the answer is filled in; ERR_DENIED: the request's status is. A long list goes on as a stream
 * when this has returned. */
int apiserver_verb_list(struct apiserver_request *req,
			const struct apiserver_list_options *options);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GET of a collection with watch=true. */
#pragma once

#include "apiserver/request/options.h"
#include "apiserver/request/request.h"

/* 0: the answer has a stream of events; ERR_DENIED: the request's status is filled in. */
int apiserver_verb_watch(struct apiserver_request *req,
			 const struct apiserver_list_options *options);

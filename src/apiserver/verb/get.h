/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GET of one object. */
#pragma once

#include "apiserver/request/request.h"

/* 0: the answer is filled in; ERR_DENIED: the request's status is. */
int apiserver_verb_get(struct apiserver_request *req);

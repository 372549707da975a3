/* SPDX-License-Identifier: GPL-3.0-or-later */
/* POST of an object. */
#pragma once

#include "apiserver/request/request.h"

/* 0: the answer is filled in; ERR_DENIED: the request's status is. */
int apiserver_verb_create(struct apiserver_request *req);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PUT of an object. */
#pragma once

#include "apiserver/request/request.h"

/* 0: the answer is filled in; ERR_DENIED: the request's status is. */
int apiserver_verb_update(struct apiserver_request *req);

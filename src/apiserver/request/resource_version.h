/* SPDX-License-Identifier: GPL-3.0-or-later */
/* resourceVersion texts of clients, which are revisions of the store. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apiserver/codec/status.h"
#include "apiserver/request/api_state.h"
#include "base/compiler.h"

/* Requests that may wait for a future revision at a time: each blocks one of the threads that serve
 * requests. */
enum { APISERVER_WAITING_MAX = 4 };

/* The revision; "" is 0. False when the text is not a number. */
bool apiserver_resource_version_parse(const char *text, uint64_t *ret);
/* Go's reason why such a text is not a number: "invalid syntax" or "value out of range". */
const char *apiserver_resource_version_error(const char *text);
/* Refuses a list with such a text: 400. */
int apiserver_resource_version_refuse(struct apiserver_status *status, const char *text);
/* Waits until the store has reached the revision. Refused: 504 when it does not in time, or when
 * too many requests wait already. */
MUST_CHECK int apiserver_resource_version_wait(struct apiserver_api *api, uint64_t revision,
					       struct apiserver_status *status);

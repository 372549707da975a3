/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The paths of reviews: POST /validate/NAME and /mutate/NAME ask the rows of that name, so that a
 * refusal is that of the registration which was called; /validate and /mutate ask all rows of the
 * kind, for registrations that do not name one. */
#pragma once

#include <stddef.h>

#include "http/server.h"
#include "kube/webhook/admission.h"

struct review_routes;

/* Copies the rows; their texts and ctx are borrowed. Never NULL. */
struct review_routes *review_routes_new(const struct admission_hook *hooks, size_t count);
void review_routes_free(struct review_routes *routes); /* NULL is fine */
/* Valid until review_routes_free(). */
const struct http_route *review_routes_get(const struct review_routes *routes, size_t *ret_count);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validation of a Service's cluster addresses and IP families. */
#pragma once

#include <jansson.h>

#include "apiserver/kind/strategy.h"

void apiserver_service_check_ips(const json_t *object, const json_t *old, struct api_errors *errs);
/* What an update may not change. */
void apiserver_service_check_unchanged(const json_t *spec, const json_t *was,
				       struct api_errors *errs);
/* Errors that the server finds when it allocates addresses; it reports these alone. */
void apiserver_service_check_families(const struct apiserver_env *env, const json_t *object,
				      const json_t *old, struct api_errors *errs);

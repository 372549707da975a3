/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validation of Services. */
#pragma once

#include <jansson.h>

#include "apiserver/kind/strategy.h"

void apiserver_service_validate(const struct apiserver_env *env, const json_t *object,
				const json_t *old, struct api_errors *errs);

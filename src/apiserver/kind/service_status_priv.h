/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes to the status of a Service. */
#pragma once

#include <jansson.h>

#include "api/fielderr.h"

void apiserver_service_prepare_status(json_t *object, const json_t *old);
void apiserver_service_validate_status(const json_t *object, const json_t *old,
				       struct api_errors *errs);

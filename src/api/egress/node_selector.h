/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nodeSelector of a rule: matchLabels and matchExpressions, as Kubernetes' LabelSelector. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "api/fielderr.h"
#include "api/selector.h"
#include "base/arena.h"

/* False with entries in `errors`, whose paths begin with `field`. Texts are copied to the arena. */
bool egress_node_selector_read(const json_t *value, const char *field, struct arena *arena,
			       struct api_selector *ret, struct api_errors *errors);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings of a device's DHCP clients. */
#pragma once

#include <jansson.h>

#include "api/machine/machine.h"
#include "api/machine/problem.h"

/* Reads dhcp4Overrides or dhcp6Overrides, which stands at `field` of `object`; `value` may be NULL.
 */
void overrides_read(const json_t *value, const json_t *object, const char *field,
		    struct machine_problems *problems, struct machine_overrides *ret);

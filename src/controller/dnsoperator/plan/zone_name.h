/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of zones in spec.templates. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/slice.h"

/* Whether it is "." or a DNS name without its final dot. */
bool dnsoperator_is_zone(struct slice text);
/* What the author of an invalid zone should change. */
const char *dnsoperator_zone_advice(struct slice text);
/* In lower case and without its final dot. */
const char *dnsoperator_zone_normal(struct arena *arena, struct slice text);

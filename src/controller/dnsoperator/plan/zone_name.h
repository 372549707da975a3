/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of zones in spec.templates and spec.servers. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/slice.h"

/* Whether it is "." or a DNS name without its final dot. */
bool dnsoperator_is_zone(struct slice text);
/* The zone as DNS has it, for one with letters beyond ASCII; NULL for others. */
const char *dnsoperator_zone_advice_ascii(struct slice text, struct arena *arena);
/* What the author of an invalid zone should change; from the arena, or constant. */
const char *dnsoperator_zone_advice(struct slice text, struct arena *arena);
/* In lower case and without its final dot. */
const char *dnsoperator_zone_normal(struct arena *arena, struct slice text);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The growing list of findings of a result. */
#pragma once

#include "dns/podresolv/podresolv.h"

/* Appends; the message is formatted in the growing arena, the other texts are borrowed. */
PRINTF_LIKE(4, 5)
void podresolv_add_finding(struct podresolv_result *result, struct arena *arena,
			   struct podresolv_finding finding, const char *fmt, ...);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events about sources. */
#pragma once

#include "api/tree.h"
#include "controller/controller.h"
#include "controller/dnssource/problems.h"

/* Problems as Events on the object, once: again only when they have changed. */
void dnssource_report(const struct controller_ctx *ctx, const char *key, const json_t *object,
		      const struct dnssource_problems *problems);
/* What was done for it. */
void dnssource_report_done(const struct controller_ctx *ctx, const json_t *object,
			   const char *reason, const json_t *record);

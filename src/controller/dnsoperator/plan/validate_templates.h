/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validates spec.templates (OP-3…OP-15). A template that is refused here never reaches a server. */
#pragma once

#include "api/tree.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "controller/dnsoperator/plan/dns_spec.h"
#include "controller/dnsoperator/plan/problems.h"

enum {
	DNSOPERATOR_TEMPLATES_MAX = 20,
	DNSOPERATOR_TEMPLATE_NAME_MAX = 64,
	DNSOPERATOR_ZONES_MAX = 256, /* of one template */
	DNSOPERATOR_ZONE_CHARS_MAX = 253,
	DNSOPERATOR_ANNOTATION_BYTES_MAX = 256 << 10, /* all annotations of an object together */
};

/* `list` is spec.templates as it is in the object, NULL for none; `domain` the cluster's, NULL when
 * it is unknown.
 * ERR_CONFIG when there are problems: then `ret` is empty. */
MUST_CHECK int dnsoperator_templates_check(const json_t *list, const char *domain,
					   struct arena *arena, struct dnsoperator_templates *ret,
					   struct dnsoperator_problems *problems);
/* Parses the list in the annotation, JSON or YAML; the caller's. */
MUST_CHECK int dnsoperator_annotation_parse(const char *text, json_t **ret,
					    struct dnsoperator_problems *problems);

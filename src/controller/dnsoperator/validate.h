/* Is what the DNS object asks for fit for a server? (OP-3…OP-15, OP-D5) Nothing that is refused
 * here ever reaches one. */
#pragma once

#include "api/tree.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "controller/dnsoperator/model.h"
#include "controller/dnsoperator/problem.h"

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
/* The list in the annotation's text, JSON or YAML; the caller's. */
MUST_CHECK int dnsoperator_annotation_parse(const char *text, json_t **ret,
					    struct dnsoperator_problems *problems);
/* ERR_CONFIG with problems. `domain` is the cluster's, NULL when it is unknown. */
MUST_CHECK int dnsoperator_routes_check(const struct dnsoperator_routes *routes,
					const struct api_errors *errs, const char *domain,
					struct dnsoperator_problems *problems);
/* A copy of {"servers": [...], "upstreamResolvers": {...}} without the zones of the cluster's
 * domain, and without the servers that have no zone left. */
json_t *dnsoperator_routes_unreserved(const json_t *spec, const char *domain);

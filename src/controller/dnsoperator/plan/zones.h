/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Zones of servers and templates: which one contains which, and in what order the template stanzas
 * of a Corefile must stand. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "controller/dnsoperator/plan/dns_spec.h"

/* Zones of one template that stand in one stanza: those of another lie neither between nor below
 * them later in the list (OP-19, OP-20, OP-T14). */
struct dnsoperator_stanza {
	const struct dnsoperator_template *of;
	const char **zones;
	size_t n_zones;
};
struct dnsoperator_stanzas {
	struct dnsoperator_stanza *v;
	size_t n;
};
void dnsoperator_stanzas_order(const struct dnsoperator_templates *templates, struct arena *arena,
			       struct dnsoperator_stanzas *ret);

/* The zones of an entry of a server's `zones`: more than one for a network off a label boundary.
 * Lower case, with their final dots. ERR_PARSE. */
MUST_CHECK int dnsoperator_server_zones(const char *text, struct arena *arena,
					const char *const **ret, size_t *ret_n);
/* Is `name` the zone or below it? Both normalised. */
bool dnsoperator_zone_has(const char *zone, const char *name);
/* Is an entry of a server's `zones` the cluster's domain or below it? A NULL domain has none. */
bool dnsoperator_server_zone_reserved(const char *text, const char *domain);
/* Is it above one of the cluster's zones: the domain or the reverse zones? */
bool dnsoperator_server_zone_covers(const char *text, const char *domain);

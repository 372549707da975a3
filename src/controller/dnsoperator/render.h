/* Accepted configuration into the text of a Corefile.
 *
 * Without templates the text is byte for byte what OpenShift's operator writes (OP-1). With them
 * each block but that for CHAOS has the templates; names of the cluster are kept out of their reach
 * by a block of their own (OP-T1), as they are from servers for a zone above them, and a block
 * `config.fairlead.internal` tells which text a server runs. All of it means the same to CoreDNS.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "controller/dnsoperator/ack.h"
#include "controller/dnsoperator/facts.h"
#include "controller/dnsoperator/model.h"

/* Of a rendered text; a ConfigMap holds a MiB. */
enum { DNSOPERATOR_TEXT_MAX = 900 << 10 };

struct dnsoperator_wanted {
	const struct dnsoperator_facts *facts;
	const struct dnsoperator_dns *dns;	 /* log levels and cache */
	const struct dnsoperator_routes *routes; /* those that were accepted */
	const struct dnsoperator_templates *templates;
};

/* `hash` gets what the marker answers, "" when there are no templates. */
void dnsoperator_render(const struct dnsoperator_wanted *wanted, struct strbuf *out,
			char hash[DNSOPERATOR_ACK_HASH_MAX]);

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
/* The cluster's domain; never "". */
const char *dnsoperator_domain(const struct dnsoperator_facts *facts);
/* The same, as far as zones at or below it must be refused; NULL when it is unknown. */
const char *dnsoperator_reserved_domain(const struct dnsoperator_facts *facts);
/* Is an entry of a server's `zones` the cluster's domain or below it? A NULL domain has none. */
bool dnsoperator_server_zone_reserved(const char *text, const char *domain);
/* Is it above one of the cluster's zones: the domain or the reverse zones? */
bool dnsoperator_server_zone_covers(const char *text, const char *domain);

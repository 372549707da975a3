/* spec.templates as the object last had it. Under a CRD without the field any write of the object,
 * even of its status, destroys the list. So what was accepted (plan.h) also has, as "stored", which
 * list that was: {"uid": of the object, "generation": N, "pruned": true?, "templates": [...]?},
 * without the list where that is the accepted one. When the CRD has the field again, the list is
 * put back. */
#pragma once

#include "controller/dnsoperator/plan/dns_spec.h"
#include "controller/dnsoperator/plan/plan.h"

struct dnsoperator_kept_templates {
	const json_t *list; /* NULL: there is nothing to keep */
	int64_t generation; /* of the object that had it */
	bool pruned;	    /* a CRD without the field was seen since then */
	bool restore;	    /* the object has lost it, and the CRD has the field */
};

/* What is to be kept, of the object and of what was kept before; lists are borrowed. */
struct dnsoperator_kept_templates dnsoperator_kept_templates_find(
	const struct dnsoperator_plan_in *in, const struct dnsoperator_dns *dns);
/* Into what is accepted, whose templates are final. */
void dnsoperator_kept_templates_store(const struct dnsoperator_kept_templates *dnsoperator_stored,
				      const json_t *dns, json_t *accepted);

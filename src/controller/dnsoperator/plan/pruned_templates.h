/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps spec.templates as the object last had it. Under a CRD without the field any write of the
 * object, even of its status, destroys the list. So the accepted configuration (plan.h) also has a
 * member "stored": {"uid": of the object, "generation": N, "pruned": true?, "templates": [...]?},
 * without the list where that is the accepted one. When the CRD has the field again, the list is
 * restored.
 *
 * A member "last": {"uid": of the object, "templates": [...]} has the list that was accepted last,
 * where no other member has it any more: the backup (status/templates_backup.h) is written a second
 * later, perhaps by another process. */
#pragma once

#include "controller/dnsoperator/plan/dns_spec.h"
#include "controller/dnsoperator/plan/plan.h"

struct dnsoperator_kept_templates {
	const json_t *list; /* NULL: nothing to keep */
	int64_t generation; /* of the object that had it */
	bool pruned;	    /* a CRD without the field was seen since then */
	bool restore;	    /* the object has lost it, and the CRD has the field */
};

/* The list to keep, from the object or from the last accepted configuration; lists are borrowed. */
struct dnsoperator_kept_templates dnsoperator_kept_templates_find(
	const struct dnsoperator_plan_in *in, const struct dnsoperator_dns *dns);
/* The list of the field that was accepted last, according to the last accepted configuration; NULL:
 * not known. Borrowed. */
const json_t *dnsoperator_kept_templates_last(const struct dnsoperator_plan_in *in);
/* Sets "stored" in the accepted configuration, whose templates are final. */
void dnsoperator_kept_templates_store(const struct dnsoperator_kept_templates *kept,
				      const json_t *dns, json_t *accepted);
/* Sets "last" behind it; NULL: the list is in force, or not known. */
void dnsoperator_kept_templates_store_last(const json_t *list, const json_t *dns, json_t *accepted);

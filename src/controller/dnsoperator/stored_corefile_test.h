/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: the stored objects, and the Corefile that they make. */
#pragma once

#include <stdbool.h>

#include "api/tree.h"
#include "base/strbuf.h"
#include "controller/controller.h"

/* The objects that it is made of; each may be NULL: it is missing. */
struct dnsoperator_stored {
	json_t *dns;	      /* DNS default */
	json_t *accepted_map; /* the ConfigMap with what was accepted last */
	json_t *feature_gate; /* FeatureGate cluster */
	json_t *crd;	      /* of the kind DNS */
};

/* As dnsoperator_stored_corefile, without I/O: false when the first pass publishes no Corefile. */
bool dnsoperator_stored_render(const struct controller_machine *machine,
			       const struct dnsoperator_stored *stored, struct strbuf *out);

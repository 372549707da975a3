/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Corefile of `fairlead up` while no object `DNS default` says more. */
#pragma once

#include "base/strbuf.h"
#include "controller/controller.h"
#include "controller/dnsoperator/plan/cluster_facts.h"

/* Replaces *out by what the operator would render for an empty `DNS default`: the server has the
 * same Corefile before the first pass and after the object was deleted. Any thread. */
void dnsoperator_machine_corefile(const struct controller_machine *machine, struct strbuf *out);
/* Sets the facts that only one machine has; they point into *machine. */
void dnsoperator_set_machine(struct dnsoperator_facts *facts,
			     const struct controller_machine *machine);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OpenShift's own DNS operator, the rival. Two operators must not own one object: while it runs
 * nothing is written, not even the status. The log, an Event, /readyz and a metric say so, and how
 * to take over. */
#pragma once

#include "base/compiler.h"
#include "controller/dnsoperator/pass.h"

void dnsoperator_rival_init(struct dnsoperator_state *state);
/* For /readyz: why nothing is done. */
void dnsoperator_rival_note(void *state, struct strbuf *out);
/* 1: the rival runs, which has been reported; the next pass comes soon. */
MUST_CHECK int dnsoperator_rival_check(struct dnsoperator_pass *pass);

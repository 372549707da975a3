/* Inside of the controller: what a look found out is told in conditions, in the ClusterOperator and
 * in metrics. */
#pragma once

#include "base/compiler.h"
#include "controller/dnsoperator/look_priv.h"
#include "controller/dnsoperator/objects.h"

/* Reads what runs. Negative with c->err when nobody can tell; then no condition is touched. */
MUST_CHECK int dnsoperator_report_read(struct dnsoperator_look *pass);
/* The conditions into the status of a copy of the object; true when something changed. Brings the
 * next look forward. */
bool dnsoperator_report_set(struct dnsoperator_look *pass, json_t *copy,
			    const struct dnsoperator_observed *observed, uint64_t now_wall_ns);
/* Metrics, and the ClusterOperator on OpenShift; `dns` is NULL when there is none. */
MUST_CHECK int dnsoperator_report_publish(struct dnsoperator_look *pass, const json_t *dns);
void dnsoperator_report_done(struct dnsoperator_look *pass);

/* The conditions, if they are others than before; what is new in them is told. And all that
 * dnsoperator_report_publish() does. */
MUST_CHECK int dnsoperator_write_status(struct dnsoperator_look *pass);

/* A look while there is no DNS default. */
MUST_CHECK int dnsoperator_absent(struct dnsoperator_look *pass);

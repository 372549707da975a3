/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Publishes how DNS works: the operator's conditions, the ClusterOperator and metrics. */
#pragma once

#include "base/compiler.h"
#include "controller/dnsoperator/pass.h"
#include "controller/dnsoperator/status/dns_status.h"

/* Reads the DaemonSets and the Service of the operands. Negative with ctx->err when they could not
 * be read; no condition is changed then. */
MUST_CHECK int dnsoperator_report_read(struct dnsoperator_pass *pass);
/* Sets the operator's conditions in the status of a copy of the object; true when something
 * changed. May bring the next pass forward. */
bool dnsoperator_report_set(struct dnsoperator_pass *pass, json_t *copy,
			    const struct dnsoperator_observed *observed, uint64_t now_wall_ns);
/* Sets metrics, and the ClusterOperator on OpenShift; `dns` is NULL when the object is missing. */
MUST_CHECK int dnsoperator_report_publish(struct dnsoperator_pass *pass, const json_t *dns);
/* Frees what dnsoperator_report_read() read. */
void dnsoperator_report_done(struct dnsoperator_pass *pass);
/* The last step of a pass: writes the status and the backup of the templates. */
MUST_CHECK int dnsoperator_report(struct dnsoperator_pass *pass);

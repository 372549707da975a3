/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The zone itself and its name server, ns1.APEX.ZONE. */
#pragma once

#include "plugin/k8s_external/k8s_external_priv.h"

void k8s_external_open(struct query *q);
/* What does not fit sets TC; false then. */
bool k8s_external_add(struct query *q, enum dns_section section, const struct dns_rr *rr);
/* An empty reply with the zone's SOA record. */
enum verdict k8s_external_denial(const struct k8s_external_conf *conf, struct query *q, size_t zone,
				 uint16_t rcode);
enum verdict k8s_external_serve_apex(const struct k8s_external_conf *conf, struct query *q,
				     size_t zone);
/* Names at and below APEX.ZONE. */
enum verdict k8s_external_serve_servers(const struct k8s_external_conf *conf, struct query *q,
					size_t zone);

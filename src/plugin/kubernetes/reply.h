/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds replies: denials with the zone's SOA record, and answers that are open for records. */
#pragma once

#include "plugin/kubernetes/conf.h"

enum { KUBERNETES_SOA_MAX = 2 * (DNS_NAME_MAX + 16) + 20 };

/* Negative answers and errors with the zone's SOA record, AA set. */
enum verdict kubernetes_reply_soa(const struct kubernetes_conf *conf, struct query *q, size_t zone,
				  uint16_t rcode);
/* The SOA record itself, of the zone in the letters of the question. */
enum verdict kubernetes_answer_soa(const struct kubernetes_conf *conf, struct query *q,
				   size_t zone);
/* The data of the SOA record, for a zone spelled as in `name`; its length. */
size_t kubernetes_soa_data(const struct kubernetes_conf *conf, size_t zone, const uint8_t *name,
			   uint8_t out[KUBERNETES_SOA_MAX]);
uint32_t kubernetes_soa_ttl(const struct kubernetes_conf *conf);
/* Starts an answer that is open for records, AA set. */
void kubernetes_reply_open(struct query *q);
/* Adds a record to it; rdata is copied. What does not fit sets TC; false then. */
bool kubernetes_reply_add(const struct kubernetes_conf *conf, struct query *q,
			  enum dns_section section, const uint8_t *owner, uint16_t type,
			  const void *rdata, size_t len);

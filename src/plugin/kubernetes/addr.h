/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A and AAAA answers from a set of addresses. */
#pragma once

#include "plugin/kubernetes/conf.h"

/* Addresses of one family for an answer, each once. */
struct kubernetes_addrs {
	uint16_t type; /* A or AAAA */
	struct byteset set;
};

void kubernetes_addrs_init(struct kubernetes_addrs *addrs, struct query *q, uint16_t type);
void kubernetes_addrs_add(struct kubernetes_addrs *addrs, const struct kube_ip *ip);
/* The answer to an address question whose addresses these are; V_NEXT: there is none. */
enum verdict kubernetes_addrs_reply(const struct kubernetes_conf *conf, struct query *q,
				    const struct kubernetes_addrs *addrs);
/* Adds them to an open answer, under this owner. */
void kubernetes_addrs_append(const struct kubernetes_conf *conf, struct query *q,
			     const struct kubernetes_addrs *addrs, const uint8_t *owner);

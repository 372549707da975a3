/* SPDX-License-Identifier: GPL-3.0-or-later */
/* IPAddress objects: written for a claim, repaired, compared. No I/O. */
#pragma once

#include "api/tree.h"

#include "api/kind.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "controller/ipam/records.h"
#include "controller/ipam/state.h"

struct ipam_address_input {
	const struct api_kind *kind, *claim_kind; /* in the versions that the server has */
	const struct ipam_claim *claim;
	const json_t *pool; /* the pool's object */
	net_ip_number number;
	sa_family_t family;
	unsigned prefix;
	const json_t *nameservers; /* {search, addresses}; NULL: none */
	bool annotated;		   /* with the name servers, for where the API drops the field */
};

/* Appends the JSON of a new address, complete with owner references, finalizer and label (CT-3, PR-6,
 * PR-7), and with the annotation where it has no name servers. As text, since a tree would cost more than all else that a claim needs. */
void ipam_write_address(struct strbuf *out, const struct ipam_address_input *input);
/* The name servers as the annotation has them, without empty lists: text for the caller to free. */
char *ipam_nameservers_text(const json_t *nameservers) MUST_CHECK;

/* Adds what an address of the claim must have and lacks: owner references, finalizer, label. Its
 * spec is never touched (PR-6). True: something was added. */
bool ipam_repair_address(json_t *address, const struct api_kind *claim_kind,
			 const struct ipam_claim *claim, const json_t *pool);
/* Whether the record shows that nothing is missing: then no read is needed. */
bool ipam_address_is_complete(const struct ipam_address *address, const struct ipam_claim *claim,
			      const char *pool_uid);
/* The name servers of new addresses of the pool: its own if it lists any, else `otherwise`; NULL: none. */
const json_t *ipam_pool_nameservers(const json_t *pool, const json_t *otherwise);

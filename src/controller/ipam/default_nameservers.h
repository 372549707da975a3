/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Name servers for pools that have none of their own, from the ConfigMap fairlead-ipam; and which of
 * them guests cannot hold. */
#pragma once

#include "api/tree.h"

#include "base/compiler.h"
#include "base/strbuf.h"
#include "controller/controller.h"

struct ipam_default_nameservers {
	json_t *value;	/* {search, addresses}; NULL: none */
	char *problems; /* what is wrong with the ConfigMap; NULL: nothing */
};

/* What was read from the ConfigMap so far. */
struct ipam_default_memory;

struct ipam_default_memory *ipam_default_memory_new(void);
void ipam_default_memory_free(struct ipam_default_memory *memory);

/* The ConfigMap's key `nameservers`, YAML or JSON. If something is wrong with it, that is logged and an
 * Event for each version of the ConfigMap, and the last value without problems is returned; before
 * the first such one, the entries that can be used. Any thread. */
struct ipam_default_nameservers ipam_default_nameservers_of(const struct controller_ctx *ctx);
void ipam_default_nameservers_done(struct ipam_default_nameservers *defaults);

/* Appends what machines cut from these name servers because guests hold 3 servers, 6 domains and 256
 * characters of domains (IP-15); nothing if all of them fit. */
void ipam_list_cut_nameservers(const json_t *nameservers, struct strbuf *out);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS settings of a machine: addresses of DNS servers and search domains, in the form
 *
 *	search: ["corp.domain"]
 *	addresses: ["10.0.0.1"]
 *
 * as an IPAddress has them in spec.nameservers, the annotation below as JSON, and the ConfigMap of
 * defaults as YAML. Entries are kept in canonical form, so that equal ones compare equal: addresses as inet_ntop writes them, domains
 * in lower case and without a final dot. What is not valid is reported and left out, and never
 * reaches a guest's configuration. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "api/machine/ip.h"
#include "api/machine/problem.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/slice.h"

/* On an IPAddress whose CRD has no field spec.nameservers, or "{}" on one that was bound without name
 * servers; and on a machine for all its devices. */
#define MACHINE_NAMESERVERS_ANNOTATION "ipam.fairlead.dev/nameservers"

enum {
	MACHINE_NAMESERVERS_BYTES_MAX = 16 << 10, /* of a text */
	MACHINE_LIST_MAX = 32,			  /* entries of one list, as the CRD has it */
	MACHINE_DOMAIN_MAX = 253,
};

/* Texts in an arena, in order. */
struct machine_list {
	const char **v;
	size_t n, cap;
};

struct machine_nameservers {
	struct machine_list search, addresses;
};

/* `text` is borrowed. */
void machine_list_add(struct machine_list *list, struct arena *arena, const char *text);
bool machine_list_has(const struct machine_list *list, const char *text);
/* Appends what the list does not have yet. */
void machine_list_join(struct machine_list *list, struct arena *arena,
		       const struct machine_list *more);

/* Reads a list of addresses or of domains; `value` NULL or null is an empty one. `field` is where
 * it stands in `object`. An address where no DNS server can be (0.0.0.0, multicast) is not valid, and
 * loopback, where only the guest itself can have one, has a warning. */
void machine_read_servers(const json_t *value, const json_t *object, const char *field,
			  struct machine_problems *problems, struct machine_list *ret);
void machine_read_domains(const json_t *value, const json_t *object, const char *field,
			  struct machine_problems *problems, struct machine_list *ret);
/* Reads {search, addresses}. False: there is not one entry, so that the next source counts (an
 * empty object is what Go writes for a missing one). Entries that were refused count. */
bool machine_read_nameservers(const json_t *value, const json_t *object, const char *field,
			      struct machine_problems *problems, struct machine_nameservers *ret);
/* The same from JSON text, which also must have no other members. */
bool machine_parse_nameservers(struct slice text, const json_t *object, const char *field,
			       struct machine_problems *problems, struct machine_nameservers *ret);
/* The same from the text of the ConfigMap, which is YAML (JSON is a part of it); an empty text has no
 * entry. Annotations are JSON only: whoever may write an address must not reach a parser with
 * aliases in the controller. */
bool machine_parse_default_nameservers(struct slice text, const json_t *object, const char *field,
				       struct machine_problems *problems,
				       struct machine_nameservers *ret);

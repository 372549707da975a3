/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS names of egress rules, and the DNSName objects that carry their addresses. Pure: no I/O, any
 * thread.
 *
 * Glossary
 *   regular name   one host: "www.example.com"
 *   wildcard       "*.example.com": all hosts one label below "example.com", or at any depth where the
 *                  firewall asks for it (EGRESS_DEPTH_ANNOTATION)
 *   canonical      lower case, without final dot
 *   object name    of the DNSName: the canonical name, with "wildcard" for "*". So "*.example.com" and
 *                  the host "wildcard.example.com" share an object, and its flags say who uses it */
#pragma once

#include <stdbool.h>

#include "base/slice.h"

/* On an EgressFirewall: what its wildcards cover, "one" label (the default) or "any" depth. The
 * controller puts "any" on each DNSName that such a firewall uses. */
#define EGRESS_DEPTH_ANNOTATION "egress.fairlead.dev/wildcard-depth"
#define EGRESS_DEPTH_ANY	"any"
#define EGRESS_DEPTH_ONE	"one"

/* On one machine without a cluster: annotations of a Namespace that name whose connections its firewall judges. */
#define EGRESS_UID_ANNOTATION "egress.fairlead.dev/uid" /* a user, by name or number */
#define EGRESS_CGROUP_ANNOTATION \
	"egress.fairlead.dev/cgroup" /* a path in the hierarchy of version 2 */
#define EGRESS_NETNS_ANNOTATION "egress.fairlead.dev/netns" /* a name in /run/netns */

#define EGRESS_WILDCARD_LABEL	"wildcard"

enum { EGRESS_NAME_MAX = 253 }; /* characters, also of the object name */

struct egress_name {
	bool is_wildcard;
	char text[EGRESS_NAME_MAX + 1]; /* canonical; of a wildcard what follows "*." */
};

/* NULL, or what is wrong with the text, as a sentence to follow the field's path; *ret is then
 * undefined. */
const char *egress_name_parse(struct slice text, struct egress_name *ret);
/* The same for a host that a client asked for, which may have underscores and is no wildcard. */
const char *egress_name_parse_host(struct slice text, struct egress_name *ret);
/* The name of the DNSName object, which is a valid name for an object. `text` is that of a struct
 * egress_name. */
void egress_name_object(const char *text, bool is_wildcard, char out[EGRESS_NAME_MAX + 1]);

/* What a node's address sets call the name of a rule, the same for servers and agents: its digest is the
 * name id. Wildcards of different depth are different names. */
enum { EGRESS_SET_TEXT_MAX = EGRESS_NAME_MAX + 4 };
void egress_name_set_text(const char *text, bool is_wildcard, bool any_depth,
			  char out[EGRESS_SET_TEXT_MAX]);

/* The part of an object name that follows "wildcard."; NULL: it cannot stand for a wildcard. */
const char *egress_name_below_wildcard(const char *object);
/* Does "*.PARENT" cover the host? Both canonical. */
bool egress_name_is_covered(const char *host, const char *parent, bool any_depth);

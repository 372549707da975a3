/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the node's nftables table should be, as data: made from the firewalls of this node's pods, brought
 * into the kernel by apply.h. Pure: no I/O, equal input gives an equal plan, any thread.
 *
 * Glossary
 *   namespace   one that has a firewall; it has a chain of its own
 *   step        one condition or action of a rule of the table
 *   rule id     digest of namespace and rule: names the rule's counter, and is put on each connection
 *               that the rule allowed. A connection goes on while the id is among those in force */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addrset/addrset.h"
#include "base/arena.h"
#include "base/vec.h"
#include "net/addr.h"

/* ---- what it is made from ---- */

struct nftables_target {
	bool is_name;
	bool is_wildcard;	/* is_name: of many hosts */
	struct addrset_id name; /* is_name */
	struct net_cidr range;	/* otherwise */
};

struct nftables_port {
	uint8_t protocol; /* IPPROTO_* */
	uint16_t number;
};

struct nftables_rule {
	bool allows;
	const char *text;		       /* the rule in words, which tells it from others */
	const struct nftables_target *targets; /* any of them; none: the rule matches nothing */
	size_t n_targets;
	const struct nftables_port *ports; /* any of them; none: all connections */
	size_t n_ports;
};

struct nftables_namespace {
	const char *name;
	const struct nftables_rule *rules; /* the first that matches decides; none: allowed */
	size_t n_rules;
};

struct nftables_pod {
	struct addrset_address address;
	const char *namespace_name; /* one without firewall: everything passes */
};

/* Processes of this machine: a user's, or those of a cgroup and below it. */
struct nftables_owner {
	bool is_cgroup;
	uint32_t level; /* of the cgroup below the root */
	uint64_t id;	/* of the user or of the cgroup */
	const char *namespace_name;
};

struct nftables_policy {
	const struct nftables_namespace *namespaces; /* of different names */
	size_t n_namespaces;
	const struct nftables_pod *pods; /* all of this node, of different addresses */
	size_t n_pods;
	const struct nftables_owner
		*owners; /* in namespaces with a firewall; the first that fits counts */
	size_t n_owners;
	/* Sockets of this user with this mark are never judged, whoever the user is: the DNS server asks by them. 0: none are. */
	uint32_t own_mark;
	uint64_t own_user;
	const struct net_cidr
		*pod_ranges; /* of this node: other addresses in them are no known pod */
	size_t n_pod_ranges;
	const struct net_cidr
		*always_open; /* reachable whatever the rules: the cluster, its DNS and API */
	size_t n_always_open;
	/* Reachable whatever the rules, only at the ports of DNS: UDP and TCP, 53 and 853. */
	const struct net_cidr *name_servers;
	size_t n_name_servers;
	bool spares_own_addresses; /* connections to addresses of this machine itself are never judged */
	uint16_t log_group;	   /* NFLOG group that gets samples of denied packets; 0: none */
};

/* ---- the plan ---- */

enum nftables_step_kind {
	NFTABLES_IS_ADMITTED, /* the connection's rule id is in force */
	NFTABLES_IS_OLDER, /* the connection is older than the rules: established, and no rule admitted it */
	NFTABLES_IS_MID_STREAM, /* the same of TCP, where the kernel sees the connection for the first time */
	NFTABLES_IS_LOOPBACK,  /* goes out by lo */
	NFTABLES_BY_USER,      /* owner */
	NFTABLES_BY_CGROUP,    /* owner */
	NFTABLES_IS_MARKED,    /* owner: the mark */
	NFTABLES_IS_REPLY,     /* of a connection that the other side began */
	NFTABLES_IS_NEIGHBOUR, /* IPv6 neighbour discovery */
	NFTABLES_IS_FAMILY,    /* family */
	NFTABLES_IS_TCP,
	NFTABLES_FROM_RANGE, /* range */
	NFTABLES_TO_RANGE,   /* range */
	NFTABLES_TO_NAME,    /* id, family */
	NFTABLES_TO_PORTS,   /* id of a list of ports */
	NFTABLES_BY_POD,     /* family: goes where the map of pods says */
	NFTABLES_COUNT,	     /* word: a counter */
	NFTABLES_ADMIT,	     /* id: puts it on the connection */
	NFTABLES_LOG_SAMPLE, /* number: NFLOG group; at a limited rate, else the rule ends here */
	NFTABLES_ACCEPT,
	NFTABLES_JUMP,	      /* word: a chain */
	NFTABLES_GOTO,	      /* word: a chain */
	NFTABLES_RESET,	      /* answers with a TCP reset */
	NFTABLES_UNREACHABLE, /* answers with an ICMP error */
};

struct nftables_step {
	enum nftables_step_kind kind;
	union {
		sa_family_t family;
		struct net_cidr range;
		struct {
			struct addrset_id id;
			sa_family_t id_family;
		};
		struct {
			uint64_t owner;
			uint32_t level;
		};
		const char *word;
		uint16_t number;
	};
};

enum { NFTABLES_STEPS_MAX = 8 }; /* of one rule */

struct nftables_plan_rule {
	const struct nftables_step *steps;
	size_t n_steps;
	struct addrset_id digest; /* of the steps */
};

enum nftables_hook {
	NFTABLES_NO_HOOK,
	NFTABLES_HOOK_INPUT,
	NFTABLES_HOOK_FORWARD,
	NFTABLES_HOOK_OUTPUT
};

struct nftables_plan_chain {
	const char *name;
	enum nftables_hook hook;
	VEC(struct nftables_plan_rule) rules;
};

struct nftables_plan_port {
	struct addrset_id list;
	struct nftables_port port;
};

struct nftables_plan_pod {
	struct addrset_address address;
	const char *chain; /* NULL: everything passes */
};

struct nftables_plan {
	struct arena arena; /* what the members point at */
	VEC(struct nftables_plan_chain) chains;
	VEC(const char *) counters;	      /* sorted, each once */
	VEC(struct addrset_id) admitted;      /* rule ids in force; sorted, each once */
	VEC(struct nftables_plan_port) ports; /* sorted, each once */
	VEC(struct nftables_plan_pod) pods;   /* sorted */
};

/* The policy's memory may go afterwards. */
void nftables_plan_init(struct nftables_plan *plan, const struct nftables_policy *policy);
void nftables_plan_done(struct nftables_plan *plan);
/* Equal for plans that make equal tables, in this process; the order of namespaces makes no difference. */
uint64_t nftables_plan_hash(const struct nftables_plan *plan);

enum { NFTABLES_COUNTER_BYTES = 2 * ADDRSET_ID_BYTES + 1 };

/* `rule_text` NULL: of what no rule matches. */
struct addrset_id nftables_rule_id(const char *namespace_name, const char *rule_text);

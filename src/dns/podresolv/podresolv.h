/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The resolv.conf of a pod: which name servers, search domains and options its policy and its
 * dnsConfig give it on a node. Pure functions of their arguments: no I/O, no clock, equal input
 * gives equal bytes. `fairlead resolvconf`, the admission hooks, the embedded API and the OCI hook
 * all call these.
 *
 *	parse the host's file -> base of the policy -> merge dnsConfig -> limits of the profile
 *	-> lints -> render
 *
 * Glossary
 *   host file   the node's resolver file, as kubelet's --resolv-conf names it
 *   base        what the policy alone gives a pod
 *   dnsConfig   the pod's own additions (spec.dnsConfig)
 *   profile     whose limits hold: Kubernetes' (kubelet), the older ones of three servers, six
 *               domains and 256 characters (seed), or what every libc reads (libc-safe)
 *   lint        something that is valid and will not work as expected */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum podresolv_policy {
	PODRESOLV_CLUSTER_FIRST,
	PODRESOLV_CLUSTER_FIRST_WITH_HOST_NET,
	PODRESOLV_DEFAULT, /* the host's settings */
	PODRESOLV_NONE,	   /* nothing; "Custom" is another word for it */
};

enum podresolv_profile { PODRESOLV_KUBELET, PODRESOLV_SEED, PODRESOLV_LIBC_SAFE };
enum podresolv_libc { PODRESOLV_ANY_LIBC, PODRESOLV_GLIBC, PODRESOLV_MUSL };

struct podresolv_option {
	struct slice name, value; /* value empty: the bare name */
};

/* A dnsConfig, or what a host file says. Borrowed texts, in the order in which they were written. */
struct podresolv_config {
	struct slice *nameservers, *searches;
	struct podresolv_option *options;
	size_t n_nameservers, n_searches, n_options;
	struct slice unused_domain; /* of a host file: its `domain` line, which libc would use */
};

struct podresolv_input {
	/* The pod. Name and uid are for Events only and may be empty. */
	struct slice ns, name, uid;
	enum podresolv_policy policy;
	bool host_network;
	const struct podresolv_config *config; /* NULL: it has no dnsConfig */
	/* Its node. `host` is NULL when the file could not be read or parsed: an error for every
	 * policy that needs it, with `host_error` as the reason. */
	const struct podresolv_config *host;
	const char *host_error;
	bool no_host_file; /* the node is configured to have none: loopback servers stand in */
	const struct slice *node_ips; /* of which families loopback servers are */
	size_t n_node_ips;
	/* Its cluster. */
	const struct slice *cluster_dns;
	size_t n_cluster_dns;
	struct slice cluster_domain; /* no final dot; empty: no cluster suffixes */
	/* What is checked. */
	enum podresolv_profile profile;
	enum podresolv_libc libc;
};

enum podresolv_source {
	PODRESOLV_FROM_HOST,
	PODRESOLV_FROM_CLUSTER, /* cluster DNS addresses, cluster suffixes, ndots:5 */
	PODRESOLV_FROM_NODE,	/* loopback servers in place of a host file */
	PODRESOLV_FROM_POD,	/* dnsConfig */
};

/* Why an entry is not in the file. */
enum podresolv_dropped {
	PODRESOLV_KEPT,
	PODRESOLV_DUPLICATE,	  /* an earlier entry says the same */
	PODRESOLV_OVERRIDDEN,	  /* a later option of the same name */
	PODRESOLV_TOO_MANY,	  /* past the profile's number of entries */
	PODRESOLV_ENTRY_TOO_LONG, /* a search domain of more than 253 characters */
	PODRESOLV_LIST_TOO_LONG,  /* the search line would have too many characters */
	PODRESOLV_UNSAFE,	  /* its characters would make another entry or line of it */
	PODRESOLV_NO_ADDRESS,	  /* a cluster DNS address that is none */
};

struct podresolv_entry {
	/* As it is written into the file: an address in canonical form, a domain without a final
	 * dot, an option's name. As it was given if it is dropped for its characters. */
	struct slice text;
	struct slice value; /* of an option; empty: none */
	enum podresolv_source source;
	size_t index; /* in its source's list */
	enum podresolv_dropped dropped;
};

/* In the file's order; dropped entries stand where they would have been. */
struct podresolv_list {
	struct podresolv_entry *v;
	size_t n;
};

enum podresolv_severity {
	PODRESOLV_EVENT,   /* what kubelet reports as an Event; `reason` is the Event's */
	PODRESOLV_REFUSAL, /* the same where the profile refuses the pod for it (seed) */
	PODRESOLV_LINT,	   /* `reason` names the lint: "musl-search-length" */
};

struct podresolv_finding {
	enum podresolv_severity severity;
	bool on_node; /* an Event of the node, not of the pod */
	const char *reason;
	const char *field; /* "spec.dnsConfig.searches"; "" if none is to blame */
	const char *message;
};

struct podresolv_result {
	enum podresolv_policy policy; /* the one that was applied (PD-5, PD-8) */
	struct podresolv_list nameservers, searches, options;
	struct podresolv_finding *findings;
	size_t n_findings;
};

enum {
	PODRESOLV_HOST_BYTES_MAX = (10 << 20) - 1, /* PD-34: 10 MiB is an error */
	PODRESOLV_NAMESERVERS_MAX = 3,
	PODRESOLV_SEARCHES_MAX = 32,
	PODRESOLV_SEARCH_CHARACTERS_MAX = 2048,
	PODRESOLV_DOMAIN_MAX = 253,
	PODRESOLV_SEED_SEARCHES_MAX = 6,
	PODRESOLV_SEED_CHARACTERS_MAX = 256,
	PODRESOLV_MUSL_CHARACTERS_MAX = 247,
};

/* The words of policies, profiles and C libraries; false for any other word. An empty policy is
 * ClusterFirst, and "Custom" None. */
bool podresolv_policy_from(struct slice word, enum podresolv_policy *ret);
const char *podresolv_policy_name(enum podresolv_policy policy);
bool podresolv_profile_from(struct slice word, enum podresolv_profile *ret);
bool podresolv_libc_from(struct slice word, enum podresolv_libc *ret);

/* Reads a host file as kubelet does (host_file.c). With `use_domain` a `domain` line counts as a
 * search list where there is no `search` line, as it does for libc (PD-39). Texts are copies in
 * the growing arena. ERR_LIMIT, ERR_PARSE with a reason that has the line's number. */
MUST_CHECK int podresolv_parse_host(struct slice text, bool use_domain, struct arena *arena,
				    struct podresolv_config *ret, struct err_text err);

/* Checks a node's host file against the limits of search lists, as kubelet does when it starts:
 * true, and the node's Event `CheckLimitsForResolvConf`, if it is past one (PD-26). */
bool podresolv_check_host(const struct podresolv_config *host, struct slice cluster_domain,
			  const char *path, struct arena *arena, struct podresolv_finding *ret);

/* Computes the pod's settings; texts lie in the growing arena or in the input. Fails only if the
 * host file is needed and missing (ERR_NOTFOUND, with the reason): what is wrong with dnsConfig is
 * podresolv_validate's to report. Texts that would break out of their line are dropped, so that
 * the file is safe to write even if nobody validated. Profile `seed` cuts as the others do, and
 * adds a finding of severity PODRESOLV_REFUSAL; whoever can refuse the pod should. */
MUST_CHECK int podresolv_compute(const struct podresolv_input *input, struct arena *arena,
				 struct podresolv_result *ret, struct err_text err);

/* Whether two entries of a pod's lists say the same, so that the later one is dropped: addresses however
 * they are spelt (PD-14), domains with or without a final dot (PD-15). */
bool podresolv_is_same_server(struct slice left, struct slice right);
bool podresolv_is_same_search(struct slice left, struct slice right);

/* What an API server says to the pod's own lists, and more where a profile is stricter. */
enum podresolv_error_type {
	PODRESOLV_REQUIRED,
	PODRESOLV_INVALID,
	PODRESOLV_UNSUPPORTED,
};

struct podresolv_error {
	enum podresolv_error_type type;
	const char *field;  /* below the pod's spec: "dnsConfig.options[1].name" */
	const char *value;  /* as messages show it: a text in quotes, a list as JSON; NULL: none */
	const char *detail; /* kube-apiserver's words where it has the rule */
};

struct podresolv_errors {
	struct podresolv_error *v;
	size_t n;
};

/* Checks dnsPolicy as it is written and dnsConfig (NULL: none), PD-19, PD-22, PD-23, PD-28 to
 * PD-33. Profile kubelet is kube-apiserver's own rules and the refusal of option injection (PD-29);
 * seed has its smaller limits, refuses unknown options and knows the policy "Custom"; libc-safe
 * refuses a search list that musl does not read. The array lies in the growing arena. */
void podresolv_validate(struct slice policy, const struct podresolv_config *config,
			enum podresolv_profile profile, struct arena *arena,
			struct podresolv_errors *ret);

/* Adds the lints of the finished lists to the result: what the given C library, or any of them,
 * will not handle as written (AMP-9). podresolv_compute calls it. */
void podresolv_lint(const struct podresolv_input *input, struct arena *arena,
		    struct podresolv_result *result);

/* Appends the file: nameserver lines, search, options. */
void podresolv_render(const struct podresolv_result *result, struct strbuf *out);
/* Appends the same lines with the source of each entry, and the dropped entries with the rule that
 * dropped them. */
void podresolv_explain(const struct podresolv_result *result, struct strbuf *out);

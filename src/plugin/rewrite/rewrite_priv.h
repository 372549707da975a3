/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The types of rewrite: rules as read from the Corefile, and the state of a query.
 *
 * Glossary
 *   rule      one `rewrite` stanza: something to look for in a request and to change there
 *   matcher   how a rule matches a name
 *   pattern   a regular expression of the Corefile; compiled from prepare to teardown
 *   action    one thing to do to the records of the reply
 *   step      an action that one query has collected; steps run newest first
 *   field     a name of a record (its owner, or the one in its data) while actions work on it
 *
 * Names are matched and put together as text, in CoreDNS's escaping, as rules are written against
 * text: `prefix foo` means "foo." at the front. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/regex/regex.h"
#include "base/slice.h"
#include "base/srcpos.h"
#include "server/query.h"
#include "server/setup.h"

struct rewrite_action;
struct rewrite_reply;
struct rewrite_rule;
struct rewrite_run;

/* Text of a name being made. What is longer is no name in any case. */
enum { REWRITE_TEXT_MAX = 2048 };

struct rewrite_text {
	size_t n;
	bool too_long;
	char s[REWRITE_TEXT_MAX];
};

static inline struct slice rewrite_text_slice(const struct rewrite_text *text)
{
	return (struct slice){ text->s, text->n };
}

struct rewrite_pattern {
	struct rewrite_pattern *next;
	struct srcpos pos;
	const char *text;
	const char *to;	  /* its {N} are counted against the groups; NULL: has none */
	bool check_only;  /* only has to be a pattern */
	struct regex *re; /* from prepare to teardown */
	const struct rewrite_rule *parts_of; /* whose {N} may name no group beyond the pattern's */
};

enum rewrite_how {
	REWRITE_EXACT,
	REWRITE_PREFIX,
	REWRITE_SUFFIX,
	REWRITE_SUBSTRING,
	REWRITE_REGEX,
};

struct rewrite_matcher {
	enum rewrite_how how;
	struct slice from;
	const struct rewrite_pattern *pattern; /* REWRITE_REGEX */
	const uint8_t *wire; /* REWRITE_EXACT: `from`; NULL: no name is written like this */
	size_t wire_len;
	uint32_t hash;
	struct slice probe; /* text up to the end of a label that a name must have (PREFIX: its
			       first label); may be empty */
	size_t probe_first; /* length of its first label */
	bool whole_label;   /* REWRITE_PREFIX: `probe` is all of the first label */
};

/* A piece of TO with `metadata`. */
struct rewrite_part {
	struct slice literal;
	struct slice label; /* p NULL: none */
	int group;	    /* -1: none */
};

enum rewrite_edns_action { EDNS_SET, EDNS_APPEND, EDNS_REPLACE, EDNS_UNSET };

struct rewrite_edns {
	enum rewrite_edns_action action;
	uint16_t code;
	bool revert;
	bool only_local; /* options that miekg/dns knows by type are passed over */
	bool keep_other; /* `append` leaves a request alone that has the option */
	uint8_t v4_bits, v6_bits;
	struct slice data;
	struct slice label; /* of metadata */
	/* What goes into the option; false: the rule does not apply. */
	bool (*value)(const struct rewrite_rule *rule, struct rewrite_run *run, struct slice *ret);
};

enum rewrite_result {
	REWRITE_IGNORED,
	REWRITE_DONE,
	REWRITE_FAILED /* run->failed is the verdict */
};

struct rewrite_rule {
	enum rewrite_result (*apply)(const struct rewrite_rule *rule, struct rewrite_run *run);
	struct rewrite_matcher match;
	struct slice to;
	const uint8_t *to_wire; /* REWRITE_EXACT: `to`; NULL: no name */
	bool go_on;		/* continue */
	bool automatic;		/* answer auto, where the names to put back depend on the query */
	const struct rewrite_part *part;
	size_t n_parts;
	uint16_t code_from, code_to; /* type and class */
	const struct rewrite_action *action;
	size_t n_actions;
	struct rewrite_edns edns;
};

struct rewrite_conf {
	struct rewrite_rule *rule;
	uint32_t n_rules;
	/* Lists of rules in their order, ended by n_rules: by the hash of an exact name, and the
	 * others. */
	uint32_t *slot, n_slots; /* a power of two */
	uint32_t *next;
	uint32_t first_other;
	struct rewrite_pattern *patterns;
	size_t n_edns; /* rules that may add an option */
};

/* ---- request ---- */

struct rewrite_step {
	struct rewrite_step *next;
	const struct rewrite_action *act;
};

struct rewrite_option {
	uint16_t code;
	bool local; /* has no type of its own in miekg/dns, or was put there by a rule */
	struct slice data;
};

struct rewrite_options {
	struct rewrite_option *v;
	size_t n;
};

/* A request on its way through the rules. */
struct rewrite_run {
	struct query *q;
	const struct rewrite_conf *conf;
	struct rewrite_step *steps;
	struct rewrite_options *options; /* NULL: as they came */
	enum verdict failed;
	uint32_t exact, other,
		rule;  /* where the lists are, and the rule after the last one tried */
	bool has_text; /* of the name as it is now */
	size_t text_n;
	char text[DNS_NAME_TEXT_MAX];
};

/* A stanza being read. */
struct rewrite_words {
	struct setup *s;
	struct rewrite_conf *conf;
	struct rewrite_rule *rule;
	const struct word *v;
	size_t n;
	struct srcpos pos;
};

enum rewrite_act_kind {
	REWRITE_ACT_REGEX,
	REWRITE_ACT_SUFFIX,
	REWRITE_ACT_REMAP,
	REWRITE_ACT_TTL,
	REWRITE_ACT_RCODE,
	REWRITE_ACT_CNAME,
	REWRITE_ACT_DROP_OPTION,
	REWRITE_ACT_PUT_OPTION,
};

struct rewrite_action {
	enum rewrite_act_kind kind;
	bool value; /* the name in the data, not the owner */
	struct slice from, to;
	const struct rewrite_pattern *pattern;
	const uint8_t *from_wire, *to_wire;  /* REMAP: the same names; NULL: not names */
	const struct rewrite_matcher *match; /* CNAME */
	uint32_t min, max;		     /* TTL; RCODE: from, to */
	uint16_t code;			     /* options */
};

/* What is kept of a query whose reply is to be changed. */
struct rewrite_state {
	const struct rewrite_step *steps;
	bool active;
	/* The walk over the records, which CNAME look-ups interrupt. */
	struct dns_rr **rr;
	size_t n_rr, at;
	const struct rewrite_step *step; /* that waits */
	struct slice cname_from;	 /* the old target, and the one that replaces it */
	const uint8_t *cname_to;
};

/* Inside of rewrite: what a Corefile's stanzas become, and what is kept of a query.
 *
 * Glossary
 *   rule      one `rewrite` stanza: something to look for in a request and to change there
 *   matcher   how a rule looks at a name
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
#include "base/regex.h"
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
	bool (*value)(const struct rewrite_rule *r, struct rewrite_run *run, struct slice *ret);
};

enum rewrite_result { REWRITE_IGNORED, REWRITE_DONE, REWRITE_FAILED /* run->failed says how */ };

struct rewrite_rule {
	enum rewrite_result (*apply)(const struct rewrite_rule *r, struct rewrite_run *run);
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

enum verdict rewrite_out_of_memory(struct query *q);
enum rewrite_result rewrite_failed(struct rewrite_run *run, enum verdict verdict);
struct slice rewrite_run_name(struct rewrite_run *run);
/* Collects an action; REWRITE_DONE or, without memory, REWRITE_FAILED. */
enum rewrite_result rewrite_push(struct rewrite_run *run, const struct rewrite_action *act);
enum rewrite_result rewrite_push_all(struct rewrite_run *run, const struct rewrite_rule *rule);

/* ---- literal.c ---- */

/* A text up to the end of a label, dot included, that every name matching the pattern has; may be
 * empty. */
struct slice rewrite_literal(const char *pattern, struct arena *arena);

/* ---- index.c ---- */

/* After all rules are there. */
void rewrite_index_init(struct rewrite_conf *conf, struct arena *arena);
void rewrite_index_start(struct rewrite_run *run);
/* The question has another name now. */
void rewrite_index_renamed(struct rewrite_run *run);
/* The next rule that may be about the name; NULL: none. */
const struct rewrite_rule *rewrite_index_next(struct rewrite_run *run);

/* ---- match.c ---- */

/* Completes a matcher whose `how` and `from` are set. */
void rewrite_matcher_init(struct rewrite_matcher *matcher, struct arena *arena);
/* Could a name match? Costs a few compares; never false for one that does. */
bool rewrite_matcher_may(const struct rewrite_matcher *matcher, const struct dns_qname *name);
MUST_CHECK bool rewrite_matcher_hits(const struct rewrite_matcher *matcher, struct query *q,
				     struct slice name);
/* The same, and what becomes of the name. */
MUST_CHECK bool rewrite_replace(const struct rewrite_matcher *matcher, struct slice to,
				struct query *q, struct slice name, struct rewrite_text *out);
/* TO with the groups of the last match for {0}, {1}, ... */
void rewrite_groups(struct slice to, const struct regex_scratch *scratch, unsigned groups,
		    struct rewrite_text *out);
void rewrite_text_set(struct rewrite_text *text, struct slice word);
void rewrite_text_add(struct rewrite_text *text, struct slice word);
void rewrite_text_wire(struct rewrite_text *text, const uint8_t *name);

/* ---- parse.c, compile.c ---- */

/* Reads all stanzas, in order. */
MUST_CHECK int rewrite_parse_stanzas(struct setup *setup, struct rewrite_conf *conf);
MUST_CHECK int rewrite_compile(struct rewrite_conf *conf, struct srcerr *err);
void rewrite_release(struct rewrite_conf *conf);

/* A stanza being read. */
struct rewrite_words {
	struct setup *s;
	struct rewrite_conf *conf;
	struct rewrite_rule *rule;
	const struct word *v;
	size_t n;
	struct srcpos pos;
};
struct rewrite_pattern *rewrite_add_pattern(struct rewrite_words *words, const struct word *at,
					    const char *text, const char *to);
/* With a final dot; in lower case; both. */
const char *rewrite_absolute(struct setup *setup, const char *text);
const char *rewrite_lower(struct setup *setup, const char *text);
const char *rewrite_normal(struct setup *setup, const char *text);
struct rewrite_action *rewrite_add_actions(struct rewrite_words *words, size_t count);
MUST_CHECK int rewrite_parse_name(struct rewrite_words *words);
MUST_CHECK int rewrite_parse_ttl(struct rewrite_words *words);
MUST_CHECK int rewrite_parse_rcode(struct rewrite_words *words);
MUST_CHECK int rewrite_parse_cname(struct rewrite_words *words);
MUST_CHECK int rewrite_parse_edns(struct rewrite_words *words);
/* Name matching words, in order of enum rewrite_how; -1 when it is none. */
int rewrite_how_parse(const char *word);
/* Fills in the matcher of a rule of the form [HOW] NAME. */
MUST_CHECK int rewrite_parse_matcher(struct rewrite_words *words, const struct word *how,
				     const struct word *name);

/* ---- name.c ---- */

enum rewrite_result rewrite_apply_name(const struct rewrite_rule *rule, struct rewrite_run *run);
enum rewrite_result rewrite_apply_metadata(const struct rewrite_rule *rule,
					   struct rewrite_run *run);
/* A rule that only has actions: for names that match (ttl, rcode), or for all (cname). */
enum rewrite_result rewrite_apply_match(const struct rewrite_rule *rule, struct rewrite_run *run);
enum rewrite_result rewrite_apply_always(const struct rewrite_rule *rule, struct rewrite_run *run);
enum rewrite_result rewrite_apply_never(const struct rewrite_rule *rule, struct rewrite_run *run);
enum rewrite_result rewrite_apply_type(const struct rewrite_rule *rule, struct rewrite_run *run);
enum rewrite_result rewrite_apply_class(const struct rewrite_rule *rule, struct rewrite_run *run);

/* ---- edns.c ---- */

enum rewrite_result rewrite_apply_edns(const struct rewrite_rule *rule, struct rewrite_run *run);
/* Writes the options back into the request. */
MUST_CHECK int rewrite_edns_commit(struct rewrite_run *run);
/* What `revert` does to the OPT of a reply, and to what is echoed of the request. */
MUST_CHECK int rewrite_edns_undo(const struct rewrite_action *act, struct arena *arena,
				 const uint8_t **options, uint16_t *options_len);

/* ---- reply.c ---- */

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
	struct slice cname_from; /* the target looked for and the one that takes its place */
	const uint8_t *cname_to;
};

/* Runs the steps over a reply; V_WAIT when a look-up is under way. */
enum verdict rewrite_reply(struct plugin_inst *self, struct query *q, struct rewrite_state *st);
enum verdict rewrite_reply_resume(struct plugin_inst *self, struct query *q,
				  struct rewrite_state *st);

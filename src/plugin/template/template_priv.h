/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The types of template: rules as compiled from the Corefile, and the state of a query.
 *
 * Glossary
 *   rule      one `template` stanza; the rules of a block are tried in file order
 *   matcher   one pattern of a rule's `match` lines
 *   record    one record template of answer, additional or authority
 *   op        a piece of a simple record template: text, or a field that is a text
 *   cond      one `var` or `expr` line
 *   run       one query being answered by one rule */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/regex/regex.h"
#include "dns/zone/zoneset.h"
#include "expr/expr.h"
#include "server/query.h"
#include "server/setup.h"
#include "tmpl/tmpl.h"

struct template_count;
struct template_rule;

struct template_key { /* of .Group */
	struct slice name;
	uint16_t group;
};

struct template_matcher {
	struct word word;
	struct regex *re; /* NULL: any name, group 0 is all of it */
	struct template_key *key;
	uint16_t n_keys;
	uint16_t n_groups; /* group 0 included */
};

enum template_op_kind {
	OP_TEXT,
	OP_NAME,
	OP_ZONE,
	OP_CLASS,
	OP_TYPE,
	OP_REMOTE,
	OP_REGEX,
	OP_GROUP,
};

struct template_op {
	enum template_op_kind kind;
	struct slice text; /* OP_TEXT */
	int16_t *group;	   /* OP_GROUP: by matcher, -1 where there is none of that name */
};

enum template_form {
	FORM_WIRE,    /* all but the owner is known at load */
	FORM_ADDRESS, /* an A or AAAA record whose address is made of ops */
	FORM_TEXT,    /* ops make a record's text */
	FORM_PROGRAM, /* the template language makes a record's text */
};

struct template_record {
	struct word word;
	enum dns_section section;
	enum template_form form;
	bool own_name; /* the owner is the name asked; ops start behind it */
	struct tmpl *tmpl;
	const char *text; /* re-printed, for metrics */
	struct template_op *op;
	size_t n_op;
	size_t head_n;	  /* FORM_ADDRESS: bytes of op 1 before the address */
	struct dns_rr rr; /* FORM_WIRE; FORM_ADDRESS: with another address */
};

struct template_cond {
	struct word line;	 /* `var` or `expr` */
	const struct word *name; /* var; NULL: expr */
	const struct word *word;
	size_t n_word;
	struct expr *expr;
};

/* A zone of a rule, with the counters that are labelled by it. */
struct template_zone {
	const struct template_rule *rule;
	const char *text;
	_Atomic(struct template_count *) matches;
	_Atomic(struct template_count *) failures;
};

struct template_rule {
	uint16_t cls, type;
	uint16_t rcode;
	bool has_ede;
	uint16_t ede;
	struct slice ede_text;
	struct zone_list zones;
	struct fallthrough fall;
	struct zone_list except;
	struct template_zone *zone; /* one per zone of zones */
	struct template_matcher *matcher;
	size_t n_matcher;
	struct template_record *record; /* answers, then additional, then authority */
	size_t n_record;
	struct template_cond *cond; /* as written */
	size_t n_cond, n_var;
	/* Zones of fall and except, for finding; NULL: none. */
	struct dns_zoneset *fall_set, *except_set;
};

enum { TEMPLATE_LOW_TYPES = 256 };

struct template_conf {
	struct template_rule *rule;
	size_t n_rule;
	struct dns_zoneset *zones; /* → struct template_zone, seq is the rule's number */
	/* Types that rules are for: most queries are of another one, and are let go at once. */
	uint64_t types[TEMPLATE_LOW_TYPES / 64];
	bool any_type; /* of some rule, or one that is not low */
};

struct template_run {
	struct plugin_inst *self;
	struct query *q;
	const struct template_rule *rule;
	struct template_zone *zone;
	const struct template_count *count; /* of this match */
	size_t matcher;
	struct slice name; /* {NULL, 0} until template_need_name */
	const struct slice *group;
	const struct expr_value *var;
	size_t at; /* record to be made next */
};

/* Room for the text of one record: a worker's, made when first needed. */
enum { TEMPLATE_TEXT_MAX = 65536 };

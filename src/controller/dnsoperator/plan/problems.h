/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Problems of a DNS object, each with template, field, value, reason and what to do. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

/* Reasons of TemplateConfigurationValid=False (OP-33), and one for the servers (OP-D5). */
#define DNSOPERATOR_REASONS(X)                     \
	X(INVALID_NAME, "InvalidName")             \
	X(INVALID_ZONE, "InvalidZone")             \
	X(RESERVED_ZONE, "ReservedZone")           \
	X(DUPLICATE_NAME, "DuplicateName")         \
	X(DUPLICATE_ZONE, "DuplicateZone")         \
	X(INVALID_ANSWER, "InvalidAnswerTemplate") \
	X(UNSUPPORTED_VALUE, "UnsupportedValue")   \
	X(TOO_MANY_TEMPLATES, "TooManyTemplates")  \
	X(TOO_LARGE, "ConfigurationTooLarge")      \
	X(INVALID_SERVERS, "InvalidServers")

enum dnsoperator_reason {
#define X(name, text) DNSOPERATOR_##name,
	DNSOPERATOR_REASONS(X)
#undef X
};

enum {
	DNSOPERATOR_PROBLEMS_MAX = 200, /* kept; the others are counted */
	DNSOPERATOR_PROBLEMS_SHOWN = 20,
	DNSOPERATOR_VALUE_MAX = 80, /* bytes of a value that are shown */
};

struct dnsoperator_problem {
	enum dnsoperator_reason reason;
	char *template_name; /* "": it has none, or it is not about a template */
	char *field;	     /* "spec.templates[0].zones[1]" */
	char *value;	     /* as it is printed: quoted, cut; "": none */
	char *why;	     /* "is not a DNS name" */
	char *fix;	     /* "use letters, digits and inner hyphens" */
};

struct dnsoperator_problems {
	struct dnsoperator_problem *v;
	size_t n, cap;
	size_t n_more; /* what was not kept */
};

/* Where a problem is; `tmpl` and `value` may be NULL. */
struct dnsoperator_problem_at {
	const char *tmpl;
	const char *field;
	const struct slice *value;
};

void dnsoperator_problem_add(struct dnsoperator_problems *problems, enum dnsoperator_reason reason,
			     const struct dnsoperator_problem_at *at, const char *why,
			     const char *fix);
void dnsoperator_problems_done(struct dnsoperator_problems *problems);

/* The reason of all of them, or MultipleErrors; "" when there are none. */
const char *dnsoperator_problems_reason(const struct dnsoperator_problems *problems);
/* A line for each, up to DNSOPERATOR_PROBLEMS_SHOWN. */
void dnsoperator_problems_text(const struct dnsoperator_problems *problems, struct strbuf *out);

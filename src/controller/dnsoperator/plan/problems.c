/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists problems, and prints them for a condition. */
#include "controller/dnsoperator/plan/problems.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

static const char *const reasons[] = {
#define X(name, text) [DNSOPERATOR_##name] = (text),
	DNSOPERATOR_REASONS(X)
#undef X
};

/* Quoted, so that nothing in it looks like our words; cut to fit a line. */
static char *shown_value(const struct slice *value)
{
	struct strbuf b = STRBUF_INIT;
	if (value == NULL)
		return xstrdup("");
	struct slice s = *value;
	if (s.n > DNSOPERATOR_VALUE_MAX) {
		s.n = DNSOPERATOR_VALUE_MAX;
		/* not in the middle of a character */
		while (s.n > 0 && ((unsigned char)s.p[s.n] & 0xc0) == 0x80)
			s.n--;
	}
	strbuf_add_quoted(&b, s);
	if (s.n < value->n)
		strbuf_adds(&b, "...");
	return strbuf_take(&b);
}

void dnsoperator_problem_add(struct dnsoperator_problems *problems, enum dnsoperator_reason reason,
			     const struct dnsoperator_problem_at *at, const char *why,
			     const char *fix)
{
	if (problems->n == DNSOPERATOR_PROBLEMS_MAX) {
		problems->n_more++;
		return;
	}
	vec_push(problems, (struct dnsoperator_problem){
				   .reason = reason,
				   .template_name = xstrdup(at->tmpl != NULL ? at->tmpl : ""),
				   .field = xstrdup(at->field),
				   .value = shown_value(at->value),
				   .why = xstrdup(why),
				   .fix = xstrdup(fix),
			   });
}

void dnsoperator_problems_done(struct dnsoperator_problems *problems)
{
	for (size_t i = 0; i < problems->n; i++) {
		free(problems->v[i].template_name);
		free(problems->v[i].field);
		free(problems->v[i].value);
		free(problems->v[i].why);
		free(problems->v[i].fix);
	}
	free(problems->v);
	*problems = (struct dnsoperator_problems){ 0 };
}

const char *dnsoperator_problems_reason(const struct dnsoperator_problems *problems)
{
	for (size_t i = 1; i < problems->n; i++) {
		if (problems->v[i].reason != problems->v[0].reason)
			return "MultipleErrors";
	}
	return problems->n != 0 ? reasons[problems->v[0].reason] : "";
}

static void add_line(const struct dnsoperator_problem *problem, struct strbuf *out)
{
	if (problem->template_name[0] != '\0')
		strbuf_addf(out, "Template %s: ", problem->template_name);
	strbuf_addf(out, "%s%s%s %s; %s.", problem->field, problem->value[0] != '\0' ? ": " : "",
		    problem->value, problem->why, problem->fix);
}

void dnsoperator_problems_text(const struct dnsoperator_problems *problems, struct strbuf *out)
{
	size_t shown =
		problems->n < DNSOPERATOR_PROBLEMS_SHOWN ? problems->n : DNSOPERATOR_PROBLEMS_SHOWN;
	for (size_t i = 0; i < shown; i++) {
		strbuf_adds(out, i != 0 ? "\n" : "");
		add_line(&problems->v[i], out);
	}
	if (problems->n + problems->n_more > shown)
		strbuf_addf(out, "\nThere are %zu more.", problems->n + problems->n_more - shown);
}

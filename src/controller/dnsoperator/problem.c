/* Problems as a list and as the text of a condition. */
#include "controller/dnsoperator/problem.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

static const char *const reasons[] = {
#define X(name, text) [DNSOPERATOR_##name] = (text),
	DNSOPERATOR_REASONS(X)
#undef X
};

const char *dnsoperator_reason_str(enum dnsoperator_reason r)
{
	return reasons[r];
}

/* Quoted, so that nothing in it can be taken for our words; cut, so that it stays a line. */
static char *show(const struct slice *value)
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

void dnsoperator_problem_add(struct dnsoperator_problems *p, enum dnsoperator_reason reason,
			     const struct dnsoperator_place *at, const char *why, const char *fix)
{
	if (p->n == DNSOPERATOR_PROBLEMS_MAX) {
		p->n_more++;
		return;
	}
	vec_push(p, (struct dnsoperator_problem){
			    .reason = reason,
			    .template_name = xstrdup(at->tmpl != NULL ? at->tmpl : ""),
			    .field = xstrdup(at->field),
			    .value = show(at->value),
			    .why = xstrdup(why),
			    .fix = xstrdup(fix),
		    });
}

void dnsoperator_problems_done(struct dnsoperator_problems *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].template_name);
		free(p->v[i].field);
		free(p->v[i].value);
		free(p->v[i].why);
		free(p->v[i].fix);
	}
	free(p->v);
	*p = (struct dnsoperator_problems){ 0 };
}

const char *dnsoperator_problems_reason(const struct dnsoperator_problems *p)
{
	for (size_t i = 1; i < p->n; i++) {
		if (p->v[i].reason != p->v[0].reason)
			return "MultipleErrors";
	}
	return p->n != 0 ? reasons[p->v[0].reason] : "";
}

static void add_line(const struct dnsoperator_problem *p, struct strbuf *out)
{
	if (p->template_name[0] != '\0')
		strbuf_addf(out, "Template %s: ", p->template_name);
	strbuf_addf(out, "%s%s%s %s; %s.", p->field, p->value[0] != '\0' ? ": " : "", p->value,
		    p->why, p->fix);
}

void dnsoperator_problems_text(const struct dnsoperator_problems *p, struct strbuf *out)
{
	size_t shown = p->n < DNSOPERATOR_PROBLEMS_SHOWN ? p->n : DNSOPERATOR_PROBLEMS_SHOWN;
	for (size_t i = 0; i < shown; i++) {
		strbuf_adds(out, i != 0 ? "\n" : "");
		add_line(&p->v[i], out);
	}
	if (p->n + p->n_more > shown)
		strbuf_addf(out, "\nThere are %zu more.", p->n + p->n_more - shown);
}

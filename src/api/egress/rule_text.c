/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes action, destination and ports of a rule. */
#include "api/egress/rule_text.h"

#include "base/compiler.h"

enum { PORTS_SHOWN_MAX = 8, TERMS_SHOWN_MAX = 4, VALUES_SHOWN_MAX = 4 };

static void add_values(const struct api_selector_term *term, struct strbuf *out)
{
	size_t shown = MIN(term->n_values, (size_t)VALUES_SHOWN_MAX);
	strbuf_adds(out, " (");
	for (size_t i = 0; i < shown; i++)
		strbuf_addf(out, "%s%s", i != 0 ? "," : "", term->value[i]);
	strbuf_adds(out, shown < term->n_values ? ",...)" : ")");
}

static void add_term(const struct api_selector_term *term, struct strbuf *out)
{
	switch (term->op) {
	case API_SEL_IN:
		strbuf_addf(out, "%s in", term->key);
		add_values(term, out);
		break;
	case API_SEL_NOT_IN:
		strbuf_addf(out, "%s notin", term->key);
		add_values(term, out);
		break;
	case API_SEL_EXISTS:
		strbuf_adds(out, term->key);
		break;
	case API_SEL_MISSING:
		strbuf_addf(out, "!%s", term->key);
		break;
	case API_SEL_GREATER:
	case API_SEL_LESS: /* rules have none */
		break;
	}
}

static void add_nodes(const struct api_selector *nodes, struct strbuf *out)
{
	size_t shown = MIN(nodes->n, (size_t)TERMS_SHOWN_MAX);
	strbuf_adds(out, nodes->n == 0 ? "all nodes" : "nodes ");
	for (size_t i = 0; i < shown; i++) {
		strbuf_adds(out, i != 0 ? "," : "");
		add_term(&nodes->term[i], out);
	}
	strbuf_adds(out, shown < nodes->n ? ",..." : "");
}

static void add_ports(const struct egress_rule *rule, struct strbuf *out)
{
	static const char *const protocols[] = {
		[EGRESS_TCP] = "TCP", [EGRESS_UDP] = "UDP", [EGRESS_SCTP] = "SCTP"
	};
	size_t shown = MIN(rule->n_ports, (size_t)PORTS_SHOWN_MAX);
	for (size_t i = 0; i < shown; i++)
		strbuf_addf(out, " %s/%u", protocols[rule->ports[i].protocol],
			    (unsigned)rule->ports[i].number);
	strbuf_adds(out, shown < rule->n_ports ? " ..." : "");
}

void egress_rule_text(const struct egress_rule *rule, struct strbuf *out)
{
	char range[EGRESS_RANGE_TEXT_MAX];
	strbuf_adds(out, rule->action == EGRESS_ALLOW ? "Allow " : "Deny ");
	switch (rule->target) {
	case EGRESS_TO_RANGE:
		egress_range_text(&rule->range, range);
		strbuf_adds(out, range);
		break;
	case EGRESS_TO_NAME:
		strbuf_addf(out, "%s%s", rule->is_wildcard ? "*." : "", rule->name);
		break;
	case EGRESS_TO_NODES:
		add_nodes(&rule->nodes, out);
		break;
	}
	add_ports(rule, out);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of text; texts of objects pass without control characters. */
#include "api/explain/write_text.h"

#include <inttypes.h>
#include <string.h>

#include "api/egress/rule_text.h"
#include "api/explain/wording.h"
#include "api/time.h"
#include "base/compiler.h"

enum { PORTS_SHOWN_MAX = 8 };

/* Control characters in an object must not reach the terminal of the user who prints it. */
static void add_clean(struct strbuf *out, const char *text)
{
	for (; *text != '\0'; text++)
		strbuf_addc(out, (unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text);
}

static void add_notes(struct strbuf *out, const char *const *notes, size_t count,
		      const char *indent)
{
	for (size_t i = 0; i < count; i++) {
		strbuf_addf(out, "%snote: ", indent);
		add_clean(out, notes[i]);
		strbuf_addc(out, '\n');
	}
}

/* ---- what is known ---- */

/* The status is written for changes only: an address whose lookup time is over was confirmed since, or
 * it would have left. */
static void add_times(struct strbuf *out, const struct explain_sighting *sighting, uint64_t now_ns)
{
	char text[API_TIME_TEXT_MAX];
	strbuf_addf(out, "    first seen %s\n",
		    sighting->first_ns != 0 ? api_time_format(sighting->first_ns, text)
					    : "is unknown");
	strbuf_addf(out, "    last seen %s or later\n",
		    api_time_format(sighting->reported_ns, text));
	api_time_format(sighting->lookup_ns, text);
	if (sighting->lookup_ns > now_ns)
		strbuf_addf(out, "    looked up again at %s, and kept until then\n", text);
	else
		strbuf_addf(out, "    confirmed by lookups since %s, and kept while they do\n",
			    text);
}

/* The same in two objects: of the name and of a wildcard above it. */
static bool is_repeated(const struct explain_sighting *one, const struct explain_sighting *other)
{
	return strcmp(one->name, other->name) == 0 &&
	       explain_address_compare(&one->address, &other->address) == 0 &&
	       strcmp(one->canonical, other->canonical) == 0 && one->first_ns == other->first_ns &&
	       one->reported_ns == other->reported_ns && one->lookup_ns == other->lookup_ns;
}

static bool was_shown(const struct explain_sightings *list, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (is_repeated(&list->list.v[i], &list->list.v[index]))
			return true;
	}
	return false;
}

static void add_sighting(struct strbuf *out, const struct explain_sightings *list, size_t index,
			 uint64_t now_ns)
{
	const struct explain_sighting *sighting = &list->list.v[index];
	char address[EXPLAIN_ADDRESS_TEXT_MAX];
	if (was_shown(list, index))
		return;
	strbuf_addf(out, "  %s of ", explain_address_text(&sighting->address, address));
	add_clean(out, sighting->name);
	if (sighting->canonical[0] != '\0') {
		strbuf_adds(out, ", through its CNAME ");
		add_clean(out, sighting->canonical);
	}
	strbuf_adds(out, " (DNSName ");
	for (size_t i = index; i < list->list.n; i++) {
		const struct explain_sighting *other = &list->list.v[i];
		if (!is_repeated(sighting, other))
			continue;
		strbuf_adds(out, i != index ? ", " : "");
		add_clean(out, other->ns);
		strbuf_addc(out, '/');
		add_clean(out, other->object);
	}
	strbuf_adds(out, ")\n");
	add_times(out, sighting, now_ns);
}

/* ---- decisions ---- */

static void add_ports(struct strbuf *out, const struct explain_step *step, bool is_first)
{
	size_t shown = MIN(step->n_ports, (size_t)PORTS_SHOWN_MAX);
	for (size_t i = 0; i < shown; i++) {
		char text[EXPLAIN_PORT_TEXT_MAX];
		strbuf_addf(out, "%s%s", i != 0 ? " " : "",
			    explain_port_text(&step->ports[i], text));
	}
	if (shown < step->n_ports)
		strbuf_addf(out, " and %zu more", step->n_ports - shown);
	if (step->n_ports == 0)
		strbuf_adds(out, is_first ? "all ports" : "other ports");
}

static void add_rule(struct strbuf *out, const struct egress_rule *rule)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	egress_rule_text(rule, &text);
	strbuf_addf(out, "rule %zu, ", rule->index);
	add_clean(out, text.s);
}

static const char *condition_of(const struct explain_step *step)
{
	if (step->reason == EXPLAIN_BY_NODE)
		return "one of these nodes'";
	if (step->rule->range.bits != 0)
		return "in that range";
	return step->rule->range.n == 4 ? "IPv4" : "IPv6";
}

/* Why the step decides, in words. */
static void add_reason(struct strbuf *out, const struct explain_step *step, bool has_firewall)
{
	switch (step->reason) {
	case EXPLAIN_BY_DEFAULT:
		strbuf_adds(out, has_firewall ? "no rule matches, which allows"
					      : "the namespace has no EgressFirewall");
		return;
	case EXPLAIN_BY_OWN:
		strbuf_adds(out, "the cluster's own ");
		add_clean(out, step->via);
		strbuf_adds(out, ", where rules do not count");
		return;
	case EXPLAIN_BY_RANGE:
	case EXPLAIN_BY_NAME:
	case EXPLAIN_BY_NODE:
		add_rule(out, step->rule);
		break;
	}
	if (step->is_conditional) {
		strbuf_addf(out, ", if its address is %s", condition_of(step));
	} else if (step->via != NULL) {
		strbuf_adds(out, step->reason == EXPLAIN_BY_NODE ? ": node " : ": ");
		add_clean(out, step->via);
	}
}

static void add_decision(struct strbuf *out, const struct explain_decision *decision,
			 bool has_firewall)
{
	char address[EXPLAIN_ADDRESS_TEXT_MAX];
	strbuf_addf(out, "  %s\n",
		    decision->address.n != 0 ? explain_address_text(&decision->address, address)
					     : "an address that is not known yet");
	for (size_t i = 0; i < decision->steps.n; i++) {
		const struct explain_step *step = &decision->steps.v[i];
		strbuf_addf(out, "    %s ", step->is_allowed ? "Allow" : "Deny ");
		add_ports(out, step, i == 0);
		strbuf_adds(out, ": ");
		add_reason(out, step, has_firewall);
		strbuf_addc(out, '\n');
	}
}

static void add_denial(struct strbuf *out, const struct explain_denial *denial)
{
	strbuf_adds(out, "  denied: ");
	add_clean(out, denial->text);
	strbuf_addf(out, " (%" PRIu64 " sample%s, the last one at ", denial->samples,
		    denial->samples == 1 ? "" : "s");
	add_clean(out, denial->last[0] != '\0' ? denial->last : "an unknown time");
	strbuf_adds(out, ")\n");
}

static void add_namespace(struct strbuf *out, const struct explain_namespace *ns)
{
	strbuf_adds(out, "namespace ");
	add_clean(out, ns->name);
	strbuf_addc(out, '\n');
	for (size_t i = 0; i < ns->decisions.n; i++)
		add_decision(out, &ns->decisions.v[i], ns->has_firewall);
	for (size_t i = 0; i < ns->denied.n; i++)
		add_denial(out, &ns->denied.v[i]);
	add_notes(out, ns->notes.v, ns->notes.n, "  ");
}

void explain_write_text(const struct explain_report *report, uint64_t now_ns, struct strbuf *out)
{
	char address[EXPLAIN_ADDRESS_TEXT_MAX];
	strbuf_addf(out, "%s\n",
		    report->subject.address.n != 0
			    ? explain_address_text(&report->subject.address, address)
			    : report->subject.name.text);
	for (size_t i = 0; i < report->about.list.n; i++)
		add_sighting(out, &report->about, i, now_ns);
	add_notes(out, report->notes.v, report->notes.n, "  ");
	for (size_t i = 0; i < report->namespaces.n; i++)
		add_namespace(out, &report->namespaces.v[i]);
	if (report->namespaces.n == 0)
		strbuf_adds(out, "no namespace has an EgressFirewall: everything is allowed\n");
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members with nothing in them are left out, except lists. The man page describes all of them. */
#include "api/explain/write_json.h"

#include "api/egress/rule_text.h"
#include "api/explain/wording.h"
#include "api/time.h"
#include "base/compiler.h"
#include "base/strbuf.h"

static void set_text(json_t *object, const char *key, const char *text)
{
	if (text != NULL && text[0] != '\0')
		json_object_set_new(object, key, json_string(text));
}

static void set_time(json_t *object, const char *key, uint64_t wall_ns)
{
	char text[API_TIME_TEXT_MAX];
	if (wall_ns != 0)
		json_object_set_new(object, key, json_string(api_time_format(wall_ns, text)));
}

static json_t *write_sighting(const struct explain_sighting *sighting)
{
	char address[EXPLAIN_ADDRESS_TEXT_MAX];
	CLEANUP(strbuf_done) struct strbuf object = STRBUF_INIT;
	strbuf_addf(&object, "%s/%s", sighting->ns, sighting->object);
	json_t *out = json_pack("{s:s, s:s, s:s}", "address",
				explain_address_text(&sighting->address, address), "name",
				sighting->name, "dnsName", object.s);
	set_text(out, "canonicalName", sighting->canonical);
	set_time(out, "firstSeen", sighting->first_ns);
	set_time(out, "lastReported", sighting->reported_ns);
	set_time(out, "nextLookup", sighting->lookup_ns);
	return out;
}

static json_t *write_ports(const struct explain_step *step)
{
	json_t *out = json_array();
	for (size_t i = 0; i < step->n_ports; i++) {
		char text[EXPLAIN_PORT_TEXT_MAX];
		json_array_append_new(out, json_string(explain_port_text(&step->ports[i], text)));
	}
	return out;
}

static json_t *write_step(const struct explain_step *step)
{
	json_t *out = json_pack("{s:s, s:s}", "action", step->is_allowed ? "Allow" : "Deny",
				"reason", explain_reason_word(step->reason));
	if (step->rule != NULL) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		egress_rule_text(step->rule, &text);
		json_object_set_new(out, "rule", json_integer((json_int_t)step->rule->index));
		set_text(out, "text", text.s);
	}
	set_text(out, "via", step->via);
	if (step->n_ports != 0)
		json_object_set_new(out, "ports", write_ports(step));
	if (step->is_conditional)
		json_object_set_new(out, "ifAddressMatches", json_true());
	return out;
}

static json_t *write_decision(const struct explain_decision *decision)
{
	char address[EXPLAIN_ADDRESS_TEXT_MAX];
	json_t *out = json_object(), *steps = json_array();
	if (decision->address.n != 0)
		set_text(out, "address", explain_address_text(&decision->address, address));
	for (size_t i = 0; i < decision->steps.n; i++)
		json_array_append_new(steps, write_step(&decision->steps.v[i]));
	json_object_set_new(out, "steps", steps);
	return out;
}

static json_t *write_notes(const char *const *notes, size_t count)
{
	json_t *out = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(out, json_string(notes[i]));
	return out;
}

static json_t *write_denials(const explain_denial_list *denied)
{
	json_t *out = json_array();
	for (size_t i = 0; i < denied->n; i++) {
		const struct explain_denial *denial = &denied->v[i];
		char address[EXPLAIN_ADDRESS_TEXT_MAX];
		json_t *one = json_object();
		set_text(one, "address", explain_address_text(&denial->address, address));
		set_text(one, "text", denial->text);
		set_text(one, "last", denial->last);
		json_object_set_new(one, "samples", json_integer((json_int_t)denial->samples));
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *write_namespace(const struct explain_namespace *ns)
{
	json_t *decisions = json_array();
	for (size_t i = 0; i < ns->decisions.n; i++)
		json_array_append_new(decisions, write_decision(&ns->decisions.v[i]));
	return json_pack("{s:s, s:b, s:o, s:o, s:o}", "namespace", ns->name, "hasFirewall",
			 ns->has_firewall, "decisions", decisions, "denied",
			 write_denials(&ns->denied), "notes",
			 write_notes(ns->notes.v, ns->notes.n));
}

json_t *explain_write_json(const struct explain_report *report)
{
	char address[EXPLAIN_ADDRESS_TEXT_MAX];
	json_t *out = json_object(), *known = json_array(), *namespaces = json_array();
	if (report->subject.address.n != 0)
		set_text(out, "address", explain_address_text(&report->subject.address, address));
	else
		set_text(out, "name", report->subject.name.text);
	for (size_t i = 0; i < report->about.list.n; i++)
		json_array_append_new(known, write_sighting(&report->about.list.v[i]));
	for (size_t i = 0; i < report->namespaces.n; i++)
		json_array_append_new(namespaces, write_namespace(&report->namespaces.v[i]));
	json_object_set_new(out, "known", known);
	json_object_set_new(out, "namespaces", namespaces);
	json_object_set_new(out, "notes", write_notes(report->notes.v, report->notes.n));
	return out;
}

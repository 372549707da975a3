/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of the file, and the same text with the origin of each entry. */
#include <assert.h>

#include "dns/podresolv/podresolv.h"
#include "dns/podresolv/words_priv.h"

static void render_entry(const struct podresolv_entry *entry, struct strbuf *out)
{
	strbuf_add_slice(out, entry->text);
	if (entry->value.n > 0) {
		strbuf_addc(out, ':');
		strbuf_add_slice(out, entry->value);
	}
}

static void render_nameservers(const struct podresolv_list *list, struct strbuf *out)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].dropped != PODRESOLV_KEPT)
			continue;
		assert(podresolv_is_word(list->v[i].text));
		strbuf_adds(out, "nameserver ");
		render_entry(&list->v[i], out);
		strbuf_addc(out, '\n');
	}
}

/* One line of all kept entries; none if there is no such entry. */
static void render_line(const char *keyword, const struct podresolv_list *list, struct strbuf *out)
{
	bool has_entry = false;
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].dropped != PODRESOLV_KEPT)
			continue;
		assert(podresolv_is_word(list->v[i].text));
		strbuf_adds(out, has_entry ? " " : keyword);
		render_entry(&list->v[i], out);
		has_entry = true;
	}
	if (has_entry)
		strbuf_addc(out, '\n');
}

void podresolv_render(const struct podresolv_result *result, struct strbuf *out)
{
	render_nameservers(&result->nameservers, out);
	render_line("search ", &result->searches, out);
	render_line("options ", &result->options, out);
}

/* ---- explanations, as comments ---- */

/* The names of the three lists, by what they come from; %zu is a place in the source's list. */
struct origin_words {
	const char *host, *cluster, *node, *pod;
};

static const struct origin_words nameserver_words = { "host file, nameserver line %zu",
						      "cluster DNS address %zu",
						      "loopback, since the node has no host file",
						      "spec.dnsConfig.nameservers[%zu]" };
static const struct origin_words search_words = { "host file, search domain %zu",
						  "search domain %zu of the cluster",
						  "the root, since the node has no host file",
						  "spec.dnsConfig.searches[%zu]" };
static const struct origin_words option_words = { "host file, option %zu", "option of the policy",
						  "", "spec.dnsConfig.options[%zu]" };

static void explain_origin(const struct podresolv_entry *entry, const struct origin_words *words,
			   struct strbuf *out)
{
	const char *text = "";
	size_t place = entry->index + (entry->source != PODRESOLV_FROM_POD);
	switch (entry->source) {
	case PODRESOLV_FROM_HOST:
		text = words->host;
		break;
	case PODRESOLV_FROM_CLUSTER:
		text = words->cluster;
		break;
	case PODRESOLV_FROM_NODE:
		text = words->node;
		break;
	case PODRESOLV_FROM_POD:
		text = words->pod;
		break;
	}
	const char *number = strstr(text, "%zu");
	strbuf_add(out, text, number != NULL ? (size_t)(number - text) : strlen(text));
	if (number != NULL) {
		strbuf_addf(out, "%zu", place);
		strbuf_adds(out, number + 3);
	}
}

static void explain_entry(const struct podresolv_entry *entry, const struct origin_words *words,
			  struct strbuf *out)
{
	static const char *const reasons[] = {
		[PODRESOLV_KEPT] = "",
		[PODRESOLV_DUPLICATE] = "not used: an earlier entry is the same",
		[PODRESOLV_OVERRIDDEN] = "not used: a later option has the same name",
		[PODRESOLV_TOO_MANY] =
			"not used: past the number of entries that the profile allows",
		[PODRESOLV_ENTRY_TOO_LONG] = "not used: longer than 253 characters",
		[PODRESOLV_LIST_TOO_LONG] =
			"not used: the search list would be longer than the profile allows",
		[PODRESOLV_UNSAFE] = "not used: empty, or characters that would end the entry",
		[PODRESOLV_NO_ADDRESS] = "not used: not an IP address",
	};
	strbuf_adds(out, "#   ");
	if (podresolv_is_word(entry->text) &&
	    (entry->value.n == 0 || podresolv_is_word(entry->value)))
		render_entry(entry, out);
	else
		strbuf_add_quoted(out, entry->text);
	strbuf_adds(out, ": ");
	explain_origin(entry, words, out);
	if (entry->dropped != PODRESOLV_KEPT)
		strbuf_addf(out, "; %s", reasons[entry->dropped]);
	strbuf_addc(out, '\n');
}

static void explain_list(const struct podresolv_list *list, const struct origin_words *words,
			 struct strbuf *out)
{
	for (size_t i = 0; i < list->n; i++)
		explain_entry(&list->v[i], words, out);
}

void podresolv_explain(const struct podresolv_result *result, struct strbuf *out)
{
	strbuf_addf(out, "# policy %s\n", podresolv_policy_name(result->policy));
	render_nameservers(&result->nameservers, out);
	explain_list(&result->nameservers, &nameserver_words, out);
	render_line("search ", &result->searches, out);
	explain_list(&result->searches, &search_words, out);
	render_line("options ", &result->options, out);
	explain_list(&result->options, &option_words, out);
}

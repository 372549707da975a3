/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What does not fit into a pod's file, and into the host's: limits of each profile, and Events in
 * kubelet's words. */
#include "dns/podresolv/limits_priv.h"

#include "dns/podresolv/findings_priv.h"

enum { CLUSTER_SEARCHES = 3 };

static const struct podresolv_limits limits[] = {
	[PODRESOLV_KUBELET] = { PODRESOLV_SEARCHES_MAX, PODRESOLV_SEARCH_CHARACTERS_MAX, false },
	[PODRESOLV_SEED] = { PODRESOLV_SEED_SEARCHES_MAX, PODRESOLV_SEED_CHARACTERS_MAX, true },
	[PODRESOLV_LIBC_SAFE] = { PODRESOLV_SEARCHES_MAX, PODRESOLV_MUSL_CHARACTERS_MAX, false },
};

const struct podresolv_limits *podresolv_limits_of(enum podresolv_profile profile)
{
	return &limits[profile];
}

/* Keeps the first `max`; true if there were more. */
static bool drop_surplus(struct podresolv_list *list, size_t max)
{
	bool was_cut = false;
	size_t kept = 0;
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].dropped != PODRESOLV_KEPT || kept++ < max)
			continue;
		list->v[i].dropped = PODRESOLV_TOO_MANY;
		was_cut = true;
	}
	return was_cut;
}

/* glibc 2.28 aborted at domains of more than 255 characters. */
static bool drop_long_domains(struct podresolv_list *list)
{
	bool was_cut = false;
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].dropped != PODRESOLV_KEPT ||
		    list->v[i].text.n <= PODRESOLV_DOMAIN_MAX)
			continue;
		list->v[i].dropped = PODRESOLV_ENTRY_TOO_LONG;
		was_cut = true;
	}
	return was_cut;
}

/* Drops from the end until the joined list has at most `max` characters. */
static bool drop_tail(struct podresolv_list *list, size_t max)
{
	bool was_cut = false;
	size_t length = 0; /* each domain with the space before it: one more than the joined list */
	for (size_t i = 0; i < list->n; i++)
		length += list->v[i].dropped == PODRESOLV_KEPT ? list->v[i].text.n + 1 : 0;
	for (size_t i = list->n; i > 0 && length > max + 1; i--) {
		if (list->v[i - 1].dropped != PODRESOLV_KEPT)
			continue;
		length -= list->v[i - 1].text.n + 1;
		list->v[i - 1].dropped = PODRESOLV_LIST_TOO_LONG;
		was_cut = true;
	}
	return was_cut;
}

/* The kept entries with a space between them. */
static void join_kept(struct strbuf *out, const struct podresolv_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].dropped != PODRESOLV_KEPT)
			continue;
		if (out->n > 0)
			strbuf_addc(out, ' ');
		strbuf_add_slice(out, list->v[i].text);
	}
}

/* ---- what is reported ---- */

struct list_size {
	size_t entries, characters, longest; /* characters with the spaces between entries */
};

static struct list_size measure_kept(const struct podresolv_list *list)
{
	struct list_size size = { 0 };
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].dropped != PODRESOLV_KEPT)
			continue;
		size.characters += list->v[i].text.n + (size.entries > 0);
		size.longest = MAX(size.longest, list->v[i].text.n);
		size.entries++;
	}
	return size;
}

/* The finding's severity decides: an Event is about the list that is left, in kubelet's words, and
 * a refusal about the list that there was (`before`). */
static void report_nameservers(struct podresolv_result *result, struct arena *arena,
			       struct podresolv_finding finding, struct list_size before)
{
	CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
	finding.field = "spec.dnsConfig.nameservers";
	join_kept(&line, &result->nameservers);
	if (finding.severity == PODRESOLV_REFUSAL)
		podresolv_add_finding(result, arena, finding,
				      "the merged list has %zu name servers; the profile allows %d",
				      before.entries, PODRESOLV_NAMESERVERS_MAX);
	else
		podresolv_add_finding(result, arena, finding,
				      "Nameserver limits were exceeded, some nameservers have been "
				      "omitted, the applied nameserver line is: %s",
				      line.s);
}

static void report_searches(struct podresolv_result *result, struct arena *arena,
			    struct podresolv_finding finding, struct list_size before,
			    const struct podresolv_limits *most)
{
	CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
	finding.field = "spec.dnsConfig.searches";
	join_kept(&line, &result->searches);
	if (finding.severity == PODRESOLV_REFUSAL)
		podresolv_add_finding(result, arena, finding,
				      "the merged search list has %zu domains and %zu characters, "
				      "the longest domain %zu; the profile allows %zu domains, %zu "
				      "characters, and %d in a domain",
				      before.entries, before.characters, before.longest,
				      most->searches, most->characters, PODRESOLV_DOMAIN_MAX);
	else
		podresolv_add_finding(result, arena, finding,
				      "Search Line limits were exceeded, some search paths have "
				      "been omitted, the applied search line is: %s",
				      line.s);
}

void podresolv_apply_limits(const struct podresolv_input *input, struct arena *arena,
			    struct podresolv_result *result)
{
	const struct podresolv_limits *most = podresolv_limits_of(input->profile);
	struct list_size servers = measure_kept(&result->nameservers);
	struct list_size searches = measure_kept(&result->searches);
	struct podresolv_finding finding = {
		.severity = most->refuses ? PODRESOLV_REFUSAL : PODRESOLV_EVENT,
		.reason = "DNSConfigForming",
	};
	if (drop_surplus(&result->nameservers, PODRESOLV_NAMESERVERS_MAX))
		report_nameservers(result, arena, finding, servers);
	bool was_cut = drop_surplus(&result->searches, most->searches);
	was_cut |= drop_long_domains(&result->searches);
	was_cut |= drop_tail(&result->searches, most->characters);
	if (was_cut)
		report_searches(result, arena, finding, searches, most);
}

bool podresolv_check_host(const struct podresolv_config *host, struct slice cluster_domain,
			  const char *path, struct arena *arena, struct podresolv_finding *ret)
{
	size_t most = PODRESOLV_SEARCHES_MAX - (cluster_domain.n > 0 ? CLUSTER_SEARCHES : 0);
	size_t length = 0, longest = 0;
	const char *message = NULL;
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
	for (size_t i = 0; i < host->n_searches; i++) {
		length += host->searches[i].n + (i > 0);
		longest = host->searches[i].n > longest ? host->searches[i].n : longest;
	}
	strbuf_add_quoted(&quoted, slice_of(path));
	if (host->n_searches > most)
		message = arena_printf(arena,
				       "Resolv.conf file '%s' contains search line consisting of "
				       "more than %zu domains!",
				       path, most);
	else if (longest > PODRESOLV_DOMAIN_MAX)
		message = arena_printf(arena,
				       "Resolv.conf file %s contains a search path which length is "
				       "more than allowed %d chars!",
				       quoted.s, PODRESOLV_DOMAIN_MAX);
	else if (length > PODRESOLV_SEARCH_CHARACTERS_MAX)
		message = arena_printf(arena,
				       "Resolv.conf file '%s' contains search line which length is "
				       "more than allowed %d chars!",
				       path, PODRESOLV_SEARCH_CHARACTERS_MAX);
	*ret = (struct podresolv_finding){ .severity = PODRESOLV_EVENT,
					   .on_node = true,
					   .reason = "CheckLimitsForResolvConf",
					   .field = "",
					   .message = message };
	return message != NULL;
}

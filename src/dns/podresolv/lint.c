/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings that are valid and will not work as expected, by C library. One row per lint; the facts
 * were measured with glibc 2.36, musl 1.2.3 and musl 1.2.5 (docs/pod-resolv-conf.md). */
#include "dns/podresolv/address_priv.h"
#include "dns/podresolv/findings_priv.h"
#include "dns/podresolv/option_table_priv.h"

enum { LABEL_MAX = 63, OLD_GLIBC_SEARCHES = 6, OLD_GLIBC_CHARACTERS = 256 };

static const char nameservers_field[] = "spec.dnsConfig.nameservers";
static const char searches_field[] = "spec.dnsConfig.searches";
static const char options_field[] = "spec.dnsConfig.options";

struct lint {
	const struct podresolv_input *input;
	struct arena *arena;
	struct podresolv_result *result;
	const char *reason;
};

static const struct podresolv_entry *next_kept(const struct podresolv_list *list, size_t *pos)
{
	while (*pos < list->n) {
		const struct podresolv_entry *entry = &list->v[(*pos)++];
		if (entry->dropped == PODRESOLV_KEPT)
			return entry;
	}
	return NULL;
}

static size_t count_kept(const struct podresolv_list *list)
{
	size_t n = 0, pos = 0;
	while (next_kept(list, &pos) != NULL)
		n++;
	return n;
}

/* Characters of the search line behind its keyword. */
static size_t search_characters(const struct podresolv_list *list)
{
	size_t length = 0, pos = 0;
	const struct podresolv_entry *entry;
	while ((entry = next_kept(list, &pos)) != NULL)
		length += entry->text.n + (length > 0);
	return length;
}

#define ADD_LINT(lint, where, ...)                                                    \
	podresolv_add_finding((lint)->result, (lint)->arena,                          \
			      (struct podresolv_finding){ .severity = PODRESOLV_LINT, \
							  .reason = (lint)->reason,   \
							  .field = (where) },         \
			      __VA_ARGS__)

/* ---- search domains ---- */

static void check_musl_length(struct lint *lint)
{
	size_t length = search_characters(&lint->result->searches);
	if (length > PODRESOLV_MUSL_CHARACTERS_MAX)
		ADD_LINT(lint, searches_field,
			 "the search list has %zu characters; musl ignores a list of more than %d "
			 "entirely, so that no short name resolves",
			 length, PODRESOLV_MUSL_CHARACTERS_MAX);
}

static void check_old_glibc(struct lint *lint)
{
	size_t n = count_kept(&lint->result->searches);
	size_t length = search_characters(&lint->result->searches);
	if (n > OLD_GLIBC_SEARCHES || length > OLD_GLIBC_CHARACTERS)
		ADD_LINT(lint, searches_field,
			 "the search list has %zu domains and %zu characters; glibc before 2.26 "
			 "reads the first %d domains and %d characters only",
			 n, length, OLD_GLIBC_SEARCHES, OLD_GLIBC_CHARACTERS);
}

static void check_root_search(struct lint *lint)
{
	size_t pos = 0;
	const struct podresolv_entry *entry;
	while ((entry = next_kept(&lint->result->searches, &pos)) != NULL) {
		if (slice_is(entry->text, "."))
			ADD_LINT(lint, searches_field,
				 "the search list contains \".\"; musl before 1.2.5 then sends "
				 "malformed queries, and lookups fail");
	}
}

static bool has_long_label(struct slice domain)
{
	while (domain.p != NULL) {
		if (slice_cut(&domain, '.').n > LABEL_MAX)
			return true;
	}
	return false;
}

static void check_labels(struct lint *lint)
{
	size_t pos = 0;
	const struct podresolv_entry *entry;
	while ((entry = next_kept(&lint->result->searches, &pos)) != NULL) {
		if (has_long_label(entry->text))
			ADD_LINT(lint, searches_field,
				 "search domain '%.*s' has a label of more than %d characters; no "
				 "name below it can be asked for",
				 (int)entry->text.n, entry->text.p, LABEL_MAX);
	}
}

/* Kubelet and both libraries take "# text" behind a search list or options for more of them. */
static void check_inline_comment(struct lint *lint)
{
	const struct podresolv_list *lists[] = { &lint->result->searches, &lint->result->options };
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		size_t pos = 0;
		const struct podresolv_entry *entry;
		while ((entry = next_kept(lists[i], &pos)) != NULL) {
			if (entry->source == PODRESOLV_FROM_HOST &&
			    (entry->text.p[0] == '#' || entry->text.p[0] == ';'))
				ADD_LINT(lint, "",
					 "'%.*s' in the host file is no comment: comments begin a "
					 "line",
					 (int)entry->text.n, entry->text.p);
		}
	}
}

/* What the core does not write. A pod's own entries of this kind are refused by validation. */
static void check_host_list(struct lint *lint, const struct podresolv_list *list, const char *what)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct podresolv_entry *entry = &list->v[i];
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT, quoted = STRBUF_INIT;
		if (entry->source != PODRESOLV_FROM_HOST || entry->dropped != PODRESOLV_UNSAFE)
			continue;
		strbuf_add_slice(&text, entry->text);
		if (entry->value.n > 0)
			strbuf_addc(&text, ':');
		strbuf_add_slice(&text, entry->value);
		strbuf_add_quoted(&quoted, strbuf_slice(&text));
		ADD_LINT(lint, "", "%s %s in the host file %s and is left out", what, quoted.s,
			 entry->text.n == 0 ? "has no name" : "contains control characters");
	}
}

static void check_host_characters(struct lint *lint)
{
	check_host_list(lint, &lint->result->nameservers, "name server");
	check_host_list(lint, &lint->result->searches, "search domain");
	check_host_list(lint, &lint->result->options, "option");
}

static void check_host_domain(struct lint *lint)
{
	const struct podresolv_input *input = lint->input;
	if (lint->result->policy == PODRESOLV_NONE || input->no_host_file || input->host == NULL ||
	    input->host->unused_domain.n == 0)
		return;
	ADD_LINT(lint, "",
		 "the host file's line 'domain %.*s' is not used: programs on the host search "
		 "that domain, pods do not",
		 (int)input->host->unused_domain.n, input->host->unused_domain.p);
}

/* ---- name servers ---- */

static void check_server_number(struct lint *lint)
{
	if (count_kept(&lint->result->nameservers) == 0)
		ADD_LINT(lint, nameservers_field,
			 "there is no name server; C libraries then ask 127.0.0.1");
}

static void check_parallel_servers(struct lint *lint)
{
	size_t n = count_kept(&lint->result->nameservers);
	if (n > 1)
		ADD_LINT(lint, nameservers_field,
			 "musl asks all %zu name servers at once and takes the first answer, even "
			 "that a name does not exist; all of them must know the same names",
			 n);
}

static void check_server_addresses(struct lint *lint)
{
	size_t pos = 0;
	const struct podresolv_entry *entry;
	while ((entry = next_kept(&lint->result->nameservers, &pos)) != NULL) {
		struct podresolv_address address;
		struct slice bare = entry->text; /* a scope may follow: fe80::1%eth0 */
		struct slice host = slice_cut(&bare, '%');
		if (!podresolv_read_address(host, &address) || address.has_zeros)
			ADD_LINT(lint, nameservers_field,
				 "name server '%.*s' is not an IP address; C libraries ignore it",
				 (int)entry->text.n, entry->text.p);
	}
}

/* kube-apiserver's warning. */
static void check_address_form(struct lint *lint)
{
	const struct podresolv_config *config = lint->input->config;
	for (size_t i = 0; config != NULL && i < config->n_nameservers; i++) {
		struct podresolv_address address;
		struct slice text = config->nameservers[i];
		if (!podresolv_read_address(text, &address) || address.family != 6)
			continue;
		struct slice canonical = podresolv_address_text(&address, lint->arena);
		if (!slice_eq(text, canonical))
			ADD_LINT(lint,
				 arena_printf(lint->arena, "spec.dnsConfig.nameservers[%zu]", i),
				 "IPv6 address \"%.*s\" should be in RFC 5952 canonical format "
				 "(\"%s\")",
				 (int)text.n, text.p, canonical.p);
	}
}

static void check_cluster_dns(struct lint *lint)
{
	const struct podresolv_input *input = lint->input;
	for (size_t i = 0; i < input->n_cluster_dns; i++) {
		struct podresolv_address address;
		if (!podresolv_read_address(input->cluster_dns[i], &address))
			ADD_LINT(lint, "",
				 "cluster DNS address '%.*s' is not an IP address and is skipped",
				 (int)input->cluster_dns[i].n, input->cluster_dns[i].p);
	}
}

/* ---- options ---- */

static void check_unknown_options(struct lint *lint)
{
	size_t pos = 0;
	const struct podresolv_entry *entry;
	while ((entry = next_kept(&lint->result->options, &pos)) != NULL) {
		if (podresolv_find_option(entry->text) == NULL)
			ADD_LINT(lint, options_field, "no C library knows the option '%.*s'",
				 (int)entry->text.n, entry->text.p);
	}
}

static void check_musl_options(struct lint *lint)
{
	size_t pos = 0;
	const struct podresolv_entry *entry;
	while ((entry = next_kept(&lint->result->options, &pos)) != NULL) {
		const struct podresolv_known_option *known = podresolv_find_option(entry->text);
		if (known != NULL && known->musl_max == 0)
			ADD_LINT(lint, options_field, "musl ignores the option %s", known->name);
	}
}

static void check_option_values(struct lint *lint)
{
	size_t pos = 0;
	const struct podresolv_entry *entry;
	while ((entry = next_kept(&lint->result->options, &pos)) != NULL) {
		const struct podresolv_known_option *known = podresolv_find_option(entry->text);
		uint64_t number;
		if (known == NULL)
			continue;
		if (known->takes_number && slice_u64(entry->value, &number) < 0)
			ADD_LINT(lint, options_field, "option %s needs a number, and has '%.*s'",
				 known->name, (int)entry->value.n, entry->value.p);
		if (!known->takes_number && entry->value.n > 0)
			ADD_LINT(lint, options_field, "option %s has no value, and is given '%.*s'",
				 known->name, (int)entry->value.n, entry->value.p);
	}
}

static void check_option_range(struct lint *lint)
{
	size_t pos = 0;
	const struct podresolv_entry *entry;
	while ((entry = next_kept(&lint->result->options, &pos)) != NULL) {
		const struct podresolv_known_option *known = podresolv_find_option(entry->text);
		uint64_t number;
		if (known == NULL || !known->takes_number || slice_u64(entry->value, &number) < 0)
			continue;
		uint64_t most =
			lint->input->libc == PODRESOLV_MUSL ? known->musl_max : known->glibc_max;
		if (number > most)
			ADD_LINT(lint, options_field, "option %s:%llu counts as %s:%llu",
				 known->name, (unsigned long long)number, known->name,
				 (unsigned long long)most);
	}
}

static uint64_t ndots_of(const struct podresolv_result *result)
{
	size_t pos = 0;
	const struct podresolv_entry *entry;
	uint64_t number = 1;
	while ((entry = next_kept(&result->options, &pos)) != NULL) {
		if (slice_is(entry->text, "ndots") && slice_u64(entry->value, &number) < 0)
			number = 1;
	}
	return number;
}

/* musl searches a name with fewer dots than ndots only, glibc also searches others, but later. */
static void check_musl_ndots(struct lint *lint)
{
	struct slice zone = lint->input->cluster_domain;
	size_t pos = 0;
	const struct podresolv_entry *entry;
	if (zone.n == 0 || ndots_of(lint->result) > 1)
		return;
	while ((entry = next_kept(&lint->result->searches, &pos)) != NULL) {
		if (!slice_ends(entry->text, zone))
			continue;
		ADD_LINT(lint, options_field,
			 "with ndots:%llu musl does not search names that contain a dot, such as "
			 "SERVICE.NAMESPACE; glibc does",
			 (unsigned long long)ndots_of(lint->result));
		return;
	}
}

static const struct {
	const char *id;
	enum podresolv_libc libc; /* whose programs it is about; any: all */
	void (*check)(struct lint *lint);
} lints[] = {
	{ "musl-search-length", PODRESOLV_MUSL, check_musl_length },
	{ "musl-root-search", PODRESOLV_MUSL, check_root_search },
	{ "musl-ndots", PODRESOLV_MUSL, check_musl_ndots },
	{ "musl-parallel-servers", PODRESOLV_MUSL, check_parallel_servers },
	{ "musl-option", PODRESOLV_MUSL, check_musl_options },
	{ "glibc-search-limits", PODRESOLV_GLIBC, check_old_glibc },
	{ "search-label-length", PODRESOLV_ANY_LIBC, check_labels },
	{ "unknown-option", PODRESOLV_ANY_LIBC, check_unknown_options },
	{ "option-value", PODRESOLV_ANY_LIBC, check_option_values },
	{ "option-range", PODRESOLV_ANY_LIBC, check_option_range },
	{ "no-nameserver", PODRESOLV_ANY_LIBC, check_server_number },
	{ "nameserver-address", PODRESOLV_ANY_LIBC, check_server_addresses },
	{ "nameserver-form", PODRESOLV_ANY_LIBC, check_address_form },
	{ "cluster-dns-address", PODRESOLV_ANY_LIBC, check_cluster_dns },
	{ "host-comment", PODRESOLV_ANY_LIBC, check_inline_comment },
	{ "host-characters", PODRESOLV_ANY_LIBC, check_host_characters },
	{ "host-domain", PODRESOLV_ANY_LIBC, check_host_domain },
};

void podresolv_lint(const struct podresolv_input *input, struct arena *arena,
		    struct podresolv_result *result)
{
	for (size_t i = 0; i < ARRAY_LEN(lints); i++) {
		struct lint lint = { input, arena, result, lints[i].id };
		if (lints[i].libc == PODRESOLV_ANY_LIBC || input->libc == PODRESOLV_ANY_LIBC ||
		    lints[i].libc == input->libc)
			lints[i].check(&lint);
	}
}

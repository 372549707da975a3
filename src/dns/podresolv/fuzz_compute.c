/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any dnsConfig: every profile validates and computes it, and what is rendered reads as the kept
 * entries, whether it was valid or not. An input is texts that end in NUL bytes, the first
 * character of each says what it is: `n` name server, `s` search domain, `o` option (`v` value of
 * the one before), `h` host file, `d` namespace, `p` policy. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "dns/podresolv/podresolv.h"

enum { ENTRIES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct pod {
	struct slice nameservers[ENTRIES], searches[ENTRIES], host_text, policy_word, ns;
	struct podresolv_option options[ENTRIES];
	struct podresolv_config config;
};

static void read_field(struct pod *pod, char kind, struct slice text)
{
	struct podresolv_config *config = &pod->config;
	if (kind == 'n' && config->n_nameservers < ENTRIES)
		pod->nameservers[config->n_nameservers++] = text;
	else if (kind == 's' && config->n_searches < ENTRIES)
		pod->searches[config->n_searches++] = text;
	else if (kind == 'o' && config->n_options < ENTRIES)
		pod->options[config->n_options++].name = text;
	else if (kind == 'v' && config->n_options > 0)
		pod->options[config->n_options - 1].value = text;
	else if (kind == 'h')
		pod->host_text = text;
	else if (kind == 'd')
		pod->ns = text;
	else if (kind == 'p')
		pod->policy_word = text;
}

/* Of search domains the reader leaves "." out. */
static size_t count_kept(const struct podresolv_list *list, bool with_root)
{
	size_t n = 0;
	for (size_t i = 0; i < list->n; i++)
		n += list->v[i].dropped == PODRESOLV_KEPT &&
		     (with_root || !slice_is(list->v[i].text, "."));
	return n;
}

/* U+0080 to U+009F, in UTF-8. */
static bool has_c1(struct slice text)
{
	for (size_t i = 1; i < text.n; i++) {
		unsigned char last = (unsigned char)text.p[i];
		if ((unsigned char)text.p[i - 1] == 0xc2 && last >= 0x80 && last <= 0x9f)
			return true;
	}
	return false;
}

/* The rendered file read as a host file: as many entries as were kept. */
static void check_file(const struct podresolv_result *result, struct arena *arena)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT, words = STRBUF_INIT;
	struct podresolv_config reread;
	podresolv_render(result, &out);
	podresolv_explain(result, &words);
	for (int i = 0; i < 2; i++) {
		/* Explanations are comments: the lists are the same with them. */
		struct slice text = strbuf_slice(i == 0 ? &out : &words);
		if (podresolv_parse_host(text, false, arena, &reread,
					 (struct err_text){ NULL, 0 }) < 0 ||
		    has_c1(text))
			abort();
		if (reread.n_nameservers != count_kept(&result->nameservers, true) ||
		    reread.n_searches != count_kept(&result->searches, false) ||
		    reread.n_options != count_kept(&result->options, true))
			abort();
	}
}

static void check_profile(struct pod *pod, const struct podresolv_config *host,
			  enum podresolv_policy policy, enum podresolv_profile profile,
			  struct arena *arena)
{
	struct podresolv_input input = {
		.ns = pod->ns,
		.policy = policy,
		.config = &pod->config,
		.host = host,
		.no_host_file = pod->ns.n % 3 == 1,
		.host_network = pod->ns.n % 2 == 1,
		.cluster_dns = pod->searches,
		.n_cluster_dns = pod->config.n_searches,
		.cluster_domain = SLICE("z"),
		.profile = profile,
	};
	struct podresolv_result result;
	struct podresolv_errors errors;
	podresolv_validate(pod->policy_word, &pod->config, profile, arena, &errors);
	if (podresolv_compute(&input, arena, &result, (struct err_text){ NULL, 0 }) == 0)
		check_file(&result, arena);
	else if (host != NULL || policy == PODRESOLV_NONE)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pod pod = { 0 };
	struct slice rest = { (const char *)data, size };
	struct podresolv_config host;
	enum podresolv_policy policy;
	struct arena arena;
	while (rest.n > 0) {
		struct slice field = slice_cut(&rest, '\0');
		if (field.n > 0)
			read_field(&pod, field.p[0], slice_from(field, 1));
	}
	pod.config.nameservers = pod.nameservers;
	pod.config.searches = pod.searches;
	pod.config.options = pod.options;
	if (!podresolv_policy_from(pod.policy_word, &policy))
		policy = (enum podresolv_policy)(pod.policy_word.n % 4);
	arena_init(&arena);
	bool has_host = podresolv_parse_host(pod.host_text, false, &arena, &host,
					     (struct err_text){ NULL, 0 }) == 0;
	for (int profile = PODRESOLV_KUBELET; profile <= PODRESOLV_LIBC_SAFE; profile++)
		check_profile(&pod, has_host ? &host : NULL, policy,
			      (enum podresolv_profile)profile, &arena);
	arena_done(&arena);
	return 0;
}

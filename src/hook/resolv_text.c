/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Annotations and the file as it is -> the file as it should be, by dns/podresolv. */
#include "hook/resolv_text.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "dns/podresolv/podresolv.h"
#include "hook/dns_config.h"

/* A merge may move an entry (`.` among the search domains) to the end before it stays. */
enum { ROUNDS_MAX = 4 };

bool hook_resolv_text_is_resolver_file(struct slice text)
{
	static const char *const keywords[] = { "nameserver", "search", "domain", "options",
						"sortlist" };
	while (text.n > 0) {
		struct slice line = slice_trim(slice_cut(&text, '\n'));
		if (line.n == 0 || line.p[0] == '#' || line.p[0] == ';')
			continue;
		size_t length = 0;
		while (length < line.n && !ascii_isspace(line.p[length]))
			length++;
		bool known = false;
		for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
			known = known || slice_is((struct slice){ line.p, length }, keywords[i]);
		if (!known)
			return false;
	}
	return true;
}

static int refuse_word(const char *key, const char *word, const char *known, struct err_text err)
{
	err_text_set(err, "annotation %s is '%.64s'; it may be %s", key, word, known);
	return ERR_PARSE;
}

/* Reads the annotations that are single words. */
static int read_words(const struct hook_request *request, struct podresolv_input *input,
		      struct err_text err)
{
	const char *policy = request->annotation.policy;
	const char *profile = request->annotation.profile;
	const char *libc = request->annotation.libc;
	input->policy = PODRESOLV_DEFAULT;
	/* An empty policy is ClusterFirst to Kubernetes; of a cluster the hook knows only what
	 * the runtime wrote into the file. */
	if (policy != NULL &&
	    (!podresolv_policy_from(slice_of(policy), &input->policy) ||
	     (input->policy != PODRESOLV_DEFAULT && input->policy != PODRESOLV_NONE)))
		return refuse_word(HOOK_POLICY, policy,
				   "Default (added to the file as it is) or None", err);
	if (profile != NULL && !podresolv_profile_from(slice_of(profile), &input->profile))
		return refuse_word(HOOK_PROFILE, profile, "kubelet, seed or libc-safe", err);
	if (libc != NULL && !podresolv_libc_from(slice_of(libc), &input->libc))
		return refuse_word(HOOK_LIBC, libc, "glibc, musl or any", err);
	return 0;
}

/* The first refusal is the sentence; how many more there are stands behind it. */
static int check_config(const struct podresolv_input *input, struct arena *arena,
			struct err_text err)
{
	struct podresolv_errors errors = { 0 };
	podresolv_validate(slice_of(podresolv_policy_name(input->policy)), input->config,
			   input->profile, arena, &errors);
	if (errors.n == 0)
		return 0;
	const struct podresolv_error *first = &errors.v[0];
	char more[48] = "";
	if (errors.n > 1)
		snprintf(more, sizeof(more), " (and %zu more)", errors.n - 1);
	err_text_set(err, "annotation " HOOK_CONFIG " is refused: %s%s%.100s: %s%s", first->field,
		     first->value != NULL ? " " : "", first->value != NULL ? first->value : "",
		     first->detail, more);
	return ERR_CONFIG;
}

/* Fails if the profile refuses the merged settings (PD-22); adds the other remarks to the notes. */
static int judge_findings(const struct podresolv_result *result, struct strbuf *notes,
			  struct err_text err)
{
	for (size_t i = 0; i < result->n_findings; i++) {
		const struct podresolv_finding *finding = &result->findings[i];
		if (finding->severity == PODRESOLV_REFUSAL) {
			err_text_set(err, "the profile refuses the settings: %s", finding->message);
			return ERR_CONFIG;
		}
		if (notes != NULL)
			strbuf_addf(notes, "%s: %s\n", finding->reason, finding->message);
	}
	return 0;
}

/* One merge. */
static int merge_once(struct podresolv_input *input, struct slice current, struct arena *arena,
		      struct strbuf *out, struct strbuf *notes, struct err_text err)
{
	struct podresolv_config host = { 0 };
	struct podresolv_result result = { 0 };
	char why[256] = "";
	int r = 0;
	if (input->policy == PODRESOLV_DEFAULT)
		r = podresolv_parse_host(current, true, arena, &host, ERR_TEXT(why));
	if (r < 0) {
		err_text_set(err, "cannot add to the file: %s", why);
		return r;
	}
	input->host = &host;
	r = podresolv_compute(input, arena, &result, err);
	input->host = NULL;
	if (r < 0)
		return r;
	podresolv_render(&result, out);
	return judge_findings(&result, notes, err);
}

/* Merges until the text stays. */
static int merge_until_settled(struct podresolv_input *input, struct slice current,
			       struct arena *arena, struct strbuf *out, struct strbuf *notes,
			       struct err_text err)
{
	int r = merge_once(input, current, arena, out, notes, err);
	for (int round = 1; r == 0 && round < ROUNDS_MAX; round++) {
		struct strbuf next = STRBUF_INIT;
		r = merge_once(input, strbuf_slice(out), arena, &next, NULL, err);
		bool settled = r == 0 && slice_eq(strbuf_slice(out), strbuf_slice(&next));
		struct strbuf before = *out;
		*out = next;
		strbuf_done(&before);
		if (settled)
			return 0;
	}
	if (r == 0) {
		err_text_set(err, "every merge of annotation " HOOK_CONFIG " into the file gives "
				  "another file");
		r = ERR_CONFIG;
	}
	return r;
}

static int read_config(const char *text, struct arena *arena, json_t **ret_tree,
		       struct podresolv_config *ret, struct err_text err)
{
	json_error_t error;
	char why[256] = "";
	if (text == NULL) {
		err_text_set(err, "annotation " HOOK_POLICY " is given without " HOOK_CONFIG);
		return ERR_CONFIG;
	}
	if (strlen(text) > HOOK_DNS_CONFIG_BYTES_MAX) {
		err_text_set(err, "annotation " HOOK_CONFIG " has more than %d bytes",
			     HOOK_DNS_CONFIG_BYTES_MAX);
		return ERR_LIMIT;
	}
	*ret_tree = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (*ret_tree == NULL) {
		err_text_set(err, "annotation " HOOK_CONFIG " is no JSON: line %d, column %d: %s",
			     error.line, error.column, error.text);
		return ERR_PARSE;
	}
	int r = hook_dns_config_read(*ret_tree, arena, ret, ERR_TEXT(why));
	if (r < 0)
		err_text_set(err, "annotation " HOOK_CONFIG " is refused: %s", why);
	return r;
}

int hook_resolv_text_make(const struct hook_request *request, struct slice current,
			  struct strbuf *out, struct strbuf *notes, struct err_text err)
{
	struct podresolv_config config = { 0 };
	struct podresolv_input input = { .config = &config };
	json_t *tree = NULL;
	struct arena arena;
	arena_init(&arena);
	int r = read_words(request, &input, err);
	if (r == 0)
		r = read_config(request->annotation.config, &arena, &tree, &config, err);
	if (r == 0)
		r = check_config(&input, &arena, err);
	if (r == 0)
		r = merge_until_settled(&input, current, &arena, out, notes, err);
	if (r == 0 && out->n > HOOK_RESOLV_BYTES_MAX) {
		err_text_set(err, "the file would have %zu bytes; %d is the limit", out->n,
			     HOOK_RESOLV_BYTES_MAX);
		r = ERR_LIMIT;
	}
	arena_done(&arena);
	json_decref(tree);
	return r;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Computes search lists of policies, reads and writes the annotation that publishes them. */
#include "controller/poddns/search_lists.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "controller/poddns/names.h"
#include "controller/poddns/policy.h"

static bool is_listed(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

size_t poddns_searches(const char *ns, const char *domain, const struct poddns_policy *policy,
		       struct arena *arena, const char *ret[DNS_SEARCH_LIST_NAMES])
{
	const char *base[] = { arena_printf(arena, "%s.svc.%s", ns, domain),
			       arena_printf(arena, "svc.%s", domain), domain };
	size_t count = 0;
	for (size_t i = 0; i < ARRAY_LEN(base); i++) {
		if (!is_listed(policy->remove, policy->n_remove, base[i]))
			ret[count++] = base[i];
	}
	for (size_t i = 0; i < policy->n_add && count < DNS_SEARCH_LIST_NAMES; i++) {
		if (!is_listed(ret, count, policy->add[i]))
			ret[count++] = policy->add[i];
	}
	return count;
}

bool poddns_own_list(const char *ns, const char *domain, const struct poddns_policy *policy,
		     struct arena *arena, struct dns_search_list *ret)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	const char *names[DNS_SEARCH_LIST_NAMES];
	char err[100];
	*ret = (struct dns_search_list){ .n = 0 };
	if (!policy->virtual_suffix || domain[0] == '\0' ||
	    (policy->n_add == 0 && policy->n_remove == 0 && !policy->remove_node))
		return false;
	size_t count = poddns_searches(ns, domain, policy, arena, names);
	for (size_t i = 0; i < count; i++)
		strbuf_addf(&text, "%s ", names[i]);
	if (dns_search_list_parse(strbuf_slice(&text), arena, ret, ERR_TEXT(err)) < 0)
		*ret = (struct dns_search_list){ .n = 0 };
	return true;
}

/* Calls `fn` for each valid list of the annotation's text, until it returns false. */
static void each_list(const char *text, bool (*fn)(void *ctx, const struct dns_search_list *list),
		      void *ctx)
{
	struct slice rest = slice_of(text != NULL ? text : "");
	bool more = true;
	for (int i = 0; more && rest.n != 0 && i < PODDNS_SEARCH_LISTS_MAX; i++) {
		struct slice one = slice_cut(&rest, ';');
		struct dns_search_list list;
		struct arena arena;
		char err[100];
		arena_init(&arena);
		if (dns_search_list_parse(one, &arena, &list, ERR_TEXT(err)) == 0)
			more = fn(ctx, &list);
		arena_done(&arena);
	}
}

struct finding {
	const char *id;
	bool found;
};

static bool compare_id(void *ctx, const struct dns_search_list *list)
{
	struct finding *finding = ctx;
	finding->found = strcmp(list->id, finding->id) == 0;
	return !finding->found;
}

bool poddns_list_is_published(const json_t *ns, const char *id)
{
	struct finding finding = { .id = id };
	each_list(api_annotation(ns, PODDNS_SEARCH_LISTS_KEY), compare_id, &finding);
	if (!finding.found)
		each_list(api_annotation(ns, PODDNS_SEARCH_KEY), compare_id, &finding);
	return finding.found;
}

bool poddns_lists_text_has(const char *text, const char *id)
{
	struct finding finding = { .id = id };
	each_list(text, compare_id, &finding);
	return finding.found;
}

/* ---- what is published ---- */

static bool has_id(const struct dns_search_list *lists, size_t count, const char *id)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(lists[i].id, id) == 0)
			return true;
	}
	return false;
}

void poddns_lists_read(const json_t *ns, struct arena *arena, struct poddns_lists *ret)
{
	const char *text = api_annotation(ns, PODDNS_SEARCH_LISTS_KEY);
	struct slice rest = slice_of(text != NULL ? text : "");
	char err[100];
	*ret = (struct poddns_lists){ .arena = arena };
	for (int i = 0; rest.n != 0 && i < PODDNS_SEARCH_LISTS_MAX; i++) {
		struct dns_search_list *list = &ret->published[ret->n_published];
		if (dns_search_list_parse(slice_cut(&rest, ';'), arena, list, ERR_TEXT(err)) == 0 &&
		    !has_id(ret->published, ret->n_published, list->id))
			ret->n_published++;
	}
}

void poddns_lists_use(struct poddns_lists *lists, const char *id, const char *text)
{
	struct dns_search_list *list = &lists->carried[lists->n_carried];
	char err[100];
	for (size_t i = 0; i < lists->n_published; i++) {
		if (strcmp(lists->published[i].id, id) == 0) {
			lists->is_used[i] = true;
			return;
		}
	}
	if (text == NULL || lists->n_carried == PODDNS_SEARCH_LISTS_MAX ||
	    has_id(lists->carried, lists->n_carried, id))
		return;
	if (dns_search_list_parse(slice_of(text), lists->arena, list, ERR_TEXT(err)) == 0 &&
	    strcmp(list->id, id) == 0)
		lists->n_carried++;
}

struct choice {
	const struct dns_search_list *list[PODDNS_SEARCH_LISTS_MAX];
	size_t n;
};

static bool is_chosen(const struct choice *choice, const char *id)
{
	for (size_t i = 0; i < choice->n; i++) {
		if (strcmp(choice->list[i]->id, id) == 0)
			return true;
	}
	return false;
}

static bool choose_list(struct choice *choice, const struct dns_search_list *list)
{
	if (is_chosen(choice, list->id))
		return true;
	if (choice->n == PODDNS_SEARCH_LISTS_MAX)
		return false;
	choice->list[choice->n++] = list;
	return true;
}

/* When the list was noted; now_ns if it was not. */
static uint64_t time_of(const struct poddns_list_times *times, const char *id, uint64_t now_ns)
{
	for (size_t i = 0; i < times->n; i++) {
		if (strcmp(times->v[i].id, id) == 0)
			return times->v[i].since_ns;
	}
	return now_ns;
}

static void note_time(struct poddns_list_times *times, const char *id, uint64_t since_ns)
{
	assert(times->n < PODDNS_SEARCH_LISTS_MAX);
	snprintf(times->v[times->n].id, sizeof(times->v[0].id), "%s", id);
	times->v[times->n++].since_ns = since_ns;
}

static void end_sooner(uint64_t *again_ns, uint64_t after_ns)
{
	if (*again_ns == 0 || after_ns < *again_ns)
		*again_ns = after_ns;
}

/* Those that a pod's spec named a while ago, by their place among the published ones. */
static void find_in_specs(const struct poddns_lists *lists, uint64_t now_ns,
			  struct poddns_list_times *in_specs, uint64_t *again_ns,
			  bool ret[PODDNS_SEARCH_LISTS_MAX])
{
	const uint64_t keep_ns = PODDNS_SPEC_LIST_S * NS_PER_S;
	const struct poddns_list_times before = *in_specs;
	in_specs->n = 0;
	for (size_t i = 0; i < lists->n_published; i++) {
		const char *id = lists->published[i].id;
		uint64_t ago_ns = now_ns - time_of(&before, id, now_ns - keep_ns);
		ret[i] = !lists->is_used[i] && ago_ns < keep_ns;
		if (!ret[i])
			continue;
		note_time(in_specs, id, now_ns - ago_ns);
		end_sooner(again_ns, keep_ns - ago_ns);
	}
}

/* Those whose time has not come; they yield to all others. */
static void choose_unused(struct choice *choice, const struct poddns_lists *lists, uint64_t now_ns,
			  struct poddns_list_times *unused, uint64_t *again_ns)
{
	const uint64_t keep_ns = PODDNS_UNUSED_LIST_S * NS_PER_S;
	const struct poddns_list_times before = *unused;
	unused->n = 0;
	for (size_t i = 0; i < lists->n_published; i++) {
		const struct dns_search_list *list = &lists->published[i];
		uint64_t since_ns = time_of(&before, list->id, now_ns);
		size_t chosen = choice->n;
		if (now_ns - since_ns >= keep_ns || !choose_list(choice, list) ||
		    choice->n == chosen)
			continue;
		note_time(unused, list->id, since_ns);
		end_sooner(again_ns, since_ns + keep_ns - now_ns);
	}
}

static void write_list(const struct dns_search_list *list, struct strbuf *out)
{
	strbuf_addf(out, "%s%s", out->n != 0 ? "; " : "", list->text);
}

/* Lists that are published keep their order, so that the annotation does not change with each pod that
 * comes or goes. */
static void write_choice(const struct choice *choice, const struct poddns_lists *lists,
			 const struct dns_search_list *first, struct strbuf *out)
{
	strbuf_reset(out);
	strbuf_adds(out, "");
	if (first != NULL)
		write_list(first, out);
	for (size_t i = 0; i < lists->n_published + lists->n_carried; i++) {
		const struct dns_search_list *list =
			i < lists->n_published ? &lists->published[i]
					       : &lists->carried[i - lists->n_published];
		bool is_first = first != NULL && strcmp(list->id, first->id) == 0;
		if (!is_first && is_chosen(choice, list->id))
			write_list(list, out);
	}
}

bool poddns_lists_choose(const struct poddns_lists *lists, const struct dns_search_list *current,
			 uint64_t now_ns, struct poddns_list_memory *memory, uint64_t *ret_again_ns,
			 struct strbuf *out)
{
	struct choice choice = { .n = 0 };
	bool is_needed[PODDNS_SEARCH_LISTS_MAX];
	size_t n_needed = 0;
	*ret_again_ns = 0;
	find_in_specs(lists, now_ns, &memory->in_specs, ret_again_ns, is_needed);
	for (size_t i = 0; i < lists->n_published; i++) {
		is_needed[i] |= lists->is_used[i];
		n_needed += is_needed[i] &&
			    (current == NULL || strcmp(lists->published[i].id, current->id) != 0);
	}
	bool fits = current == NULL || n_needed < PODDNS_SEARCH_LISTS_MAX;
	if (current != NULL && fits)
		choose_list(&choice, current);
	for (size_t i = 0; i < lists->n_published; i++) {
		if (is_needed[i])
			choose_list(&choice, &lists->published[i]);
	}
	for (size_t i = 0; i < lists->n_carried; i++)
		choose_list(&choice, &lists->carried[i]);
	choose_unused(&choice, lists, now_ns, &memory->unused, ret_again_ns);
	write_choice(&choice, lists, fits ? current : NULL, out);
	return fits;
}

bool poddns_lists_drops(const struct poddns_lists *lists, const char *text)
{
	for (size_t i = 0; i < lists->n_published; i++) {
		if (!poddns_lists_text_has(text, lists->published[i].id))
			return true;
	}
	return false;
}

void poddns_lists_remember(const struct poddns_lists *before, const struct poddns_lists *found,
			   uint64_t now_ns, struct poddns_list_memory *memory)
{
	assert(before->n_published == found->n_published);
	const struct poddns_list_times known = memory->in_specs;
	memory->in_specs.n = 0;
	for (size_t i = 0; i < found->n_published; i++) {
		const char *id = found->published[i].id;
		bool is_new = found->is_used[i] && !before->is_used[i];
		uint64_t since_ns = is_new ? now_ns : time_of(&known, id, UINT64_MAX);
		if (since_ns != UINT64_MAX)
			note_time(&memory->in_specs, id, since_ns);
	}
}

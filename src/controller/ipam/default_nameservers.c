/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The default name servers of addresses, and what guests cannot hold of any. */
#include "controller/ipam/default_nameservers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/machine/merge.h"
#include "api/machine/nameservers.h"
#include "api/meta.h"
#include "api/machine/problem.h"
#include "base/arena.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/ipam/state.h"
#include "controller/ipam/watches.h"
#include "kube/decode/tree.h"
#include "kube/events/events.h"

#define LOG_AREA "controller/ipam"

enum { PROBLEMS_MAX = 5 }; /* in the message; further ones are counted */

struct ipam_default_memory {
	pthread_mutex_t lock; /* guards all below */
	char *version;	      /* of the ConfigMap that was read last; NULL: none */
	json_t *good;	      /* the last value without problems; NULL: none */
};

struct ipam_default_memory *ipam_default_memory_new(void)
{
	struct ipam_default_memory *memory = xcalloc(1, sizeof(*memory));
	pthread_mutex_init(&memory->lock, NULL);
	return memory;
}

void ipam_default_memory_free(struct ipam_default_memory *memory)
{
	if (memory == NULL)
		return;
	pthread_mutex_destroy(&memory->lock);
	free(memory->version);
	json_decref(memory->good);
	free(memory);
}

static json_t *texts_of(const struct machine_list *list)
{
	json_t *texts = json_array();
	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(texts, json_string(list->v[i]));
	return texts;
}

/* Not warnings: with these the value can be used. */
static void list_errors(const struct machine_problems *problems, struct strbuf *out)
{
	size_t listed = 0;
	for (size_t i = 0; i < problems->n && listed < PROBLEMS_MAX; i++) {
		const struct machine_problem *problem = &problems->v[i];
		if (!problem->warning)
			strbuf_addf(out, "%s%s: %s", listed++ > 0 ? "; " : "", problem->field,
				    problem->text);
	}
	if (problems->n_errors > listed)
		strbuf_addf(out, "; and %zu more problems", problems->n_errors - listed);
}

/* The entries that guests can use, in canonical form, and what is wrong with others. */
static struct ipam_default_nameservers read_config(const json_t *config)
{
	struct arena arena;
	struct strbuf text = STRBUF_INIT;
	struct ipam_default_nameservers defaults = { 0 };
	arena_init(&arena);
	struct machine_problems problems = { .arena = &arena };
	struct machine_nameservers read = { 0 };
	IGNORE(machine_parse_default_nameservers(
		api_text_slice(api_get(config, "data.nameservers")), config, "data.nameservers",
		&problems, &read));
	list_errors(&problems, &text);
	if (problems.n_errors > 0)
		defaults.problems = xstrdup(text.s);
	if (read.search.n + read.addresses.n > 0)
		defaults.value = json_pack("{s:o, s:o}", "search", texts_of(&read.search),
					   "addresses", texts_of(&read.addresses));
	strbuf_done(&text);
	arena_done(&arena);
	return defaults;
}

static void report_problems(const struct controller_ctx *ctx, const json_t *config,
			    const char *problems)
{
	log_warn(LOG_AREA, "ConfigMap '%s': %s", IPAM_CONFIG_NAME, problems);
	if (ctx->events == NULL)
		return;
	events_emit(ctx->events,
		    &(struct event){ .regarding = config,
				     .warning = true,
				     .reason = "InvalidNameservers",
				     .action = "Read" },
		    "%s", problems);
}

/* Settings that would be ignored without a word. */
static void report_settings(const struct controller_ctx *ctx, const json_t *config)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	const char *key;
	json_t *value;
	size_t n = 0;
	json_object_foreach (api_tree(json_object_get(config, "data")), key, value) {
		bool is_capv = strcmp(key, "capv") == 0;
		bool is_wrong = is_capv ? strcmp(api_text(value), "true") != 0 &&
						  strcmp(api_text(value), "false") != 0
					: strcmp(key, "nameservers") != 0;
		if (!is_wrong || n++ >= PROBLEMS_MAX)
			continue;
		strbuf_adds(&text, n > 1 ? "; " : "");
		if (is_capv)
			strbuf_addf(
				&text,
				"data.capv must be true or false, not '%.100s': it counts as false",
				api_text(value));
		else
			strbuf_addf(
				&text,
				"data has the unknown key '%.100s': it may have nameservers and "
				"capv",
				key);
	}
	if (n == 0)
		return;
	log_warn(LOG_AREA, "ConfigMap '%s': %s", IPAM_CONFIG_NAME, text.s);
	if (ctx->events != NULL)
		events_emit(ctx->events,
			    &(struct event){ .regarding = config,
					     .warning = true,
					     .reason = "InvalidSettings",
					     .action = "Read" },
			    "%s", text.s);
}

/* Replaces the value by the last one without problems, or remembers it. True: this version of the
 * ConfigMap is new. */
static bool remember(struct ipam_default_memory *memory, const char *version,
		     struct ipam_default_nameservers *defaults)
{
	pthread_mutex_lock(&memory->lock);
	bool is_new = memory->version == NULL || strcmp(memory->version, version) != 0;
	if (is_new) {
		free(memory->version);
		memory->version = xstrdup(version);
	}
	if (is_new && defaults->problems == NULL) {
		json_decref(memory->good);
		memory->good = json_deep_copy(defaults->value);
	} else if (defaults->problems != NULL && memory->good != NULL) {
		json_decref(defaults->value);
		defaults->value = json_deep_copy(memory->good);
	}
	pthread_mutex_unlock(&memory->lock);
	return is_new;
}

struct ipam_default_nameservers ipam_default_nameservers_of(const struct controller_ctx *ctx)
{
	struct ipam_default_memory *memory = ipam_state_of(ctx)->defaults;
	struct ipam_default_nameservers defaults = { 0 };
	struct kube_obj *config = kube_store_get(ctx->stores[IPAM_CONFIG], slice_of(ctx->ns),
						 SLICE(IPAM_CONFIG_NAME));
	if (config != NULL)
		defaults = read_config(kube_tree_of(config));
	/* Without a ConfigMap there is no default, which is as valid as any other. */
	bool is_new = remember(memory, config != NULL ? config->rv : "", &defaults);
	if (is_new && defaults.problems != NULL)
		report_problems(ctx, kube_tree_of(config), defaults.problems);
	if (is_new && config != NULL)
		report_settings(ctx, kube_tree_of(config));
	kube_obj_unref(config);
	return defaults;
}

void ipam_default_nameservers_done(struct ipam_default_nameservers *defaults)
{
	json_decref(defaults->value);
	free(defaults->problems);
	*defaults = (struct ipam_default_nameservers){ 0 };
}

/* ---- limits of guests ---- */

void ipam_list_cut_nameservers(const json_t *nameservers, struct strbuf *out)
{
	struct arena arena;
	arena_init(&arena);
	struct machine_problems problems = { .arena = &arena };
	struct machine_device device = { 0 };
	struct machine machine = { .devices = &device, .n_devices = 1 };
	struct machine_merged merged = { 0 };
	machine_read_nameservers(nameservers, NULL, "", &problems, &device.from_addresses);
	machine_merge(&machine, &(struct machine_merge_opts){ 0 }, &arena, &merged);
	for (size_t i = 0; i < merged.n_cut; i++)
		strbuf_addf(out, "%s%s '%s'", i > 0 ? ", " : "",
			    merged.cut[i].is_domain ? "search domain" : "server",
			    merged.cut[i].text);
	arena_done(&arena);
}

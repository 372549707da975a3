/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks the API again and again: for each object if few are left, else for lists of their namespaces. */
#include "cmd/objects/apply_wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text/duration.h"
#include "cmd/objects/list_objects.h"
#include "cmd/objects/settled.h"

enum {
	FEW = 16,	 /* are asked for one by one */
	PAUSE_MS = 250,	 /* between two rounds, at least */
	PAUSE_TIMES = 4, /* and so many times as long as the last one took */
	LINE_MS = 2000,	 /* between two lines where there is no terminal */
	BAR = 30,	 /* characters */
};

struct apply_wait_object {
	const struct api_kind *kind;
	char *ns, *name;
	enum settled_state state;
	char *why;    /* NULL: it was not read yet */
	bool is_read; /* in this round */
};

static void write_key(struct strbuf *out, const struct api_kind *kind, const char *ns,
		      const char *name)
{
	strbuf_reset(out);
	strbuf_addf(out, "%s/%s/%s/%s", kind->group, kind->kind, ns, name);
}

void apply_wait_init(struct apply_wait *wait, struct kubecli *cli, uint64_t timeout_ns)
{
	*wait = (struct apply_wait){ .cli = cli, .timeout_ns = timeout_ns };
	map_init(&wait->objects);
}

void apply_wait_done(struct apply_wait *wait)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&wait->objects, &pos)) != NULL) {
		struct apply_wait_object *object = entry->value;
		free(object->ns);
		free(object->name);
		free(object->why);
		free(object);
	}
	map_done(&wait->objects);
}

void apply_wait_add(struct apply_wait *wait, const struct kube_ref *ref)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	const char *ns = ref->ns != NULL ? ref->ns : "";
	write_key(&key, ref->kind, ns, ref->name);
	if (!settled_is_reported(ref->kind) || map_has(&wait->objects, strbuf_slice(&key)))
		return;
	struct apply_wait_object *object = xcalloc(1, sizeof(*object));
	*object = (struct apply_wait_object){ .kind = ref->kind,
					      .ns = xstrdup(ns),
					      .name = xstrdup(ref->name) };
	map_set(&wait->objects, strbuf_slice(&key), object);
}

/* ---- one round ---- */

static void set_state(struct apply_wait_object *object, enum settled_state state, const char *why)
{
	object->is_read = true;
	object->state = state;
	free(object->why);
	object->why = xstrdup(why);
}

static void judge_object(struct apply_wait_object *object, const json_t *tree)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	strbuf_adds(&why, "");
	enum settled_state state = settled_state_of(tree, &why);
	set_state(object, state, why.s);
}

/* False after a message. */
static bool read_object(const struct apply_wait *wait, struct apply_wait_object *object)
{
	struct kube_ref ref = { .kind = object->kind, .ns = object->ns, .name = object->name };
	struct kube_status status = { 0 };
	json_t *tree = NULL;
	int r = kube_get(wait->cli->conn, &ref, &tree, &status);
	if (r == 0)
		judge_object(object, tree);
	else if (r == ERR_NOTFOUND)
		set_state(object, SETTLED_FAILED, "it was deleted");
	else
		kubecli_say_status(wait->cli, object->name, &status);
	kube_status_done(&status);
	json_decref(tree);
	return r == 0 || r == ERR_NOTFOUND;
}

/* All that are waited for and are of this one's kind and namespace. False after a message. */
static bool read_like(const struct apply_wait *wait, const struct apply_wait_object *like)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	const struct map_entry *entry;
	json_t *list = NULL, *tree;
	size_t i, pos = 0;
	if (!list_objects(wait->cli, like->kind, like->kind->namespaced ? like->ns : NULL,
			  LIST_OBJECTS_NEEDED, &list))
		return false;
	json_array_foreach (list, i, tree) {
		write_key(&key, like->kind, api_namespace(tree), api_name(tree));
		struct apply_wait_object *object = map_get(&wait->objects, strbuf_slice(&key));
		if (object != NULL)
			judge_object(object, tree);
	}
	json_decref(list);
	while ((entry = map_next(&wait->objects, &pos)) != NULL) {
		struct apply_wait_object *object = entry->value;
		if (!object->is_read && object->kind == like->kind &&
		    strcmp(object->ns, like->ns) == 0)
			set_state(object, SETTLED_FAILED, "it was deleted");
	}
	return true;
}

static void count_states(struct apply_wait *wait)
{
	const struct map_entry *entry;
	size_t pos = 0;
	wait->n_done = 0;
	wait->n_failed = 0;
	while ((entry = map_next(&wait->objects, &pos)) != NULL) {
		const struct apply_wait_object *object = entry->value;
		wait->n_done += object->state == SETTLED_DONE;
		wait->n_failed += object->state == SETTLED_FAILED;
	}
}

static size_t count_waiting(const struct apply_wait *wait)
{
	return wait->objects.n - wait->n_done - wait->n_failed;
}

/* Those that are not settled; failed ones, too, since controllers try again. */
static bool read_round(struct apply_wait *wait)
{
	const struct map_entry *entry;
	bool are_few = wait->objects.n - wait->n_done <= FEW;
	size_t pos = 0;
	while ((entry = map_next(&wait->objects, &pos)) != NULL) {
		struct apply_wait_object *object = entry->value;
		object->is_read = object->state == SETTLED_DONE;
	}
	pos = 0;
	while ((entry = map_next(&wait->objects, &pos)) != NULL) {
		struct apply_wait_object *object = entry->value;
		if (!object->is_read &&
		    !(are_few ? read_object(wait, object) : read_like(wait, object)))
			return false;
	}
	count_states(wait);
	return true;
}

/* ---- progress ---- */

static void print_bar(const struct apply_wait *wait)
{
	size_t filled = (wait->n_done + wait->n_failed) * BAR / wait->objects.n;
	fputs("\r[", stderr);
	for (size_t i = 0; i < BAR; i++)
		fputc(i < filled ? '#' : '.', stderr);
	fputs("] ", stderr);
}

static void show_progress(struct apply_wait *wait, bool is_last)
{
	uint64_t now = clock_mono_ns();
	size_t counts = wait->n_done * (wait->objects.n + 1) + wait->n_failed + 1;
	bool has_terminal = isatty(STDERR_FILENO);
	bool is_due = wait->shown == 0 || is_last || now - wait->shown_ns >= LINE_MS * NS_PER_MS;
	if (!has_terminal && (counts == wait->shown || !is_due))
		return;
	wait->shown = counts;
	wait->shown_ns = now;
	if (has_terminal)
		print_bar(wait);
	fprintf(stderr, "%zu of %zu settled, %zu failed, %llu s%s", wait->n_done, wait->objects.n,
		wait->n_failed, (unsigned long long)((now - wait->began_ns) / NS_PER_S),
		has_terminal && !is_last ? "\033[K"
		: has_terminal		 ? "\033[K\n"
					 : "\n");
	fflush(stderr);
}

static void report_object(const struct apply_wait *wait, const struct apply_wait_object *object)
{
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
	char time[64];
	if (object->state == SETTLED_DONE)
		return;
	kubecli_name(&name, object->kind, object->name);
	if (object->ns[0] != '\0')
		strbuf_addf(&name, " in %s", object->ns);
	if (object->state == SETTLED_FAILED)
		fprintf(stderr, "%s failed: %s\n", name.s, object->why);
	else
		fprintf(stderr, "%s is not settled after %s: %s\n", name.s,
			duration_str((int64_t)wait->timeout_ns, time, sizeof(time)),
			object->why != NULL ? object->why : "it was not read");
}

/* ---- the whole ---- */

static void pause_for(uint64_t pause_ns)
{
	struct timespec pause = { .tv_sec = (time_t)(pause_ns / NS_PER_S),
				  .tv_nsec = (long)(pause_ns % NS_PER_S) };
	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

/* False: the API does not answer. */
static bool read_until_settled(struct apply_wait *wait)
{
	uint64_t end_ns = wait->began_ns + wait->timeout_ns;
	for (;;) {
		uint64_t began = clock_mono_ns();
		if (!read_round(wait))
			return false;
		uint64_t now = clock_mono_ns();
		if (count_waiting(wait) == 0 || now >= end_ns)
			return true;
		show_progress(wait, false);
		uint64_t pause_ns = MAX(PAUSE_MS * NS_PER_MS, PAUSE_TIMES * (now - began));
		pause_for(MIN(pause_ns, end_ns - now));
	}
}

bool apply_wait_run(struct apply_wait *wait)
{
	const struct map_entry *entry;
	size_t pos = 0;
	if (wait->objects.n == 0)
		return true;
	wait->began_ns = clock_mono_ns();
	show_progress(wait, false);
	bool is_read = read_until_settled(wait);
	show_progress(wait, true);
	while (is_read && (entry = map_next(&wait->objects, &pos)) != NULL)
		report_object(wait, entry->value);
	return is_read && wait->n_done == wait->objects.n;
}

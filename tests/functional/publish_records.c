/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drives the publisher of record sets with any provider, for tests with real name servers. Reads commands from
 * stdin, one JSON object in a line, and answers each with one:
 *
 *   {"type": "powerdns", "credentials": {"server": URL, ...}, "skew": 0, "requests": [REQUEST...]}
 *
 * skew: by how many seconds our clock is wrong.
 *
 * REQUEST: {"zone": ID (or none), "patienceMs": N, "maybeApplied": true, "edits": [EDIT...]}
 * EDIT: {"name", "type": "A", "ttl": 60, "values": [...] (none: deletes), "owner", "guard": "none" | "absent" |
 * "equal" | "owned", "before": {"ttl", "values"}}
 *
 * All requests of a command are submitted at once; the answer comes when all have ended:
 *
 *   {"results": [{"code", "error", "zone"}], "ms": N, "calls": {"find_zones", "read", "apply", "settle"}} */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/clock_test.h"
#include "base/mem.h"
#include "dns/types.h"
#include "net/loop.h"
#include "provider/publisher.h"

static struct loop *loop;
static struct publisher *publisher;
static size_t n_waiting;

/* The provider, with a counter in front of its calls. */
static struct provider counted;
static const struct provider *real;
static unsigned calls[PROVIDER_JOB_KINDS];

/* ---- the clock ---- */

static int64_t skew_s;

static uint64_t read_mono_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t read_wall_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)((int64_t)now.tv_sec + skew_s) * NS_PER_S;
}

/* ---- commands ---- */

static NORETURN void die(const char *what)
{
	fprintf(stderr, "publish-records: %s\n", what);
	exit(1);
}

static void count_and_start(struct provider_account *account, struct provider_job *job)
{
	calls[job->kind]++;
	real->start(account, job);
}

static const char *text_of(const json_t *object, const char *member)
{
	return json_string_value(json_object_get(object, member));
}

static enum provider_guard guard_of(const json_t *edit)
{
	static const char *const names[] = {
		[PROVIDER_GUARD_NONE] = "none",
		[PROVIDER_GUARD_ABSENT] = "absent",
		[PROVIDER_GUARD_EQUAL] = "equal",
		[PROVIDER_GUARD_OWNED] = "owned",
	};
	const char *word = text_of(edit, "guard");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (word == NULL || strcmp(word, names[i]) == 0)
			return (enum provider_guard)i;
	}
	die("unknown guard");
}

static void read_values(struct arena *arena, const json_t *tree, struct provider_rrset *set)
{
	const json_t *list = json_object_get(tree, "values");
	size_t n = json_array_size(list);
	const char **values = arena_calloc(arena, (n + 1) * sizeof(*values));
	for (size_t i = 0; i < n; i++)
		values[i] = json_string_value(json_array_get(list, i));
	set->n_values = provider_values_sort(values, n);
	set->values = values;
	set->ttl_s = (uint32_t)json_integer_value(json_object_get(tree, "ttl"));
}

static void read_edit(struct arena *arena, const json_t *tree, struct provider_edit *edit)
{
	int type = dns_type_parse(slice_of(text_of(tree, "type")), true);
	if (type < 0 || text_of(tree, "name") == NULL)
		die("an edit needs a name and a type");
	edit->set.name = text_of(tree, "name");
	edit->set.type = (uint16_t)type;
	edit->set.owner = text_of(tree, "owner");
	read_values(arena, tree, &edit->set);
	edit->guard = guard_of(tree);
	if (edit->guard != PROVIDER_GUARD_EQUAL && json_object_get(tree, "before") == NULL)
		return;
	edit->before = edit->set;
	read_values(arena, json_object_get(tree, "before"), &edit->before);
}

static void count_done(struct publisher_request *request)
{
	(void)request;
	n_waiting--;
}

static void submit_request(struct arena *arena, const json_t *tree,
			   struct publisher_account *account, struct publisher_request *request)
{
	const json_t *list = json_object_get(tree, "edits");
	size_t n = json_array_size(list);
	struct provider_edit *edits = arena_calloc(arena, (n + 1) * sizeof(*edits));
	for (size_t i = 0; i < n; i++)
		read_edit(arena, json_array_get(list, i), &edits[i]);
	json_int_t patience_ms = json_integer_value(json_object_get(tree, "patienceMs"));
	*request = (struct publisher_request){
		.account = account,
		.zone = text_of(tree, "zone"),
		.edits = edits,
		.n_edits = n,
		.maybe_applied = json_is_true(json_object_get(tree, "maybeApplied")),
		.checks_zone = json_is_true(json_object_get(tree, "checksZone")),
		.only_reads = json_is_true(json_object_get(tree, "onlyReads")),
		.patience_ns = (uint64_t)patience_ms * NS_PER_MS,
		.done = count_done,
	};
	publisher_submit(publisher, request);
}

static void print_answer(const struct publisher_request *requests, size_t count, uint64_t began)
{
	json_t *results = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(
			results,
			json_pack("{s:s, s:s, s:s}", "code", provider_code_label(requests[i].code),
				  "error", requests[i].error != NULL ? requests[i].error : "",
				  "zone", requests[i].zone_id != NULL ? requests[i].zone_id : ""));
	json_t *answer = json_pack("{s:o, s:f, s:{s:i, s:i, s:i, s:i}}", "results", results, "ms",
				   (double)(clock_mono_ns() - began) / 1e6, "calls", "find_zones",
				   (int)calls[PROVIDER_FIND_ZONES], "read",
				   (int)calls[PROVIDER_READ], "apply", (int)calls[PROVIDER_APPLY],
				   "settle", (int)calls[PROVIDER_SETTLE]);
	char *text = json_dumps(answer, JSON_COMPACT);
	puts(text != NULL ? text : "{}");
	free(text);
	json_decref(answer);
}

static struct publisher_account *open_account(struct arena *arena, const json_t *command)
{
	json_t *keys = json_object_get(command, "credentials");
	struct provider_credential *credentials =
		arena_calloc(arena, (json_object_size(keys) + 1) * sizeof(*credentials));
	size_t n = 0;
	const char *name;
	json_t *value;
	json_object_foreach (keys, name, value)
		credentials[n++] =
			(struct provider_credential){ name, slice_of(json_string_value(value)) };
	struct publisher_account_conf conf = { .provider = &counted,
					       .credentials = credentials,
					       .n_credentials = n };
	struct publisher_account *account = NULL;
	char err[256] = "";
	if (publisher_account_open(publisher, &conf, &account, ERR_TEXT(err)) == 0)
		return account;
	json_t *answer = json_pack("{s:s}", "refused", err);
	char *text = json_dumps(answer, JSON_COMPACT);
	puts(text);
	free(text);
	json_decref(answer);
	return NULL;
}

static void run_command(const json_t *command)
{
	CLEANUP(arena_done) struct arena arena;
	const json_t *list = json_object_get(command, "requests");
	size_t n = json_array_size(list);
	const char *type = text_of(command, "type");
	arena_init(&arena);
	const struct provider *provider = type != NULL ? provider_find(type) : NULL;
	if (provider == NULL || (real != NULL && real != provider))
		die("unknown type, or another one than before");
	real = provider;
	counted = *real;
	counted.start = count_and_start;
	struct publisher_account *account = open_account(&arena, command);
	if (account == NULL)
		return;
	skew_s = json_integer_value(json_object_get(command, "skew"));
	struct publisher_request *requests = xcalloc(n + 1, sizeof(*requests));
	memset(calls, 0, sizeof(calls));
	uint64_t began = clock_mono_ns();
	n_waiting = n;
	loop_now_refresh(loop);
	for (size_t i = 0; i < n; i++)
		submit_request(&arena, json_array_get(list, i), account, &requests[i]);
	while (n_waiting > 0)
		loop_turn(loop, true);
	print_answer(requests, n, began);
	for (size_t i = 0; i < n; i++)
		publisher_request_release(&requests[i]);
	publisher_account_unref(account);
	free(requests);
}

int main(void)
{
	static const struct clock_source clocks = { read_mono_ns, read_wall_ns };
	char *line = NULL;
	size_t room = 0;
	clock_set_source(&clocks);
	loop = loop_new();
	if (loop == NULL)
		die("no loop");
	publisher = publisher_new(&(struct publisher_conf){ .loop = loop });
	while (getline(&line, &room, stdin) > 0) {
		json_t *command = json_loads(line, 0, NULL);
		if (command == NULL)
			die("malformed command");
		run_command(command);
		fflush(stdout);
		json_decref(command);
	}
	free(line);
	publisher_free(publisher);
	loop_free(loop);
	return 0;
}

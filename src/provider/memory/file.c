/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and writes the file of a server. It is for tests: a file that cannot be written ends the
 * process. */
#include "provider/memory/file_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "base/strbuf.h"

enum { FILE_MAX_BYTES = 64 << 20, WORDS_MAX = 512 };

static const char *const call_names[PROVIDER_JOB_KINDS] = {
	[PROVIDER_FIND_ZONES] = "find_zones", [PROVIDER_READ] = "read",
	[PROVIDER_APPLY] = "apply",	      [PROVIDER_SETTLE] = "settle",
	[PROVIDER_SERIAL] = "serial",
};

static const struct {
	const char *name;
	enum memory_fault fault;
	bool kills_before, kills_after;
} faults[] = {
	{ "throttle", MEMORY_THROTTLE, false, false },
	{ "unavailable", MEMORY_UNAVAILABLE, false, false },
	{ "lost_before", MEMORY_LOST_BEFORE, false, false },
	{ "lost_after", MEMORY_LOST_AFTER, false, false },
	{ "hang", MEMORY_HANG, false, false },
	{ "deny", MEMORY_DENY, false, false },
	{ "kill_before", MEMORY_NO_FAULT, true, false },
	{ "kill_after", MEMORY_NO_FAULT, false, true },
};

struct memory_file {
	char *path;
	int lock; /* descriptor of the lock; -1: not held */
	bool kills_after;
	struct strbuf rest; /* lines that are not zones or sets, as they were read */
};

static _Noreturn void stop_test(const char *path)
{
	log_error("provider/memory", "%s: %s", path, strerror(errno));
	abort();
}

/* ---- words ---- */

static char *unescape(char *text)
{
	char *to = text;
	for (const char *at = text; *at != '\0'; at++) {
		char hex[3] = { at[0] == '%' ? at[1] : '\0', '\0', '\0' };
		if (hex[0] != '\0' && at[2] != '\0') {
			hex[1] = at[2];
			*to++ = (char)strtoul(hex, NULL, 16);
			at += 2;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
	return text;
}

static void add_word(struct strbuf *out, const char *text)
{
	strbuf_addc(out, ' ');
	strbuf_add_url(out, slice_of(text));
}

/* ---- reading ---- */

static void read_limit(struct memory_server *server, const char *name, double number)
{
	if (strcmp(name, "calls_per_s") == 0)
		server->calls_per_s = number;
	else if (strcmp(name, "burst") == 0)
		server->burst = number;
	else if (strcmp(name, "one_write") == 0)
		server->one_write = number != 0;
	else if (strcmp(name, "hides_bad") == 0)
		server->hides_bad = number != 0;
	else if (strcmp(name, "latency_ms") == 0)
		server->latency_ns = (uint64_t)(number * (double)NS_PER_MS);
	else if (strcmp(name, "settle_ms") == 0)
		server->settle_ns = (uint64_t)(number * (double)NS_PER_MS);
}

static void read_zone(struct memory_server *server, char **words, size_t count)
{
	memory_store_add_zone(&server->store, words[1], words[2], strcmp(words[3], "private") == 0);
	server->store.zones.v[server->store.zones.n - 1].serial =
		count == 5 ? (uint32_t)strtoul(words[4], NULL, 10) : 0;
}

static void read_set(struct memory_server *server, char **words, size_t count)
{
	struct provider_rrset set = { .name = words[2],
				      .type = (uint16_t)strtoul(words[3], NULL, 10),
				      .ttl_s = (uint32_t)strtoul(words[4], NULL, 10),
				      .owner = strcmp(words[5], "-") != 0 ? words[5] : NULL,
				      .values = (const char *const *)(words + 7),
				      .n_values = count - 7 };
	memory_store_put(&server->store, words[1], &set, strcmp(words[6], "foreign") == 0);
}

static void read_line(struct memory_server *server, char *line)
{
	char *words[WORDS_MAX], *copy = xstrdup(line), *at = line, *word;
	size_t n = 0;
	while (n < WORDS_MAX && (word = strsep(&at, " ")) != NULL)
		words[n++] = unescape(word);
	if ((n == 4 || n == 5) && strcmp(words[0], "zone") == 0)
		read_zone(server, words, n);
	else if (n > 7 && strcmp(words[0], "set") == 0)
		read_set(server, words, n);
	else if (n > 1) /* kept as they are */
		strbuf_addf(&server->file->rest, "%s\n", copy);
	if (n == 3 && strcmp(words[0], "limit") == 0)
		read_limit(server, words[1], strtod(words[2], NULL));
	if (n == 2 && strcmp(words[0], "say") == 0) {
		free(server->said);
		server->said = xstrdup(words[1]);
	}
	free(copy);
}

void memory_file_begin(struct memory_server *server)
{
	struct memory_file *file = server->file;
	CLEANUP(freep) char *lock = xasprintf("%s.lock", file->path);
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	file->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file->lock < 0 || flock(file->lock, LOCK_EX) < 0)
		stop_test(lock);
	memory_store_done(&server->store);
	memory_store_init(&server->store);
	strbuf_reset(&file->rest);
	file->kills_after = false;
	if (readfile_path(file->path, FILE_MAX_BYTES, 1000, &text) < 0)
		return;
	for (char *at = text.s, *line; (line = strsep(&at, "\n")) != NULL;)
		read_line(server, line);
}

/* ---- writing ---- */

static void write_set(const struct memory_zone *zone, const struct provider_rrset *set,
		      bool is_foreign, struct strbuf *out)
{
	strbuf_adds(out, "set");
	add_word(out, zone->id);
	add_word(out, set->name);
	strbuf_addf(out, " %u %u", (unsigned)set->type, (unsigned)set->ttl_s);
	add_word(out, set->owner != NULL ? set->owner : "-");
	strbuf_adds(out, is_foreign ? " foreign" : " ours");
	for (size_t i = 0; i < set->n_values; i++)
		add_word(out, set->values[i]);
	strbuf_addc(out, '\n');
}

struct writer {
	const struct memory_zone *zone;
	struct strbuf *out;
};

static void write_one(void *ctx, const struct provider_rrset *set, bool is_foreign)
{
	const struct writer *writer = ctx;
	write_set(writer->zone, set, is_foreign, writer->out);
}

static void save_file(struct memory_server *server)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	strbuf_adds(&out, server->file->rest.s);
	for (size_t i = 0; i < server->store.zones.n; i++) {
		const struct memory_zone *zone = &server->store.zones.v[i];
		struct writer writer = { zone, &out };
		strbuf_adds(&out, "zone");
		add_word(&out, zone->id);
		add_word(&out, zone->name);
		strbuf_adds(&out, zone->is_private ? " private" : " public");
		strbuf_addf(&out, " %u\n", (unsigned)zone->serial);
		memory_store_each(&server->store, zone->id, write_one, &writer);
	}
	CLEANUP(freep) char *fresh = xasprintf("%s.new", server->file->path);
	FILE *f = fopen(fresh, "we");
	if (f == NULL || fwrite(out.s, 1, out.n, f) != out.n || fclose(f) != 0 ||
	    rename(fresh, server->file->path) < 0)
		stop_test(fresh);
}

static void note_call(const struct memory_server *server, const struct provider_job *job,
		      const char *region)
{
	CLEANUP(freep) char *path = xasprintf("%s.calls", server->file->path);
	FILE *f = fopen(path, "ae");
	if (f == NULL ||
	    fprintf(f, "%s %zu %s\n", call_names[job->kind], job->n_changes, region) < 0 ||
	    fclose(f) != 0)
		stop_test(path);
}

void memory_file_end(struct memory_server *server)
{
	struct memory_file *file = server->file;
	save_file(server);
	if (file->kills_after)
		raise(SIGKILL);
	close(file->lock);
	file->lock = -1;
}

/* ---- faults ---- */

/* The index in `faults` of the first line for the call, whose count goes down; -1: none. */
static int use_fault(struct memory_file *file, const char *call)
{
	CLEANUP(strbuf_done) struct strbuf kept = STRBUF_INIT;
	int found = -1;
	for (char *at = file->rest.s, *line; (line = strsep(&at, "\n")) != NULL;) {
		struct slice rest = slice_of(line), word = slice_cut(&rest, ' ');
		struct slice of = slice_cut(&rest, ' '), name = slice_cut(&rest, ' ');
		uint64_t count = 0;
		bool fits = slice_is(word, "fault") && found < 0 && slice_u64(rest, &count) == 0 &&
			    count != 0 && (slice_is(of, "*") || slice_is(of, call));
		for (size_t i = 0; fits && i < ARRAY_LEN(faults); i++) {
			if (slice_is(name, faults[i].name))
				found = (int)i;
		}
		if (fits)
			strbuf_addf(&kept, "fault %.*s %.*s %" PRIu64 "\n", (int)of.n, of.p,
				    (int)name.n, name.p, count - 1);
		else if (line[0] != '\0')
			strbuf_addf(&kept, "%s\n", line);
	}
	strbuf_reset(&file->rest);
	strbuf_adds(&file->rest, kept.s);
	return found;
}

enum memory_fault memory_file_fault(struct memory_server *server, const struct provider_job *job,
				    const char *region)
{
	int found = use_fault(server->file, call_names[job->kind]);
	note_call(server, job, region);
	if (found < 0)
		return MEMORY_NO_FAULT;
	server->file->kills_after = faults[found].kills_after;
	if (faults[found].kills_before) {
		save_file(server);
		raise(SIGKILL);
	}
	return faults[found].fault;
}

struct memory_file *memory_file_new(const char *path)
{
	struct memory_file *file = xcalloc(1, sizeof(*file));
	*file = (struct memory_file){ .path = xstrdup(path), .lock = -1 };
	strbuf_init(&file->rest);
	return file;
}

void memory_file_free(struct memory_file *file)
{
	if (file == NULL)
		return;
	strbuf_done(&file->rest);
	free(file->path);
	free(file);
}

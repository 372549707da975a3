/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares resourceVersions of copies with those of our own writes, and counts repairs. */
#include "controller/shared/own_writes.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
	REPAIRS = 5,   /* of the same content at once, */
	REPAIR_S = 60, /* and then one in this time */
};

void own_writes_init(struct own_writes *writes)
{
	map_init(&writes->by_key);
}

void own_writes_done(struct own_writes *writes)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&writes->by_key, &pos)) != NULL)
		free(entry->value);
	map_done(&writes->by_key);
}

/* "ConfigMap default/name" */
static void add_key(struct strbuf *out, const char *kind, const char *ns, const char *name)
{
	strbuf_adds(out, kind);
	strbuf_addc(out, ' ');
	strbuf_adds(out, ns);
	strbuf_addc(out, '/');
	strbuf_adds(out, name);
}

struct own_write *own_write_of(struct own_writes *writes, const char *kind, const char *ns,
			       const char *name)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	add_key(&key, kind, ns, name);
	struct own_write *write = map_get(&writes->by_key, strbuf_slice(&key));
	if (write == NULL) {
		write = xcalloc(1, sizeof(*write));
		map_set(&writes->by_key, strbuf_slice(&key), write);
	}
	return write;
}

void own_write_forget(struct own_writes *writes, const char *kind, const char *ns, const char *name)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	add_key(&key, kind, ns, name);
	free(map_del(&writes->by_key, strbuf_slice(&key)));
}

/* Versions of one kind are numbers that grow; 0: this one is none. */
static uint64_t version_number(const char *rv)
{
	uint64_t number = 0;
	return rv != NULL && slice_u64(slice_of(rv), &number) == 0 ? number : 0;
}

bool own_write_shown(const struct own_write *write, const char *rv)
{
	if (!write->known)
		return false;
	return rv != NULL ? version_number(rv) >= MAX(write->least_version, 1u) : !write->exists;
}

bool own_write_is_last(const struct own_write *write, const char *rv)
{
	uint64_t number = version_number(rv);
	return write->known && write->exists && number != 0 && number <= write->least_version;
}

void own_write_begin(struct own_write *write)
{
	write->begun = true;
}

bool own_write_is_echo(const struct own_write *write, const char *rv)
{
	return own_write_is_last(write, rv) && !write->begun;
}

void own_write_note(struct own_write *write, const char *rv, const char *copy_rv)
{
	write->known = true;
	write->begun = false;
	write->exists = rv != NULL;
	write->least_version = rv != NULL ? version_number(rv) : version_number(copy_rv) + 1;
}

uint64_t own_write_repair(struct own_write *write, uint64_t applied, uint64_t now_ns)
{
	const uint64_t ahead = (REPAIRS - 1) * REPAIR_S * NS_PER_S;
	uint64_t due = MAX(write->due_ns, now_ns);
	if (applied != write->applied) {
		write->applied = applied;
		write->due_ns = 0;
		write->contested = false;
		return 0;
	}
	if (due > now_ns + ahead) {
		write->contested = true;
		return due - now_ns - ahead;
	}
	write->due_ns = due + REPAIR_S * NS_PER_S;
	write->repaired_ns = now_ns;
	assert(write->due_ns > now_ns);
	return 0;
}

void own_write_failed(struct own_write *write)
{
	write->applied = 0;
}

uint64_t own_write_quiet(struct own_write *write, uint64_t now_ns)
{
	uint64_t end = write->repaired_ns + REPAIR_S * NS_PER_S;
	write->contested = write->contested && now_ns < end;
	return write->contested ? end - now_ns : 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing the body of a PATCH. */
#include "provider/powerdns/patch_priv.h"

#include "dns/types.h"
#include "provider/powerdns/content_priv.h"
#include "provider/powerdns/reply_priv.h"

static void add_text(struct strbuf *out, const char *text)
{
	strbuf_add_json(out, slice_of(text));
}

/* With the final dot. */
static void add_name(struct strbuf *out, const char *name)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "%s.", name);
	strbuf_add_json(out, strbuf_slice(&text));
}

static void write_records(struct strbuf *out, const struct provider_rrset *set)
{
	CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;
	strbuf_adds(out, ",\"records\":[");
	for (size_t i = 0; i < set->n_values; i++) {
		strbuf_reset(&content);
		powerdns_content_write(&content, set->type, set->values[i]);
		strbuf_adds(out, i == 0 ? "{\"content\":" : ",{\"content\":");
		strbuf_add_json(out, strbuf_slice(&content));
		strbuf_adds(out, ",\"disabled\":false}");
	}
	strbuf_addc(out, ']');
}

static void write_set(struct strbuf *out, const struct provider_rrset *set)
{
	char buf[DNS_MNEMONIC_MAX];
	bool is_deletion = set->n_values == 0;
	strbuf_adds(out, "{\"name\":");
	add_name(out, set->name);
	strbuf_adds(out, ",\"type\":");
	add_text(out, dns_type_str(set->type, buf));
	strbuf_addf(out, ",\"changetype\":\"%s\"", is_deletion ? "DELETE" : "REPLACE");
	if (!is_deletion) {
		strbuf_addf(out, ",\"ttl\":%u", (unsigned)set->ttl_s);
		write_records(out, set);
	}
	/* Without a mark the comments that are there stay; with a deletion they go. */
	if (!is_deletion && set->owner != NULL) {
		strbuf_adds(out, ",\"comments\":[{\"account\":\"" POWERDNS_MARK_ACCOUNT
				 "\",\"content\":");
		add_text(out, set->owner);
		strbuf_adds(out, "}]");
	}
	strbuf_addc(out, '}');
}

static void write_sets(struct strbuf *out, const struct provider_change *change, bool deletions)
{
	for (size_t i = 0; i < change->n_edits; i++) {
		const struct provider_rrset *set = &change->edits[i].set;
		if ((set->n_values == 0) != deletions)
			continue;
		if (out->n != 0 && out->s[out->n - 1] == '}')
			strbuf_addc(out, ',');
		write_set(out, set);
	}
}

void powerdns_patch_write(struct strbuf *out, const struct provider_change *changes, size_t count)
{
	strbuf_adds(out, "{\"rrsets\":[");
	for (size_t i = 0; i < count; i++)
		write_sets(out, &changes[i], true);
	for (size_t i = 0; i < count; i++)
		write_sets(out, &changes[i], false);
	strbuf_adds(out, "]}");
}

struct provider_size powerdns_patch_measure(const struct provider_change *change)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	write_sets(&text, change, true);
	write_sets(&text, change, false);
	struct provider_size size = { .bytes = text.n + 1 };
	for (size_t i = 0; i < change->n_edits; i++)
		size.records += MAX(change->edits[i].set.n_values, (size_t)1);
	return size;
}

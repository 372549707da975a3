/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a DNSRecord. */
#include "plugin/records/claim.h"

#include <stdlib.h>
#include <string.h>

#include "api/dnsrecord.h"
#include "api/meta.h"
#include "api/record_set.h"
#include "api/time.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "dns/rrtext/values.h"

void records_claim_free(struct records_claim *claim)
{
	if (claim == NULL)
		return;
	strbuf_done(&claim->data);
	free(claim->object);
	free(claim->reason);
	free(claim->uid);
	free(claim);
}

static void refuse(struct records_claim *claim, const char *reason)
{
	claim->state = RECORDS_INVALID;
	free(claim->reason);
	claim->reason = xstrdup(reason);
}

static void set_wire(struct records_claim *claim, const struct api_record_set *set)
{
	claim->is_wild = strncmp(set->name, "*.", 2) == 0;
	claim->type = set->type;
	claim->ttl_s = set->ttl_s;
	claim->n = (uint16_t)set->values.n;
	if (dns_name_from_text(slice_of(set->name + (claim->is_wild ? 2 : 0)), claim->name) < 0) {
		refuse(claim, "spec.name: Invalid value: must be a domain name");
		return;
	}
	int r = dns_values_to_wire(set->type, set->values.v, set->values.n, &claim->data);
	if (r == ERR_LIMIT)
		refuse(claim, "spec.values: Too many: the records must fit into one reply: at most "
			      "1000 values, 60000 bytes");
	else if (r < 0)
		refuse(claim, "spec.values: Invalid value");
}

static void read_spec(struct records_claim *claim, const json_t *tree, struct arena *arena,
		      struct api_errors *errors)
{
	struct api_dnsrecord record;
	struct api_record_set set;
	if (api_view_fill(&api_dnsrecord_view, tree, arena, &record, errors) == 0 &&
	    api_record_set_make(&record, arena, &set, errors) == 0) {
		set_wire(claim, &set);
		return;
	}
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	api_errors_cut(errors, 1); /* enough to see what is wrong, however much there is */
	strbuf_addf(&text, "%s: %s", errors->v[0].field, errors->v[0].body);
	refuse(claim, text.s);
}

/* Gardener's protocol: a record that moves to another control plane is served there (DR-50), and one that comes
 * from another has to wait for its state (DR-36). */
static bool is_withheld(const json_t *tree)
{
	const char *asked = api_annotation(tree, RECORDS_OPERATION);
	const char *last = api_get_string(tree, "status.lastOperation.type");
	bool is_waiting = asked != NULL && strcmp(asked, "wait-for-state") == 0 && last[0] == '\0';
	return is_waiting || strcmp(last, "Migrate") == 0;
}

/* A copy of the object with the set that its controller has published in place of the spec's; NULL: there is
 * none, and the spec counts. */
static json_t *copy_published(const json_t *tree)
{
	static const char *const members[] = { "name", "recordType", "ttl", "values" };
	const json_t *published = api_get(tree, RECORDS_PUBLISHED);
	if (!json_is_object(published))
		return NULL;
	json_t *copy = json_deep_copy(tree), *spec = json_object_get(copy, "spec");
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		json_t *value = json_object_get(published, members[i]);
		if (value != NULL && !json_is_null(value))
			json_object_set_new(spec, members[i], json_deep_copy(value));
		else
			json_object_del(spec, members[i]);
	}
	return copy;
}

struct records_claim *records_claim_new(const char *object, const json_t *tree)
{
	struct arena arena;
	struct api_errors errors = { 0 };
	if (strcmp(api_get_string(tree, "spec.type"), RECORDS_TYPE) != 0 || api_is_deleting(tree) ||
	    is_withheld(tree))
		return NULL;
	struct records_claim *claim = xcalloc(1, sizeof(*claim));
	claim->object = xstrdup(object);
	claim->uid = xstrdup(api_uid(tree));
	strbuf_init(&claim->data);
	if (api_time_parse(api_get_string(tree, "metadata.creationTimestamp"), &claim->created_ns) <
	    0)
		claim->created_ns = UINT64_MAX;
	arena_init(&arena);
	json_t *published = copy_published(tree);
	read_spec(claim, published != NULL ? published : tree, &arena, &errors);
	json_decref(published);
	api_errors_done(&errors);
	arena_done(&arena);
	return claim;
}

bool records_claim_equal(const struct records_claim *left, const struct records_claim *right)
{
	if (left->state == RECORDS_INVALID || right->state == RECORDS_INVALID)
		return left->state == right->state && strcmp(left->reason, right->reason) == 0;
	return left->is_wild == right->is_wild && left->type == right->type &&
	       left->ttl_s == right->ttl_s && left->created_ns == right->created_ns &&
	       left->n == right->n && left->data.n == right->data.n &&
	       memcmp(left->data.s, right->data.s, left->data.n) == 0 &&
	       dns_name_eq_case(left->name, right->name) && strcmp(left->uid, right->uid) == 0;
}

bool records_claim_is_older(const struct records_claim *left, const struct records_claim *right)
{
	return left->created_ns != right->created_ns ? left->created_ns < right->created_ns
						     : strcmp(left->uid, right->uid) < 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead adopt`: prints which record sets of others DNSRecords would take over, and with --yes does it:
 * first it removes external-dns's TXT records, so that external-dns leaves the set alone from then on,
 * then it annotates the DNSRecord, and the controller `dnsrecord` overwrites the set. Killed between the
 * two, it does the rest when it is run again. */
#include "cmd/adopt/adopt.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/vec.h"
#include "cmd/adopt/candidate.h"
#include "cmd/cmd.h"
#include "cmd/objects/list_objects.h"
#include "cmd/flags.h"
#include "cmd/kubecli.h"
#include "cmd/objects/value_text.h"
#include "controller/dnsrecord/secrets/credentials.h"
#include "controller/dnsrecord/plan/names.h"
#include "dns/types.h"

enum { EXIT_CHANGES = 2 };

struct adopt {
	struct kubecli cli;
	struct flag_values names; /* of DNSRecords; none: all */
	struct adopt_affixes affixes;
	const char *owner; /* only external-dns's sets of this one; NULL: any set */
	bool is_confirmed;
	size_t n_found, n_failed;
};

static void say(struct adopt *adopt, const json_t *object, const char *text)
{
	kubecli_say(&adopt->cli, "%s/%s: %s", api_namespace(object), api_name(object), text);
	adopt->n_failed++;
}

/* ---- the plan ---- */

static void print_set(char sign, const struct provider_rrset *set)
{
	char type[DNS_MNEMONIC_MAX];
	const char *quote = set->type == DNS_TYPE_TXT ? "\"" : "";
	for (size_t i = 0; i < set->n_values; i++) {
		CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
		value_text_add(&value, slice_of(set->values[i]));
		printf("%c %s %u %s %s%s%s\n", sign, set->name, (unsigned)set->ttl_s,
		       dns_type_str(set->type, type), quote, value.s, quote);
	}
}

static void print_registration(const struct adopt_registration *registration)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_adds(&text, ", from external-dns (owner '");
	value_text_add(&text, registration->owner);
	strbuf_adds(&text, "', resource '");
	value_text_add(&text, registration->resource);
	printf("%s')", text.s);
}

static void print_candidate(const struct adopt_candidate *candidate)
{
	const struct provider_rrset *wanted = &candidate->record.wanted.set;
	struct provider_rrset now = *candidate->now;
	printf("%s/%s: adopt in zone %s", api_namespace(candidate->object),
	       api_name(candidate->object), candidate->zone);
	if (candidate->is_registered)
		print_registration(&candidate->registration);
	printf("\n");
	now.name = wanted->name;
	now.type = wanted->type;
	if (provider_rrset_equal(&now, wanted)) {
		print_set(' ', &now);
	} else {
		print_set('-', &now);
		print_set('+', wanted);
	}
	for (size_t i = 0; i < candidate->n_edits; i++) {
		print_set('-', &candidate->edits[i].before);
		print_set('+', &candidate->edits[i].set);
	}
}

/* ---- carrying it out ---- */

/* `reconcile` makes the controller try at once. */
static bool annotate(struct adopt *adopt, const json_t *object)
{
	struct kube_ref ref = { .kind = api_kind_find("extensions.gardener.cloud", "DNSRecord"),
				.ns = api_namespace(object),
				.name = api_name(object) };
	json_t *patch =
		json_pack("{s:{s:s, s:{s:s, s:s}}}", "metadata", "uid", api_uid(object),
			  "annotations", DNSRECORD_ADOPT, "true", DNSRECORD_OPERATION, "reconcile");
	struct kube_status status = { 0 };
	int r = kube_merge(adopt->cli.conn, &ref, NULL, patch, NULL, &status);
	if (r < 0) {
		kubecli_say_status(&adopt->cli, api_name(object), &status);
		adopt->n_failed++;
	}
	kube_status_done(&status);
	json_decref(patch);
	return r >= 0;
}

static void carry_out(struct adopt *adopt, const struct adopt_candidate *candidate,
		      struct adopt_account *account)
{
	char why[PROVIDER_ERROR_BYTES];
	if (candidate->n_edits != 0 && !adopt_write(account, candidate->zone, candidate->edits,
						    candidate->n_edits, ERR_TEXT(why)))
		say(adopt, candidate->object, why);
	else if (annotate(adopt, candidate->object))
		printf("%s/%s: adopted\n", api_namespace(candidate->object),
		       api_name(candidate->object));
}

/* ---- one object ---- */

static bool is_wished(const struct adopt *adopt, const struct adopt_candidate *candidate)
{
	return adopt->owner == NULL ||
	       (candidate->is_registered && slice_is(candidate->registration.owner, adopt->owner));
}

static void consider_at(struct adopt *adopt, struct adopt_candidate *candidate,
			struct adopt_account *account, struct arena *arena)
{
	char why[PROVIDER_ERROR_BYTES];
	int found = adopt_candidate_read(candidate, account, &adopt->affixes, arena, ERR_TEXT(why));
	if (found < 0)
		say(adopt, candidate->object, why);
	if (found <= 0 || !is_wished(adopt, candidate))
		return;
	adopt->n_found++;
	print_candidate(candidate);
	if (adopt->is_confirmed)
		carry_out(adopt, candidate, account);
}

/* The user's own rights decide which Secrets are read. */
static void consider_object(struct adopt *adopt, const json_t *object, struct arena *arena)
{
	CLEANUP(dnsrecord_credentials_done) struct dnsrecord_credentials credentials = { 0 };
	CLEANUP(adopt_candidate_done) struct adopt_candidate candidate = { 0 };
	const struct provider *provider = provider_find(api_get_string(object, "spec.type"));
	struct adopt_account account;
	char why[512];
	if (provider == NULL || !adopt_candidate_begin(&candidate, object, arena))
		return;
	if (dnsrecord_credentials_read(adopt->cli.conn, true, object, &credentials, ERR_TEXT(why)) <
		    0 ||
	    !adopt_account_open(&account, provider, credentials.v, credentials.n,
				candidate.record.spec.region, ERR_TEXT(why))) {
		say(adopt, object, why);
		return;
	}
	consider_at(adopt, &candidate, &account, arena);
	adopt_account_close(&account);
}

static bool is_named(const struct adopt *adopt, const json_t *object)
{
	for (size_t i = 0; i < adopt->names.n; i++) {
		if (strcmp(adopt->names.v[i], api_name(object)) == 0)
			return true;
	}
	return adopt->names.n == 0;
}

static bool has_object(const json_t *objects, const char *name)
{
	json_t *object;
	size_t i;
	json_array_foreach (api_tree(objects), i, object) {
		if (strcmp(api_name(object), name) == 0)
			return true;
	}
	return false;
}

static void report_missing(struct adopt *adopt, const json_t *objects)
{
	for (size_t i = 0; i < adopt->names.n; i++) {
		if (has_object(objects, adopt->names.v[i]))
			continue;
		kubecli_say(&adopt->cli, "there is no DNSRecord '%s'%s%s", adopt->names.v[i],
			    adopt->cli.ns != NULL ? " in namespace " : "",
			    adopt->cli.ns != NULL ? adopt->cli.ns : "");
		adopt->n_failed++;
	}
}

/* ---- the command ---- */

static int run_adopt(struct adopt *adopt)
{
	const struct api_kind *kind = api_kind_find("extensions.gardener.cloud", "DNSRecord");
	json_t *objects = NULL, *object;
	size_t i;
	bool ok = kubecli_open(&adopt->cli) &&
		  list_objects(&adopt->cli, kind, adopt->cli.ns, LIST_OBJECTS_NEEDED, &objects);
	if (ok)
		report_missing(adopt, objects);
	json_array_foreach (objects, i, object) {
		struct arena arena;
		arena_init(&arena);
		if (is_named(adopt, object))
			consider_object(adopt, object, &arena);
		arena_done(&arena);
	}
	json_decref(objects);
	kubecli_close(&adopt->cli);
	if (ok && adopt->n_found != 0 && !adopt->is_confirmed)
		printf("nothing was changed; --yes adopts what is listed\n");
	return kubecli_flush(&adopt->cli, !ok || adopt->n_failed != 0 ? EXIT_FAILED
					  : adopt->n_found != 0 && !adopt->is_confirmed
						  ? EXIT_CHANGES
						  : EXIT_DONE);
}

static void print_help(const struct flag *flags, size_t count)
{
	printf("usage: fairlead adopt [DNSRECORD]... [FLAGS]\n\n"
	       "Lists record sets at DNS providers that somebody else wrote, such as external-dns, "
	       "and\nthat DNSRecords of the API ask for. With --yes they are handed over: "
	       "external-dns's TXT\nrecords are removed, and the DNSRecords may overwrite the "
	       "sets. Stop external-dns first.\n\n");
	flags_help(flags, count, stdout);
	printf("\nexit status: 0 done or nothing to adopt, 2 something could be adopted, 1 an "
	       "error\n");
}

int cmd_adopt(int argc, char **argv)
{
	struct adopt adopt = { .cli.verb = "adopt", .affixes = { "", "" } };
	const struct flag flags[] = {
		FLAG_SWITCH("yes", &adopt.is_confirmed, "adopt what is listed"),
		FLAG_VALUE("txt-owner-id", &adopt.owner, "ID",
			   "only sets that external-dns registered with this owner; default: all"),
		FLAG_VALUE("txt-prefix", &adopt.affixes.prefix, "TEXT", "as of external-dns"),
		FLAG_VALUE("txt-suffix", &adopt.affixes.suffix, "TEXT", "as of external-dns"),
		KUBECLI_FLAGS_ALL(&adopt.cli),
	};
	char why[256];
	int r = flags_parse_mixed(flags, ARRAY_LEN(flags), argc, argv, &adopt.names, ERR_TEXT(why));
	int status = EXIT_USAGE;
	if (r == -2) {
		print_help(flags, ARRAY_LEN(flags));
		status = EXIT_DONE;
	} else if (r < 0) {
		kubecli_say(&adopt.cli, "%s, try --help", why);
	} else {
		status = run_adopt(&adopt);
	}
	vec_done(&adopt.names);
	return status;
}

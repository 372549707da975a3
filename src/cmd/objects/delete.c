/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead delete`: removes objects by name, or those that manifests name, and waits until they
 * are gone: an object with finalizers goes when whoever set them is done. */
#include "cmd/objects/delete.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/text/duration.h"
#include "cmd/cmd.h"
#include "cmd/kubecli.h"
#include "cmd/manifest.h"

static const uint64_t poll_ns = 100 * NS_PER_MS;

struct del {
	struct kubecli cli;
	struct flag_values files;
	const char *cascade, *timeout;
	const char *propagation;
	int64_t timeout_ns;
	bool no_wait, ignore_missing;
};

static const struct {
	const char *word, *policy;
} cascades[] = {
	{ "background", "Background" },
	{ "foreground", "Foreground" },
	{ "orphan", "Orphan" },
};

/* Those of a namespace that is being emptied stand in its spec. */
static char *finalizers_of(const json_t *object)
{
	const json_t *l = api_get(object, "metadata.finalizers");
	return json_dumps(l != NULL ? l : api_get(object, "spec.finalizers"), JSON_ENCODE_ANY);
}

/* Until it is gone, or another one of the name is there. */
static int wait_gone(const struct del *deletion, const struct kube_ref *ref, const char *uid,
		     struct kube_status *st, struct strbuf *held_by)
{
	uint64_t end = clock_mono_ns() + (uint64_t)deletion->timeout_ns;
	for (;;) {
		json_t *o = NULL;
		int e = kube_get(deletion->cli.conn, ref, &o, st);
		bool other = e == 0 && strcmp(api_uid(o), uid) != 0;
		CLEANUP(freep) char *left = e == 0 ? finalizers_of(o) : NULL;
		json_decref(o);
		if (e == ERR_NOTFOUND || other)
			return 0;
		if (e < 0)
			return e;
		if (clock_mono_ns() >= end) {
			strbuf_adds(held_by, left != NULL ? left : "no finalizers");
			return ERR_TIMEOUT;
		}
		kube_status_done(st);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = (long)poll_ns },
				NULL);
	}
}

static bool remove_ref(const struct del *deletion, const struct kube_ref *ref)
{
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf held = STRBUF_INIT;
	CLEANUP(freep) char *uid = NULL;
	struct kube_status st = { 0 };
	json_t *o = NULL;
	kubecli_name(&name, ref->kind, ref->name);
	int e = kube_get(deletion->cli.conn, ref, &o, &st);
	if (e == 0) {
		kube_status_done(&st);
		uid = xstrdup(api_uid(o));
		json_decref(o);
		e = kube_delete(deletion->cli.conn, ref,
				&(struct kube_delete_opts){ .uid = uid,
							    .propagation = deletion->propagation },
				&st);
	}
	if (e == ERR_NOTFOUND && deletion->ignore_missing) {
		kube_status_done(&st);
		return true;
	}
	if (e == 0 && !deletion->no_wait) {
		kube_status_done(&st);
		e = wait_gone(deletion, ref, uid, &st, &held);
	}
	if (e == 0)
		printf("%s deleted\n", name.s);
	else if (held.n != 0)
		kubecli_say(
			&deletion->cli,
			"%s: deletion has begun, but the object still exists after %s: held by %s",
			name.s, deletion->timeout, held.s);
	else
		kubecli_say_status(&deletion->cli, name.s, &st);
	kube_status_done(&st);
	return e == 0;
}

static bool remove_named(void *ctx, const struct api_kind *kind, const char *name)
{
	const struct del *d = ctx;
	if (name == NULL) {
		kubecli_say(&d->cli, "no name: use `fairlead delete %s NAME`", kind->singular);
		return false;
	}
	return remove_ref(d, &(struct kube_ref){
				     .kind = kind, .ns = kubecli_ns(&d->cli, kind), .name = name });
}

static bool remove_manifest(struct del *deletion, const struct manifest_object *object)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	struct api_kind kind;
	if (!kubecli_written_kind(object->o, &kind)) {
		kubecli_explain_kind(&deletion->cli, object->o, &why);
		kubecli_say(&deletion->cli, "%s", why.s);
		return false;
	}
	if (!kubecli_ns_fits(&deletion->cli, &kind, object->o, &why)) {
		CLEANUP(strbuf_done) struct strbuf place = STRBUF_INIT;
		manifest_place(object, "metadata.namespace", &place);
		fprintf(stderr, "%s: %s\n", place.s, why.s);
		return false;
	}
	const char *ns = api_namespace(object->o);
	return remove_ref(
		deletion,
		&(struct kube_ref){ .kind = &kind,
				    .ns = ns[0] != '\0' ? ns : kubecli_ns(&deletion->cli, &kind),
				    .name = api_name(object->o) });
}

/* In the opposite order, so that what others stand in goes last. */
static bool remove_manifests(struct del *deletion, const struct manifests *manifests)
{
	bool ok = true;
	for (size_t i = manifests->objects.n; i-- > 0;)
		ok = remove_manifest(deletion, &manifests->objects.v[i]) && ok;
	return ok;
}

static int delete_objects(struct del *deletion, const struct flag_values *args)
{
	struct manifests m = { 0 };
	char err[1024] = "";
	bool ok = manifests_read(&deletion->files, &m, ERR_TEXT(err));
	if (!ok)
		fprintf(stderr, "%s\n", err);
	else
		ok = kubecli_open(&deletion->cli);
	if (ok)
		ok = deletion->files.n != 0
			     ? remove_manifests(deletion, &m)
			     : kubecli_each(&deletion->cli, args, remove_named, deletion);
	manifests_done(&m);
	return kubecli_flush(&deletion->cli, ok ? EXIT_DONE : EXIT_FAILED);
}

static bool choose_propagation(struct del *deletion, struct err_text why)
{
	for (size_t i = 0; i < ARRAY_LEN(cascades); i++) {
		if (strcmp(deletion->cascade, cascades[i].word) == 0)
			deletion->propagation = cascades[i].policy;
	}
	if (deletion->propagation == NULL)
		err_text_set(why, "--cascade: expected background, foreground or orphan, got '%s'",
			     deletion->cascade);
	else if (duration_parse(slice_of(deletion->timeout), &deletion->timeout_ns) < 0 ||
		 deletion->timeout_ns < 0)
		err_text_set(why, "--timeout: expected a duration such as '60s', got '%s'",
			     deletion->timeout);
	return why.text[0] == '\0';
}

int cmd_delete(int argc, char **argv)
{
	struct del d = { .cli.verb = "delete", .cascade = "background", .timeout = "60s" };
	const struct flag flags[] = {
		FLAG_VALUES("f", &d.files, "FILE|DIR|-", "delete the objects in these manifests"),
		FLAG_VALUE("cascade", &d.cascade, "HOW",
			   "dependents: background (default), foreground or orphan"),
		FLAG_SWITCH("no-wait", &d.no_wait, "return before the objects are gone"),
		FLAG_VALUE("timeout", &d.timeout, "TIME", "longest wait; default 60s"),
		FLAG_SWITCH("ignore-not-found", &d.ignore_missing,
			    "succeed if an object does not exist"),
		KUBECLI_FLAGS(&d.cli),
	};
	char why[256] = "";
	struct flag_values args = { 0 };
	int status = EXIT_USAGE;
	int r = flags_parse_mixed(flags, ARRAY_LEN(flags), argc, argv, &args, ERR_TEXT(why));
	if (r == -2) {
		printf("usage: fairlead delete KIND NAME... | KIND/NAME... | -f FILE [FLAGS]\n\n"
		       "Removes objects and waits until they are gone.\n\nflags:\n");
		flags_help(flags, ARRAY_LEN(flags), stdout);
		status = EXIT_DONE;
	} else if (r < 0 || !choose_propagation(&d, ERR_TEXT(why))) {
		kubecli_say(&d.cli, "%s\nTry `fairlead delete --help`.", why);
	} else if ((args.n != 0) == (d.files.n != 0)) {
		kubecli_say(&d.cli, "nothing to delete: use KIND NAME, KIND/NAME or -f FILE");
	} else {
		status = delete_objects(&d, &args);
	}
	kubecli_close(&d.cli);
	vec_done(&args);
	vec_done(&d.files);
	return status;
}

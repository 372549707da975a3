/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead apply`: creates and updates objects from manifests by server-side apply. An error is
 * reported with its place in the file; the other objects are applied all the same. */
#include "cmd/objects/apply.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/text/duration.h"
#include "cmd/objects/apply_wait.h"
#include "cmd/cmd.h"
#include "cmd/kubecli.h"
#include "cmd/manifest.h"

static const char manager[] = "fairlead-apply";
enum { WAIT_S = 300 };

struct apply {
	struct kubecli cli;
	struct flag_values files;
	bool dry_run, force, waits;
	const char *timeout;
	struct apply_wait wait; /* of `waits` */
	size_t refused;		/* objects */
};

static void say_at(const struct manifest_object *object, const char *field, const char *text)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	manifest_place(object, field, &b);
	fprintf(stderr, "%s: %s\n", b.s, text);
}

/* Do others own fields of the object? A conflict may also be a refusal by admission, which no force changes. */
static bool is_about_owners(const struct kube_status *st)
{
	size_t i;
	const json_t *cause;
	json_array_foreach (st->causes, i, cause) {
		if (strcmp(api_get_string(cause, "reason"), "FieldManagerConflict") == 0)
			return true;
	}
	return false;
}

/* One line per cause that names a field, or the whole message. */
static void say_refusal(const struct manifest_object *object, const char *name,
			const struct kube_status *st)
{
	size_t i, shown = 0;
	const json_t *cause;
	if (st->code == 404 && strcmp(st->reason, "NotFound") != 0) {
		CLEANUP(freep)
		char *unserved =
			xasprintf("%s: the server does not serve %s", name, api_version(object->o));
		say_at(object, "apiVersion", unserved);
		return;
	}
	bool about_owners = is_about_owners(st);
	json_array_foreach (st->causes, i, cause) {
		const char *field = api_get_string(cause, "field");
		if (about_owners || field[0] == '\0' || field[0] == '<')
			continue;
		CLEANUP(freep)
		char *text = xasprintf("%s: %s: %s", name, field, api_get_string(cause, "message"));
		say_at(object, field, text);
		shown++;
	}
	if (shown != 0)
		return;
	CLEANUP(freep)
	char *text =
		xasprintf("%s: %s%s", name, st->message,
			  about_owners ? " (use --force-conflicts to take over these fields)" : "");
	say_at(object, "", text);
}

static const char *result_word(const struct apply *apply, const char *before, const json_t *after)
{
	if (before[0] == '\0')
		return "created";
	if (!apply->dry_run && strcmp(before, api_resource_version(after)) == 0)
		return "unchanged";
	return "configured";
}

static void request_path(const struct apply *apply, const struct kube_ref *ref, struct strbuf *path)
{
	api_kind_path(path, ref->kind, ref->ns, ref->name, NULL);
	strbuf_addf(path, "?fieldManager=%s&fieldValidation=Strict&force=%s%s", manager,
		    apply->force ? "true" : "false", apply->dry_run ? "&dryRun=All" : "");
}

/* Its version before, or "" when it is new. */
static int version_before(const struct apply *apply, const struct kube_ref *ref, struct strbuf *ret,
			  struct kube_status *st)
{
	json_t *live = NULL;
	int e = kube_get(apply->cli.conn, ref, &live, st);
	if (e == 0)
		strbuf_adds(ret, api_resource_version(live));
	json_decref(live);
	if (e == ERR_NOTFOUND) {
		kube_status_done(st);
		return 0;
	}
	return e;
}

static bool apply_ref(const struct apply *apply, const struct manifest_object *object,
		      const struct kube_ref *ref, const char *name)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf before = STRBUF_INIT;
	struct kube_status st = { 0 };
	json_t *after = NULL;
	int e = version_before(apply, ref, &before, &st);
	request_path(apply, ref, &path);
	if (e == 0) {
		kube_status_done(&st);
		e = kube_call(
			apply->cli.conn,
			&(struct kube_request){ .method = "PATCH",
						.path = path.s,
						.body = object->o,
						.content_type = "application/apply-patch+yaml" },
			&after, &st);
	}
	if (e == 0)
		printf("%s %s%s\n", name, result_word(apply, before.s, after),
		       apply->dry_run ? " (dry run)" : "");
	else
		say_refusal(object, name, &st);
	if (e == 0 && kube_conn_warnings(apply->cli.conn)[0] != '\0')
		fprintf(stderr, "%s: warning: %s\n", name, kube_conn_warnings(apply->cli.conn));
	kube_status_done(&st);
	json_decref(after);
	return e == 0;
}

static bool apply_one(struct apply *apply, const struct manifest_object *object)
{
	struct api_kind kind;
	if (!kubecli_written_kind(object->o, &kind)) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		kubecli_explain_kind(&apply->cli, object->o, &text);
		say_at(object, "kind", text.s);
		return false;
	}
	const char *ns = api_namespace(object->o);
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	if (!kubecli_ns_fits(&apply->cli, &kind, object->o, &why)) {
		say_at(object, "metadata.namespace", why.s);
		return false;
	}
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
	kubecli_name(&name, &kind, api_name(object->o));
	struct kube_ref ref = { .kind = &kind,
				.ns = ns[0] != '\0' ? ns : kubecli_ns(&apply->cli, &kind),
				.name = api_name(object->o) };
	bool ok = apply_ref(apply, object, &ref, name.s);
	ref.kind = api_kind_of(object->o); /* conditions are read in the version that we know */
	if (ok && apply->waits)
		apply_wait_add(&apply->wait, &ref);
	return ok;
}

static int apply_manifests(struct apply *apply)
{
	struct manifests m;
	char err[1024] = "";
	bool ok = manifests_read(&apply->files, &m, ERR_TEXT(err));
	if (!ok)
		fprintf(stderr, "%s\n", err);
	else
		ok = kubecli_open(&apply->cli);
	if (ok) {
		for (size_t i = 0; i < m.objects.n; i++)
			apply->refused += apply_one(apply, &m.objects.v[i]) ? 0 : 1;
	}
	manifests_done(&m);
	int status =
		kubecli_flush(&apply->cli, ok && apply->refused == 0 ? EXIT_DONE : EXIT_FAILED);
	if (ok && apply->waits && !apply_wait_run(&apply->wait))
		return EXIT_FAILED;
	return status;
}

int apply_files(const char *verb, const char *kubeconfig, const struct flag_values *files)
{
	struct apply a = { .cli = { .verb = verb, .kubeconfig = kubeconfig },
			   .files = *files,
			   .force = true };
	int status = apply_manifests(&a);
	if (a.refused != 0) {
		kubecli_say(&a.cli, "%zu objects of --load were refused; continuing without them",
			    a.refused);
		status = EXIT_DONE;
	}
	kubecli_close(&a.cli);
	return status;
}

/* False after a message. */
static bool check_wait(struct apply *apply)
{
	int64_t timeout_ns = WAIT_S * (int64_t)NS_PER_S;
	if (apply->timeout != NULL && !apply->waits) {
		kubecli_say(&apply->cli, "--timeout is for --wait");
		return false;
	}
	if (apply->waits && apply->dry_run) {
		kubecli_say(&apply->cli, "--wait and --dry-run exclude each other");
		return false;
	}
	if (apply->timeout != NULL &&
	    (duration_parse(slice_of(apply->timeout), &timeout_ns) < 0 || timeout_ns <= 0)) {
		kubecli_say(&apply->cli, "--timeout: expected a duration such as '90s', got '%s'",
			    apply->timeout);
		return false;
	}
	if (apply->waits)
		apply_wait_init(&apply->wait, &apply->cli, (uint64_t)timeout_ns);
	return true;
}

int cmd_apply(int argc, char **argv)
{
	struct apply a = { .cli.verb = "apply" };
	const struct flag flags[] = {
		FLAG_VALUES("f", &a.files, "FILE|DIR|-", "manifests; may be repeated"),
		FLAG_SWITCH("dry-run", &a.dry_run,
			    "show what the server would change, without changing it"),
		FLAG_SWITCH("force-conflicts", &a.force,
			    "take over fields that another manager has set"),
		FLAG_SWITCH("wait", &a.waits,
			    "wait until controllers are done with the applied objects"),
		FLAG_VALUE("timeout", &a.timeout, "TIME", "of --wait; default 5m"),
		KUBECLI_FLAGS(&a.cli),
	};
	char why[256] = "";
	struct flag_values args = { 0 };
	int status = EXIT_USAGE;
	int r = flags_parse_mixed(flags, ARRAY_LEN(flags), argc, argv, &args, ERR_TEXT(why));
	if (r == -2) {
		printf("usage: fairlead apply -f FILE [FLAGS]\n\n"
		       "Creates and updates objects from manifests by server-side apply. "
		       "Repeating it changes\nnothing.\n\nflags:\n");
		flags_help(flags, ARRAY_LEN(flags), stdout);
		status = EXIT_DONE;
	} else if (r < 0) {
		kubecli_say(&a.cli, "%s\nTry `fairlead apply --help`.", why);
	} else if (args.n != 0) {
		kubecli_say(&a.cli, "unexpected argument '%s'; name files with -f", args.v[0]);
	} else if (a.files.n == 0) {
		kubecli_say(&a.cli, "nothing to apply: use -f FILE, -f DIR or -f -");
	} else if (check_wait(&a)) {
		status = apply_manifests(&a);
		if (a.waits)
			apply_wait_done(&a.wait);
	}
	kubecli_close(&a.cli);
	vec_done(&args);
	vec_done(&a.files);
	return status;
}

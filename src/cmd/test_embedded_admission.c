/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hooks of a real controller (example) on a real embedded API: before its manager runs, while it
 * runs, and after. */
#include "cmd/embedded_admission.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/kind.h"
#include "api/meta.h"
#include "apiserver/server.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/manager.h"
#include "kube/client/client.h"
#include "kube/client/config.h"
#include "kube/client/conn.h"
#include "kube/client/object.h"

#define LABEL "example.fairlead.dev/copy"

struct rig {
	char dir[64], err[512];
	struct embedded_admission admission;
	struct apiserver_server *server;
	struct kube_client *client;
	struct kube_conn *conn;
};

static void rig_start(struct rig *rig)
{
	struct kube_config *config = NULL;
	*rig = (struct rig){ .dir = "/tmp/embedded_admission.XXXXXX" };
	assert_non_null(mkdtemp(rig->dir));
	embedded_admission_init(&rig->admission);
	const struct apiserver_server_conf conf = { .dir = rig->dir,
						    .listen = "127.0.0.1:0",
						    .version = "0.1.0",
						    .admission = &rig->admission.interface };
	if (apiserver_server_start(&conf, &rig->server, ERR_TEXT(rig->err)) < 0 ||
	    kube_config_load(apiserver_server_system_kubeconfig(rig->server), NULL, &config,
			     ERR_TEXT(rig->err)) < 0)
		fail_msg("%s", rig->err);
	rig->client = kube_client_new(config);
	rig->conn = kube_conn_new(rig->client, ERR_TEXT(rig->err));
	assert_non_null(rig->conn);
}

static void rig_stop(struct rig *rig)
{
	char command[128];
	kube_conn_free(rig->conn);
	kube_client_free(rig->client);
	if (rig->server != NULL)
		apiserver_server_stop(rig->server);
	snprintf(command, sizeof(command), "rm -rf %s", rig->dir);
	assert_int_equal(system(command), 0);
}

static struct manager *start_controllers(struct rig *rig, const struct controller *other)
{
	const struct controller *const list[] = { controller_find("example"), other };
	struct manager *manager;
	if (manager_start(&(struct manager_conf){ .client = rig->client,
						  .controllers = list,
						  .n_controllers = other != NULL ? 2 : 1,
						  .ns = "default",
						  .no_election = true },
			  &manager, ERR_TEXT(rig->err)) < 0)
		fail_msg("%s", rig->err);
	return manager;
}

/* Creates a Namespace with this label: its label then, or the text of the refusal, into `ret`. */
static int make_namespace(struct rig *rig, const char *name, const char *label, struct strbuf *ret)
{
	const struct kube_ref ref = { .kind = api_kind_find("", "Namespace") };
	struct kube_status status = { 0 };
	json_t *made = NULL;
	json_t *object = json_pack("{s:s, s:s, s:{s:s, s:{s:s}}}", "apiVersion", "v1", "kind",
				   "Namespace", "metadata", "name", name, "labels", LABEL, label);
	int r = kube_create(rig->conn, &ref, object, &made, &status);
	strbuf_reset(ret);
	strbuf_adds(ret, r == 0 ? api_label(made, LABEL) : status.message);
	kube_status_done(&status);
	json_decref(object);
	json_decref(made);
	return r;
}

static void wait_synced(struct manager *manager)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	uint64_t end = clock_mono_ns() + 30 * NS_PER_S;
	while (!manager_is_synced(manager)) {
		assert_true(clock_mono_ns() < end);
		nanosleep(&pause, NULL);
	}
}

static const char refusal[] =
	"admission webhook \"namespaces.example.fairlead.dev\" denied the request: label " LABEL
	" is 'true' or 'false', not 'maybe'";

static void hooks_live_with_their_manager(void **state)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct rig rig;
	(void)state;
	rig_start(&rig);
	assert_int_equal(make_namespace(&rig, "before", "maybe", &text), 0);
	assert_string_equal(text.s, "maybe");
	for (int round = 0; round < 2; round++) {
		struct manager *manager = start_controllers(&rig, NULL);
		wait_synced(manager);
		embedded_admission_attach(&rig.admission, manager);
		assert_true(make_namespace(&rig, "refused", "maybe", &text) < 0);
		if (strncmp(text.s, refusal, strlen(refusal)) != 0)
			fail_msg("%s", text.s);
		assert_int_equal(make_namespace(&rig, round == 0 ? "a" : "b", "yes", &text), 0);
		assert_string_equal(text.s, "true");
		embedded_admission_detach(&rig.admission);
		manager_stop(manager);
		assert_int_equal(manager_run(manager), 0);
		assert_int_equal(make_namespace(&rig, round == 0 ? "c" : "d", "yes", &text), 0);
		assert_string_equal(text.s, "yes");
	}
	rig_stop(&rig);
}

/* Before the controllers have read all objects, nothing is changed, and a warning says so. */
static void not_synced(void **state)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct rig rig, silent;
	(void)state;
	rig_start(&rig);
	rig_start(&silent);
	apiserver_server_stop(silent.server);
	silent.server = NULL;
	struct manager *manager = start_controllers(&silent, NULL);
	embedded_admission_attach(&rig.admission, manager);
	assert_int_equal(make_namespace(&rig, "a", "yes", &text), 0);
	assert_string_equal(text.s, "yes");
	assert_string_equal(kube_conn_warnings(rig.conn),
			    "Controllers are still starting: they did not change or check this "
			    "object.\n");
	embedded_admission_detach(&rig.admission);
	manager_stop(manager);
	assert_int_equal(manager_run(manager), 0);
	rig_stop(&silent);
	rig_stop(&rig);
}

/* `fairlead up` may run none. */
static void no_controllers(void **state)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct rig rig;
	(void)state;
	rig_start(&rig);
	embedded_admission_attach(&rig.admission, NULL);
	assert_int_equal(make_namespace(&rig, "a", "maybe", &text), 0);
	embedded_admission_detach(&rig.admission);
	rig_stop(&rig);
}

/* ---- a second controller with hooks on the same kind ---- */

static int do_nothing(struct controller_ctx *ctx, const char *key)
{
	(void)ctx;
	(void)key;
	return 0;
}

/* The hook of `example` was called before. */
static void mark_true(void *ctx, const struct admission_request *req, struct admission_reply *reply)
{
	(void)ctx;
	const char *label = api_label(req->object, LABEL);
	if (label != NULL && strcmp(label, "true") == 0)
		json_object_set_new(api_get(reply->object, "metadata.labels"), "other.example/seen",
				    json_string(label));
}

static void refuse_late(void *ctx, const struct admission_request *req,
			struct admission_reply *reply)
{
	(void)ctx;
	if (strcmp(req->name, "late") == 0)
		admission_refuse(reply, "too late");
	else if (api_label(req->object, "other.example/seen") != NULL)
		admission_warn(reply, "marked");
}

static void two_hooks_of_one_kind(void **state)
{
	static const struct controller_watch watches[] = { { .group = "", .kind = "Node" } };
	static const struct admission_hook hooks[] = {
		{ ADMISSION_MUTATE, "mark.other.example", "", "Namespace", .review = mark_true },
		{ ADMISSION_VALIDATE, "late.other.example", "", "Namespace",
		  .review = refuse_late },
	};
	static const struct controller other = { .name = "other",
						 .watch = watches,
						 .n_watch = ARRAY_LEN(watches),
						 .reconcile = do_nothing,
						 .hooks = hooks,
						 .n_hooks = ARRAY_LEN(hooks) };
	static const char late[] =
		"admission webhook \"late.other.example\" denied the request: too late";
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct rig rig;
	(void)state;
	rig_start(&rig);
	struct manager *manager = start_controllers(&rig, &other);
	wait_synced(manager);
	embedded_admission_attach(&rig.admission, manager);
	/* "yes" becomes "true" by the first, and the second sees it. */
	assert_int_equal(make_namespace(&rig, "a", "yes", &text), 0);
	assert_string_equal(text.s, "true");
	const struct kube_ref ref = { .kind = api_kind_find("", "Namespace"), .name = "a" };
	json_t *made = NULL;
	assert_int_equal(kube_get(rig.conn, &ref, &made, NULL), 0);
	assert_string_equal(api_label(made, "other.example/seen"), "true");
	json_decref(made);
	/* Each refusal has the name of the hook that refused. */
	assert_true(make_namespace(&rig, "late", "yes", &text) < 0);
	if (strncmp(text.s, late, strlen(late)) != 0)
		fail_msg("%s", text.s);
	assert_true(make_namespace(&rig, "refused", "maybe", &text) < 0);
	if (strncmp(text.s, refusal, strlen(refusal)) != 0)
		fail_msg("%s", text.s);
	embedded_admission_detach(&rig.admission);
	manager_stop(manager);
	assert_int_equal(manager_run(manager), 0);
	rig_stop(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hooks_live_with_their_manager),
		cmocka_unit_test(two_hooks_of_one_kind),
		cmocka_unit_test(not_synced),
		cmocka_unit_test(no_controllers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

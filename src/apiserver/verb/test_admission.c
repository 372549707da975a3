/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Admission hooks in the course of a write: when they are asked, what they see, and what becomes of
 * their verdicts. The hooks are made for the test. */
#include "apiserver/verb/admission.h"

#include "apiserver/test_api.h"

#define CMS  "/api/v1/namespaces/default/configmaps"
#define DNSS "/apis/operator.openshift.io/v1/dnses"
#define DNS(spec)                                                        \
	"{\"apiVersion\":\"operator.openshift.io/v1\",\"kind\":\"DNS\"," \
	"\"metadata\":{\"name\":\"default\"},\"spec\":{" spec "}}"
#define CM(more)                                         \
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"," \
	"\"metadata\":{\"name\":\"a\"" more "}}"

/* ---- hooks of the test ---- */

static struct hooks {
	struct strbuf log;     /* "mutate CREATE ConfigMap default/a by system, " each */
	const char *set_path;  /* mutating hooks set this member ... */
	const char *set_value; /* ... to this JSON value */
	const char *refuse_at; /* "validate UPDATE": refuses there; NULL: nowhere */
	unsigned code;	       /* of the refusal */
	const char *message;   /* of the refusal */
	const char *warning;   /* NULL: none */
	const char *seen_path; /* what validating hooks saw here goes into `seen` */
	char seen[64];
	bool dry_run; /* of the last question */
} hooks;

static void set_member(json_t *object, const char *path, const char *value)
{
	CLEANUP(freep) char *copy = xstrdup(path);
	char *next, *key = strtok_r(copy, ".", &next), *after;
	while ((after = strtok_r(NULL, ".", &next)) != NULL) {
		if (!json_is_object(json_object_get(object, key)))
			json_object_set_new(object, key, json_object());
		object = json_object_get(object, key);
		key = after;
	}
	json_object_set_new(object, key, json_loads(value, JSON_DECODE_ANY, NULL));
}

static void review(void *ctx, const struct apiserver_review *review, struct apiserver_verdict *ret)
{
	struct hooks *h = ctx;
	CLEANUP(strbuf_done) struct strbuf at = STRBUF_INIT;
	strbuf_addf(&at, "%s %s", review->mutates ? "mutate" : "validate", review->operation);
	strbuf_addf(&h->log, "%s %s %s/%s%s%s by %s, ", at.s, review->kind, review->ns,
		    review->name, review->subresource[0] != '\0' ? "/" : "", review->subresource,
		    review->user);
	h->dry_run = review->dry_run;
	assert_int_equal(review->object == NULL, strcmp(review->operation, "DELETE") == 0);
	assert_int_equal(review->old == NULL, strcmp(review->operation, "CREATE") == 0);
	if (h->warning != NULL)
		strbuf_addf(&ret->warnings, "%s\n", h->warning);
	if (h->refuse_at != NULL && strcmp(h->refuse_at, at.s) == 0) {
		ret->refused_by = "hook.example";
		ret->code = h->code;
		strbuf_adds(&ret->message, h->message);
	} else if (review->mutates && h->set_path != NULL && review->object != NULL) {
		ret->object = json_deep_copy(review->object);
		set_member(ret->object, h->set_path, h->set_value);
	}
	if (!review->mutates && h->seen_path != NULL)
		snprintf(h->seen, sizeof(h->seen), "%s",
			 api_get_string(review->object, h->seen_path));
}

static const struct apiserver_admission admission = { .review = review, .ctx = &hooks };

static int setup_hooks(void **state)
{
	struct fixture *f;
	hooks = (struct hooks){ .message = "" };
	strbuf_init(&hooks.log);
	setup(state);
	f = *state;
	fixture_close(f);
	f->conf.admission = &admission;
	fixture_open(f);
	/* The first objects of a server are its own: nobody is asked about them. */
	assert_int_equal(hooks.log.n, 0);
	return 0;
}

static int teardown_hooks(void **state)
{
	strbuf_done(&hooks.log);
	return teardown(state);
}

/* What was asked since the last call. */
static void assert_asked(const char *want)
{
	if (strcmp(strbuf_slice(&hooks.log).n != 0 ? hooks.log.s : "", want) != 0)
		fail_msg("asked: %s, not %s", hooks.log.s, want);
	strbuf_reset(&hooks.log);
}

#define BOTH(what) "mutate " what " by system, validate " what " by system, "

/* ---- when hooks are asked ---- */

static void asked_on_each_path(void **state)
{
	static const struct {
		unsigned status;
		const char *target, *type, *body, *asked;
	} rows[] = {
		{ 201, "POST " CMS, NULL, CM(""), BOTH("CREATE ConfigMap default/a") },
		{ 200, "PUT " CMS "/a", NULL, CM(",\"labels\":{\"a\":\"1\"}"),
		  BOTH("UPDATE ConfigMap default/a") },
		{ 200, "PATCH " CMS "/a", "application/merge-patch+json",
		  "{\"data\":{\"k\":\"v\"}}", BOTH("UPDATE ConfigMap default/a") },
		{ 200, "PATCH " CMS "/a", "application/strategic-merge-patch+json",
		  "{\"data\":{\"l\":\"v\"}}", BOTH("UPDATE ConfigMap default/a") },
		{ 200, "PATCH " CMS "/a", "application/json-patch+json",
		  "[{\"op\":\"remove\",\"path\":\"/data/l\"}]",
		  BOTH("UPDATE ConfigMap default/a") },
		{ 200, "PATCH " CMS "/a?fieldManager=m", "application/apply-patch+yaml", CM(""),
		  BOTH("UPDATE ConfigMap default/a") },
		{ 200, "DELETE " CMS "/a", NULL, NULL, BOTH("DELETE ConfigMap default/a") },
		{ 201, "PATCH " CMS "/a?fieldManager=m", "application/apply-patch+yaml", CM(""),
		  BOTH("CREATE ConfigMap default/a") },
		{ 200, "DELETE " CMS, NULL, NULL, BOTH("DELETE ConfigMap default/a") },
		{ 201, "POST " DNSS, NULL, DNS(""), BOTH("CREATE DNS /default") },
		{ 200, "PATCH " DNSS "/default/status", "application/merge-patch+json",
		  "{\"status\":{\"clusterDomain\":\"cluster.local\",\"clusterIP\":\"10.96.0.10\"}}",
		  BOTH("UPDATE DNS /default/status") },
		{ 201, "POST /api/v1/namespaces", NULL, "{\"metadata\":{\"name\":\"n\"}}",
		  BOTH("CREATE Namespace n/n") },
		/* Nothing is asked about what is no write of an object. */
		{ 200, "GET " CMS, NULL, NULL, "" },
		{ 404, "DELETE " CMS "/a", NULL, NULL, "" },
		{ 400, "POST " CMS, NULL, "{", "" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_decref(ask_type(*state, rows[i].status, rows[i].target, rows[i].type,
				     rows[i].body));
		assert_asked(rows[i].asked);
	}
}

/* An object that is not valid never reaches validating hooks. */
static void validated_between(void **state)
{
	does(*state, 422, "POST " CMS, "{\"metadata\":{\"name\":\"A_b\"}}");
	assert_asked("mutate CREATE ConfigMap default/A_b by system, ");
}

static void dry_run_asks_and_stores_nothing(void **state)
{
	struct fixture *f = *state;
	hooks.set_path = "metadata.labels.made";
	hooks.set_value = "\"yes\"";
	json_t *o = ask(f, 201, "POST " CMS "?dryRun=All", CM(""));
	assert_text(o, "metadata.labels.made", "yes");
	json_decref(o);
	assert_true(hooks.dry_run);
	assert_asked(BOTH("CREATE ConfigMap default/a"));
	does(f, 404, "GET " CMS "/a", NULL);
	does(f, 201, "POST " CMS, CM(""));
	assert_false(hooks.dry_run);
	does(f, 200, "DELETE " CMS "/a?dryRun=All", NULL);
	assert_true(hooks.dry_run);
	hooks.refuse_at = "validate DELETE";
	hooks.code = 403;
	does(f, 403, "DELETE " CMS "/a?dryRun=All", NULL);
	does(f, 200, "GET " CMS "/a", NULL);
}

/* ---- what mutating hooks change ---- */

static void mutated_then_defaulted_then_validated(void **state)
{
	struct fixture *f = *state;
	hooks.set_path = "spec.servers";
	hooks.set_value = "[{\"name\":\"a\",\"zones\":[\"a.example\"],\"forwardPlugin\":{"
			  "\"upstreams\":[\"192.0.2.1\"]},\"unknown\":1}]";
	hooks.seen_path = "spec.servers[0].forwardPlugin.policy";
	json_t *o = ask(f, 201, "POST " DNSS, DNS(""));
	assert_text(o, "spec.servers[0].forwardPlugin.policy", "Random");
	assert_null(api_get(o, "spec.servers[0].unknown"));
	assert_string_equal(hooks.seen, "Random");
	json_decref(o);
	o = ask(f, 200, "GET " DNSS "/default", NULL);
	assert_text(o, "spec.servers[0].forwardPlugin.policy", "Random");
	json_decref(o);
}

/* A hook's change counts as a change of the object. */
static void generation_counts_mutations(void **state)
{
	struct fixture *f = *state;
	does(f, 201, "POST " DNSS, DNS(""));
	hooks.set_path = "spec.logLevel";
	hooks.set_value = "\"Debug\"";
	merge(f, 200, DNSS "/default", "{}");
	json_t *o = ask(f, 200, "GET " DNSS "/default", NULL);
	assert_int_equal(api_generation(o), 2);
	json_decref(o);
}

static void mutated_beyond_the_schema(void **state)
{
	struct fixture *f = *state;
	hooks.set_path = "spec.logLevel";
	hooks.set_value = "\"Shouting\"";
	json_t *o = ask(f, 422, "POST " DNSS, DNS(""));
	assert_text(o, "reason", "Invalid");
	assert_text(o, "details.causes[0].field", "spec.logLevel");
	json_decref(o);
	assert_asked("mutate CREATE DNS /default by system, ");
	does(f, 404, "GET " DNSS "/default", NULL);
	hooks.set_value = "7";
	does(f, 422, "POST " DNSS, DNS(""));
	/* Built-in kinds have Go types where others have schemas. */
	hooks.set_path = "data";
	o = ask(f, 500, "POST " CMS, CM(""));
	assert_text(o, "reason", "InternalError");
	json_decref(o);
	hooks.set_path = "metadata.labels.x";
	hooks.set_value = "\"not/valid\"";
	does(f, 422, "POST " CMS, CM(""));
	does(f, 404, "GET " CMS "/a", NULL);
}

static void system_fields_stay(void **state)
{
	static const char *const rows[][2] = {
		{ "metadata.name", "\"b\"" },
		{ "metadata.namespace", "\"kube-system\"" },
		{ "metadata.uid", "\"1\"" },
		{ "metadata.resourceVersion", "\"1\"" },
		{ "metadata.managedFields", "[]" },
		{ "kind", "\"Secret\"" },
		{ "metadata.deletionTimestamp", "\"2020-01-01T00:00:00Z\"" },
	};
	struct fixture *f = *state;
	json_t *before = ask(f, 201, "POST " CMS, CM(""));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		hooks.set_path = rows[i][0];
		hooks.set_value = rows[i][1];
		merge(f, 200, CMS "/a", "{}");
		json_t *o = ask(f, 200, "GET " CMS "/a", NULL);
		assert_true(json_equal(o, before));
		json_decref(o);
	}
	hooks.set_path = "status";
	hooks.set_value = "{\"clusterDomain\":\"x.example\"}";
	json_t *o = ask(f, 201, "POST " DNSS, DNS(""));
	assert_null(api_get(o, "status"));
	json_decref(o);
	json_decref(before);
}

/* ---- refusals and warnings ---- */

static void refused_as_by_a_web_hook(void **state)
{
	static const struct {
		const char *at, *message, *want;
		unsigned code, status;
	} rows[] = {
		{ "mutate CREATE", "no", ": no", 403, 403 },
		{ "validate CREATE", "spec is wrong", ": spec is wrong", 422, 422 },
		{ "validate CREATE", "no", ": no", 0, 400 },
		{ "validate CREATE", "no", ": no", 200, 400 },
		{ "validate CREATE", "", " without explanation", 409, 409 },
	};
	struct fixture *f = *state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(freep)
		char *want = xasprintf("admission webhook \"hook.example\" denied the request%s",
				       rows[i].want);
		hooks.refuse_at = rows[i].at;
		hooks.message = rows[i].message;
		hooks.code = rows[i].code;
		json_t *o = ask(f, rows[i].status, "POST " CMS, CM(""));
		assert_text(o, "message", want);
		assert_null(json_object_get(o, "reason"));
		assert_null(json_object_get(o, "details"));
		assert_int_equal(json_integer_value(json_object_get(o, "code")), rows[i].status);
		json_decref(o);
		does(f, 404, "GET " CMS "/a", NULL);
	}
}

static void refused_changes_leave_the_object(void **state)
{
	struct fixture *f = *state;
	json_t *before = ask(f, 201, "POST " CMS, CM(""));
	hooks.code = 403;
	hooks.refuse_at = "validate UPDATE";
	merge(f, 403, CMS "/a", "{\"data\":{\"k\":\"v\"}}");
	hooks.refuse_at = "validate DELETE";
	does(f, 403, "DELETE " CMS "/a", NULL);
	does(f, 403, "DELETE " CMS, NULL);
	hooks.refuse_at = "mutate DELETE";
	does(f, 403, "DELETE " CMS "/a", NULL);
	json_t *o = ask(f, 200, "GET " CMS "/a", NULL);
	assert_true(json_equal(o, before));
	json_decref(o);
	json_decref(before);
}

/* Both phases warn; the client is warned once, also when it is refused. */
static void warnings_are_sent_once(void **state)
{
	struct fixture *f = *state;
	struct asked a;
	hooks.warning = "this is old";
	ask_as(f, "POST " CMS, NULL, CM(""), &a);
	assert_int_equal(a.answer.status, 201);
	assert_string_equal(a.answer.warnings.s, "this is old\n");
	asked_done(&a);
	hooks.refuse_at = "validate DELETE";
	hooks.code = 403;
	ask_as(f, "DELETE " CMS "/a", NULL, NULL, &a);
	assert_int_equal(a.answer.status, 403);
	assert_string_equal(a.answer.warnings.s, "this is old\n");
	asked_done(&a);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_hooks, teardown_hooks)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(asked_on_each_path),
		TEST(validated_between),
		TEST(dry_run_asks_and_stores_nothing),
		TEST(mutated_then_defaulted_then_validated),
		TEST(generation_counts_mutations),
		TEST(mutated_beyond_the_schema),
		TEST(system_fields_stay),
		TEST(refused_as_by_a_web_hook),
		TEST(refused_changes_leave_the_object),
		TEST(warnings_are_sent_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

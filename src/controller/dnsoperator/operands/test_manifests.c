/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The objects that come of deploy/operands (OP-D3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/compiler.h"
#include "controller/dnsoperator/operands/manifests.h"

#define DNS_OBJECT                                                                    \
	"{\"apiVersion\":\"operator.openshift.io/v1\",\"kind\":\"DNS\",\"metadata\":" \
	"{\"name\":\"default\",\"uid\":\"u1\"},\"spec\":{}}"

static const struct dnsoperator_ca bundles[] = {
	{ "corp", "corp-12" },
	{ "with.dots", "with.dots-7" },
};

static json_t *load(const char *text)
{
	json_t *v = json_loads(text, 0, NULL);
	assert_non_null(v);
	return v;
}

static const json_t *find(const struct dnsoperator_operands *o, const char *kind, const char *name)
{
	size_t i;
	json_t *v;
	json_array_foreach (o->objects, i, v) {
		if (strcmp(api_kind(v), kind) == 0 && strcmp(api_name(v), name) == 0)
			return v;
	}
	return NULL;
}

static const char *egress_ns;
static bool egress_hold;

/* Of the facts and the DNS object above; the rest is the caller's. */
static void make(enum dnsoperator_platform p, struct dnsoperator_operands_in in,
		 struct dnsoperator_operands *ret)
{
	struct dnsoperator_facts facts = { .platform = p,
					   .domain = "",
					   .ca = bundles,
					   .n_ca = ARRAY_LEN(bundles),
					   .egress_ns = egress_ns,
					   .egress_hold = egress_hold };
	json_t *dns = load(DNS_OBJECT);
	in.facts = &facts;
	in.dns = dns;
	if (in.cluster_ip == NULL)
		in.cluster_ip = "172.30.0.10";
	dnsoperator_operands_make(&in, ret);
	json_decref(dns);
}

static const struct dnsoperator_operands_in all = { .dns_image = "d",
						    .cli_image = "c",
						    .proxy_image = "p" };

/* Each is one that the client can name, has a hash, and nothing is left to fill in. */
static void sound(void **state)
{
	static const struct {
		enum dnsoperator_platform p;
		size_t n;
	} sets[] = {
		{ DNSOPERATOR_OPENSHIFT, 18 },
		{ DNSOPERATOR_MICROSHIFT, 18 },
		{ DNSOPERATOR_KUBERNETES, 7 },
		{ DNSOPERATOR_MACHINE, 0 },
	};
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(sets); k++) {
		struct dnsoperator_operands o;
		size_t i;
		json_t *v;
		make(sets[k].p, all, &o);
		assert_int_equal(json_array_size(o.objects), sets[k].n);
		assert_int_equal(o.left_out.n, 0);
		assert_int_equal(dnsoperator_operands_exist(sets[k].p), sets[k].n != 0);
		json_array_foreach (o.objects, i, v) {
			char *text = json_dumps(v, 0);
			assert_non_null(api_kind_of(v));
			assert_int_equal(strlen(api_annotation(v, DNSOPERATOR_APPLIED_HASH)), 16);
			assert_null(strstr(text, "${"));
			assert_int_equal(api_kind_of(v)->namespaced, api_namespace(v)[0] != '\0');
			free(text);
		}
		dnsoperator_operands_done(&o);
	}
}

static void left_out(void **state)
{
	static const struct {
		struct dnsoperator_operands_in in;
		const char *want;
	} rows[] = {
		{ { .dns_image = "d", .proxy_image = "p" },
		  "DaemonSet node-resolver (needs --dns-cli-image or the environment variable "
		  "OPENSHIFT_CLI_IMAGE)" },
		{ { .dns_image = "d", .cli_image = "c" },
		  "DaemonSet dns-default (needs --dns-proxy-image or the environment variable "
		  "KUBE_RBAC_PROXY_IMAGE)" },
		{ { .dns_image = "", .cli_image = "c", .proxy_image = "p" },
		  "DaemonSet dns-default (needs --dns-image or the environment variable IMAGE)" },
		{ { .dns_image = "d", .cli_image = "c", .proxy_image = "p", .cluster_ip = "" },
		  "Service dns-default (needs status.serviceNetwork of Network cluster), DaemonSet "
		  "node-resolver (needs status.serviceNetwork of Network cluster)" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dnsoperator_operands o;
		make(DNSOPERATOR_OPENSHIFT, rows[i].in, &o);
		assert_string_equal(o.left_out.s, rows[i].want);
		dnsoperator_operands_done(&o);
	}
}

/* A Service keeps the address that it has. */
static void address(void **state)
{
	struct dnsoperator_operands o;
	struct dnsoperator_operands_in in = all;
	json_t *service = load("{\"spec\":{\"clusterIP\":\"172.30.0.53\"}}");
	(void)state;
	make(DNSOPERATOR_OPENSHIFT, in, &o);
	assert_string_equal(api_get_string(find(&o, "Service", "dns-default"), "spec.clusterIP"),
			    "172.30.0.10");
	dnsoperator_operands_done(&o);
	in.service = service;
	make(DNSOPERATOR_OPENSHIFT, in, &o);
	assert_string_equal(api_get_string(find(&o, "Service", "dns-default"), "spec.clusterIP"),
			    "172.30.0.53");
	dnsoperator_operands_done(&o);
	json_decref(service);
}

static char *words(const json_t *list, const char *path)
{
	struct strbuf b = STRBUF_INIT;
	size_t i;
	json_t *v;
	json_array_foreach (list, i, v)
		strbuf_addf(&b, "%s%s", b.n != 0 ? " " : "", api_get_string(v, path));
	return b.n != 0 ? strbuf_take(&b) : NULL;
}

#define TLS(NAME, CA)                                                                \
	"\"transportConfig\":{\"transport\":\"TLS\",\"tls\":{\"serverName\":\"" NAME \
	"\",\"caBundle\":{\"name\":\"" CA "\"}}}"
#define SERVER(NAME, CA)                                                                           \
	"{\"name\":\"s\",\"zones\":[\"z\"],\"forwardPlugin\":{\"upstreams\":[\"192.0.2.1\"]," TLS( \
		NAME, CA) "}}"

/* Mounted at the paths in the Corefile (render.c), each once; a bundle that was not copied has no
 * volume. */
static void ca_bundles(void **state)
{
	struct dnsoperator_operands o;
	struct dnsoperator_operands_in in = all;
	json_t *accepted = load("{\"servers\":[" SERVER("a.example", "corp") "," SERVER(
		"b.example",
		"corp") "," SERVER("a.example",
				   "corp") "," SERVER("c.example",
						      "absent") "],"
								"\"upstreamResolvers\":{" TLS(
									"d.example",
									"with.dots") "}}");
	(void)state;
	in.accepted = accepted;
	make(DNSOPERATOR_OPENSHIFT, in, &o);
	const json_t *set = find(&o, "DaemonSet", "dns-default");
	const json_t *volumes = api_get(set, "spec.template.spec.volumes");
	const json_t *mounts = api_get(set, "spec.template.spec.containers[0].volumeMounts");
	char *paths = words(mounts, "mountPath"), *maps = words(volumes, "configMap.name");
	assert_string_equal(paths, "/etc/coredns /tmp /etc/pki/a.example-corp-12 "
				   "/etc/pki/b.example-corp-12 /etc/pki/d.example-with.dots-7");
	assert_string_equal(maps, "dns-default   ca-corp ca-with.dots");
	assert_string_equal(api_get_string(volumes, "[3].name"), "ca-corp");
	/* a volume's name has no dots */
	assert_true(api_is_label_name(api_get_string(volumes, "[4].name")));
	assert_string_equal(api_get_string(volumes, "[4].name"),
			    api_get_string(mounts, "[4].name"));
	free(paths);
	free(maps);
	dnsoperator_operands_done(&o);
	json_decref(accepted);
}

/* Keys of learnt addresses are mounted where servers learn, whether the Secret exists or not. */
static void egress_keys(void **state)
{
	static const enum dnsoperator_platform platforms[] = { DNSOPERATOR_OPENSHIFT,
							       DNSOPERATOR_KUBERNETES };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(platforms); i++) {
		struct dnsoperator_operands o;
		egress_ns = "somewhere";
		make(platforms[i], all, &o);
		egress_ns = NULL;
		const json_t *set = find(&o, "DaemonSet", i == 0 ? "dns-default" : "fairlead-dns");
		const json_t *volumes = api_get(set, "spec.template.spec.volumes");
		size_t last = json_array_size(volumes) - 1;
		const json_t *secret = json_object_get(json_array_get(volumes, last), "secret");
		assert_string_equal(api_get_string(secret, "secretName"), "fairlead-egress-keys");
		assert_true(json_is_true(json_object_get(secret, "optional")));
		const json_t *mounts =
			api_get(set, "spec.template.spec.containers[0].volumeMounts");
		assert_string_equal(
			api_get_string(json_array_get(mounts, json_array_size(mounts) - 1),
				       "mountPath"),
			"/etc/fairlead/egress");
		dnsoperator_operands_done(&o);
	}
}

/* The member `kind` of the volume of that name; NULL: there is none. */
static const json_t *volume_of(const json_t *volumes, const char *kind, const char *name)
{
	size_t i;
	json_t *v;
	json_array_foreach (volumes, i, v) {
		if (strcmp(api_get_string(v, "name"), name) == 0)
			return json_object_get(v, kind);
	}
	return NULL;
}

static bool grants_firewalls(const struct dnsoperator_operands *o, const char *role)
{
	char *text = json_dumps(find(o, "ClusterRole", role), 0);
	bool found = strstr(text, "egressfirewalls") != NULL;
	free(text);
	return found;
}

/* Servers that hold answers know their node, reach its agent, have a certificate for the others, and may watch
 * EgressFirewalls. Without the gate nothing of it is applied: the objects are those of before. */
static void holding_answers(void **state)
{
	static const struct {
		enum dnsoperator_platform platform;
		const char *servers, *role;
	} rows[] = { { DNSOPERATOR_OPENSHIFT, "dns-default", "openshift-dns" },
		     { DNSOPERATOR_KUBERNETES, "fairlead-dns", "fairlead-dns" } };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dnsoperator_operands with, without;
		egress_ns = "somewhere";
		make(rows[i].platform, all, &without);
		egress_hold = true;
		make(rows[i].platform, all, &with);
		egress_hold = false;
		egress_ns = NULL;
		const json_t *set = find(&with, "DaemonSet", rows[i].servers);
		const json_t *volumes = api_get(set, "spec.template.spec.volumes");
		const json_t *dns = api_get(set, "spec.template.spec.containers[0]");
		char *paths = words(json_object_get(dns, "volumeMounts"), "mountPath");
		assert_string_equal(api_get_string(dns, "env[0].name"), "NODE_NAME");
		assert_string_equal(api_get_string(dns, "env[0].valueFrom.fieldRef.fieldPath"),
				    "spec.nodeName");
		assert_non_null(strstr(paths, "/run/fairlead /etc/fairlead/agents"));
		assert_string_equal(
			api_get_string(volume_of(volumes, "hostPath", "egress-agent"), "path"),
			"/run/fairlead");
		const json_t *secret = volume_of(volumes, "secret", "egress-agents");
		assert_string_equal(api_get_string(secret, "secretName"), "fairlead-node-client");
		assert_true(json_is_true(json_object_get(secret, "optional")));
		assert_true(grants_firewalls(&with, rows[i].role));
		assert_false(grants_firewalls(&without, rows[i].role));
		set = find(&without, "DaemonSet", rows[i].servers);
		assert_null(api_get(set, "spec.template.spec.containers[0].env"));
		assert_null(volume_of(api_get(set, "spec.template.spec.volumes"), "hostPath",
				      "egress-agent"));
		free(paths);
		dnsoperator_operands_done(&with);
		dnsoperator_operands_done(&without);
	}
}

/* The hash changes with what is wanted, and with nothing else. */
static void hashes(void **state)
{
	struct dnsoperator_operands a, b, other;
	struct dnsoperator_operands_in in = all;
	(void)state;
	make(DNSOPERATOR_OPENSHIFT, all, &a);
	make(DNSOPERATOR_OPENSHIFT, all, &b);
	in.dns_image = "e";
	make(DNSOPERATOR_OPENSHIFT, in, &other);
	assert_true(json_equal(a.objects, b.objects));
	assert_string_not_equal(
		api_annotation(find(&a, "DaemonSet", "dns-default"), DNSOPERATOR_APPLIED_HASH),
		api_annotation(find(&other, "DaemonSet", "dns-default"), DNSOPERATOR_APPLIED_HASH));
	assert_string_equal(
		api_annotation(find(&a, "DaemonSet", "node-resolver"), DNSOPERATOR_APPLIED_HASH),
		api_annotation(find(&other, "DaemonSet", "node-resolver"),
			       DNSOPERATOR_APPLIED_HASH));
	dnsoperator_operands_done(&a);
	dnsoperator_operands_done(&b);
	dnsoperator_operands_done(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound),	   cmocka_unit_test(left_out),
		cmocka_unit_test(address),	   cmocka_unit_test(ca_bundles),
		cmocka_unit_test(hashes),	   cmocka_unit_test(egress_keys),
		cmocka_unit_test(holding_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Table cells of all built-in kinds apart from Pods, computed as kube-apiserver does. */
#include "apiserver/kind/table_cells.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/kind/age.h"
#include "apiserver/rules/members.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"

static json_t *age_since(const json_t *object, const char *path, uint64_t now_s)
{
	char text[APISERVER_AGE_MAX];
	return json_string(apiserver_age(api_get_string(object, path), now_s, text));
}

static json_t *age_of(const json_t *object, uint64_t now_s)
{
	return age_since(object, "metadata.creationTimestamp", now_s);
}

static json_t *text_or_default(const json_t *object, const char *path, const char *otherwise)
{
	const char *s = api_get_string(object, path);
	return json_string(s[0] != '\0' ? s : otherwise);
}

static json_t *take_text(struct strbuf *out, const char *otherwise)
{
	json_t *v = json_string(out->n != 0 ? out->s : otherwise);
	strbuf_done(out);
	return v;
}

static void add_listed(struct strbuf *out, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		strbuf_addf(out, "%s%s", out->n != 0 ? "," : "", api_text(json_array_get(list, i)));
}

/* ---- sorted words without duplicates ---- */

typedef VEC(const char *) words_vec;

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void add_sorted(struct strbuf *out, const char **values, size_t len)
{
	if (len != 0)
		qsort(values, len, sizeof(*values), compare_texts);
	for (size_t i = 0; i < len; i++) {
		if (i == 0 || strcmp(values[i - 1], values[i]) != 0)
			strbuf_addf(out, "%s%s", out->n != 0 ? "," : "", values[i]);
	}
}

/* ---- kinds ---- */

json_t *apiserver_cells_plain(const json_t *object, uint64_t now_s)
{
	return json_pack("[no]", age_of(object, now_s));
}

json_t *apiserver_cells_configmap(const json_t *object, uint64_t now_s)
{
	size_t n = json_object_size(json_object_get(object, "data")) +
		   json_object_size(json_object_get(object, "binaryData"));
	return json_pack("[nIo]", (json_int_t)n, age_of(object, now_s));
}

json_t *apiserver_cells_secret(const json_t *object, uint64_t now_s)
{
	return json_pack("[nsIo]", api_get_string(object, "type"),
			 (json_int_t)json_object_size(json_object_get(object, "data")),
			 age_of(object, now_s));
}

json_t *apiserver_cells_namespace(const json_t *object, uint64_t now_s)
{
	return json_pack("[nso]", api_get_string(object, "status.phase"), age_of(object, now_s));
}

json_t *apiserver_cells_lease(const json_t *object, uint64_t now_s)
{
	return json_pack("[nso]", api_get_string(object, "spec.holderIdentity"),
			 age_of(object, now_s));
}

json_t *apiserver_cells_servicecidr(const json_t *object, uint64_t now_s)
{
	struct strbuf b = STRBUF_INIT;
	add_listed(&b, api_get(object, "spec.cidrs"));
	return json_pack("[noo]", take_text(&b, ""), age_of(object, now_s));
}

static void add_balancers(struct strbuf *out, const json_t *list)
{
	words_vec words = { 0 };
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *e = json_array_get(list, i);
		const char *ip = api_get_string(e, "ip"), *name = api_get_string(e, "hostname");
		if (ip[0] != '\0' || name[0] != '\0')
			vec_push(&words, ip[0] != '\0' ? ip : name);
	}
	add_sorted(out, words.v, words.n);
	vec_done(&words);
}

static json_t *external_addresses_of(const json_t *spec, const json_t *status)
{
	struct strbuf b = STRBUF_INIT;
	if (apiserver_is(spec, "type", "ExternalName"))
		return json_string(api_get_string(spec, "externalName"));
	if (apiserver_is(spec, "type", "LoadBalancer"))
		add_balancers(&b, api_get(status, "loadBalancer.ingress"));
	add_listed(&b, json_object_get(spec, "externalIPs"));
	return take_text(&b, apiserver_is(spec, "type", "LoadBalancer") ? "<pending>" : "<none>");
}

static json_t *service_ports(const json_t *list)
{
	struct strbuf b = STRBUF_INIT;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *p = json_array_get(list, i);
		long long node = apiserver_number(p, "nodePort");
		strbuf_addf(&b, "%s%lld", i != 0 ? "," : "", apiserver_number(p, "port"));
		if (node > 0)
			strbuf_addf(&b, ":%lld", node);
		strbuf_addf(&b, "/%s", api_get_string(p, "protocol"));
	}
	return take_text(&b, "<none>");
}

/* Joins the sorted words; frees them and the array. */
static json_t *join_sorted(char **values, size_t len, const char *otherwise)
{
	struct strbuf b = STRBUF_INIT;
	if (len != 0)
		qsort(values, len, sizeof(*values), compare_texts);
	for (size_t i = 0; i < len; i++) {
		strbuf_addf(&b, "%s%s", i != 0 ? "," : "", values[i]);
		free(values[i]);
	}
	free(values);
	return take_text(&b, otherwise);
}

static json_t *selector_of(const json_t *labels)
{
	VEC(char *) words = { 0 };
	const char *key;
	json_t *value;
	json_object_foreach (api_tree(labels), key, value)
		vec_push(&words, xasprintf("%s=%s", key, api_text(value)));
	return join_sorted(words.v, words.n, "<none>");
}

json_t *apiserver_cells_service(const json_t *object, uint64_t now_s)
{
	const json_t *spec = json_object_get(object, "spec");
	const char *ip =
		api_text_or(json_array_get(json_object_get(spec, "clusterIPs"), 0), "<none>");
	return json_pack("[nssoooo]", api_get_string(spec, "type"), ip,
			 external_addresses_of(spec, json_object_get(object, "status")),
			 service_ports(json_object_get(spec, "ports")), age_of(object, now_s),
			 selector_of(json_object_get(spec, "selector")));
}

enum { SHOWN_MAX = 3 };

/* The first hosts; rules without one are counted among the others. */
static json_t *hosts_of(const json_t *rules)
{
	struct strbuf b = STRBUF_INIT;
	size_t shown = 0, i = 0;
	for (; i < json_array_size(rules) && shown < SHOWN_MAX; i++) {
		const char *host = api_get_string(json_array_get(rules, i), "host");
		if (host[0] == '\0')
			continue;
		strbuf_addf(&b, "%s%s", shown != 0 ? "," : "", host);
		shown++;
	}
	if (i < json_array_size(rules))
		strbuf_addf(&b, " + %zu more...", json_array_size(rules) - SHOWN_MAX);
	return take_text(&b, "*");
}

json_t *apiserver_cells_ingress(const json_t *object, uint64_t now_s)
{
	const json_t *spec = json_object_get(object, "spec");
	const json_t *class = json_object_get(spec, "ingressClassName");
	struct strbuf addresses = STRBUF_INIT;
	add_balancers(&addresses, api_get(object, "status.loadBalancer.ingress"));
	return json_pack("[nsooso]", api_text_or(class, "<none>"),
			 hosts_of(json_object_get(spec, "rules")), take_text(&addresses, ""),
			 json_array_size(json_object_get(spec, "tls")) != 0 ? "80, 443" : "80",
			 age_of(object, now_s));
}

static json_t *finish_shown(struct strbuf *out, size_t count)
{
	if (count > SHOWN_MAX)
		strbuf_addf(out, " + %zu more...", count - SHOWN_MAX);
	return take_text(out, "<unset>");
}

static json_t *slice_ports(const json_t *list)
{
	struct strbuf b = STRBUF_INIT;
	for (size_t i = 0; i < MIN(json_array_size(list), SHOWN_MAX); i++) {
		const json_t *p = json_array_get(list, i), *number = json_object_get(p, "port");
		strbuf_adds(&b, i != 0 ? "," : "");
		if (number != NULL)
			strbuf_addf(&b, "%lld", json_integer_value(number));
		else
			strbuf_adds(&b, json_object_get(p, "name") != NULL
						? api_get_string(p, "name")
						: "*");
	}
	return finish_shown(&b, json_array_size(list));
}

static json_t *slice_addresses(const json_t *list)
{
	struct strbuf b = STRBUF_INIT;
	size_t n = 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *all = json_object_get(json_array_get(list, i), "addresses");
		for (size_t k = 0; k < json_array_size(all); k++, n++) {
			if (n < SHOWN_MAX)
				strbuf_addf(&b, "%s%s", n != 0 ? "," : "",
					    api_text(json_array_get(all, k)));
		}
	}
	return finish_shown(&b, n);
}

json_t *apiserver_cells_endpointslice(const json_t *object, uint64_t now_s)
{
	return json_pack("[nsooo]", api_get_string(object, "addressType"),
			 slice_ports(json_object_get(object, "ports")),
			 slice_addresses(json_object_get(object, "endpoints")),
			 age_of(object, now_s));
}

static void add_host_port(struct strbuf *out, bool comma, const char *ip, long long port)
{
	bool v6 = strchr(ip, ':') != NULL;
	strbuf_addf(out, "%s%s%s%s:%lld", comma ? "," : "", v6 ? "[" : "", ip, v6 ? "]" : "", port);
}

/* Ready addresses with every port of their subset: "10.0.0.1:80,10.0.0.1:443 + 2 more...". Three are
 * printed, all are counted. */
json_t *apiserver_cells_endpoints(const json_t *object, uint64_t now_s)
{
	struct strbuf b = STRBUF_INIT;
	size_t n = 0, i, k, p;
	json_t *subset, *port, *address;
	json_array_foreach (json_object_get(object, "subsets"), i, subset) {
		const json_t *ports = json_object_get(subset, "ports");
		const json_t *addresses = json_object_get(subset, "addresses");
		if (json_array_size(ports) == 0) {
			json_array_foreach (addresses, k, address) {
				if (n++ < SHOWN_MAX)
					strbuf_addf(&b, "%s%s", n > 1 ? "," : "",
						    api_get_string(address, "ip"));
			}
			continue;
		}
		json_array_foreach (ports, p, port) {
			json_array_foreach (addresses, k, address) {
				if (n++ < SHOWN_MAX)
					add_host_port(&b, n > 1, api_get_string(address, "ip"),
						      apiserver_number(port, "port"));
			}
		}
	}
	if (n > SHOWN_MAX)
		strbuf_addf(&b, " + %zu more...", n - SHOWN_MAX);
	bool any = json_array_size(json_object_get(object, "subsets")) != 0;
	return json_pack("[noo]", take_text(&b, any ? "" : "<none>"), age_of(object, now_s));
}

/* ---- nodes ---- */

static json_t *node_status(const json_t *object)
{
	const json_t *list = api_get(object, "status.conditions");
	const char *ready = "Unknown";
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i);
		if (apiserver_is(c, "type", "Ready"))
			ready = apiserver_is(c, "status", "True") ? "Ready" : "NotReady";
	}
	bool off = json_is_true(api_get(object, "spec.unschedulable"));
	return json_pack("s+", ready, off ? ",SchedulingDisabled" : "");
}

static json_t *node_roles(const json_t *object)
{
	static const char prefix[] = "node-role.kubernetes.io/";
	struct strbuf b = STRBUF_INIT;
	words_vec words = { 0 };
	const char *key;
	json_t *value;
	json_object_foreach (api_get(object, "metadata.labels"), key, value) {
		if (strncmp(key, prefix, sizeof(prefix) - 1) == 0 &&
		    key[sizeof(prefix) - 1] != '\0')
			vec_push(&words, key + sizeof(prefix) - 1);
		else if (strcmp(key, "kubernetes.io/role") == 0 && json_string_length(value) != 0)
			vec_push(&words, api_text(value));
	}
	add_sorted(&b, words.v, words.n);
	vec_done(&words);
	return take_text(&b, "<none>");
}

static const char *node_address(const json_t *object, const char *type)
{
	const json_t *list = api_get(object, "status.addresses");
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (apiserver_is(json_array_get(list, i), "type", type))
			return api_get_string(json_array_get(list, i), "address");
	}
	return "<none>";
}

static json_t *node_kernel(const json_t *object)
{
	struct strbuf b = STRBUF_INIT;
	const char *kernel = api_get_string(object, "status.nodeInfo.kernelVersion");
	const char *arch = api_get_string(object, "status.nodeInfo.architecture");
	strbuf_adds(&b, kernel[0] != '\0' ? kernel : "<unknown>");
	if (arch[0] != '\0')
		strbuf_addf(&b, " (%s)", arch);
	return take_text(&b, "");
}

json_t *apiserver_cells_node(const json_t *object, uint64_t now_s)
{
	return json_pack(
		"[nooosssooo]", node_status(object), node_roles(object), age_of(object, now_s),
		api_get_string(object, "status.nodeInfo.kubeletVersion"),
		node_address(object, "InternalIP"), node_address(object, "ExternalIP"),
		text_or_default(object, "status.nodeInfo.osImage", "<unknown>"),
		node_kernel(object),
		text_or_default(object, "status.nodeInfo.containerRuntimeVersion", "<unknown>"));
}

/* ---- events ---- */

static const char *first_nonempty(const char *left, const char *right)
{
	return left[0] != '\0' ? left : right;
}

static json_t *event_object(const json_t *object)
{
	struct strbuf b = STRBUF_INIT;
	const char *name = api_get_string(object, "involvedObject.name");
	for (const char *p = api_get_string(object, "involvedObject.kind"); *p != '\0'; p++)
		strbuf_addc(&b, ascii_lower(*p));
	if (name[0] != '\0')
		strbuf_addf(&b, "/%s", name);
	return take_text(&b, "");
}

static json_t *event_source(const json_t *object)
{
	struct strbuf b = STRBUF_INIT;
	const char *host = first_nonempty(api_get_string(object, "source.host"),
					  api_get_string(object, "reportingInstance"));
	strbuf_adds(&b, first_nonempty(api_get_string(object, "source.component"),
				       api_get_string(object, "reportingComponent")));
	if (host[0] != '\0')
		strbuf_addf(&b, ", %s", host);
	return take_text(&b, "");
}

static json_t *event_message(const json_t *object)
{
	struct slice s = slice_trim(slice_of(api_get_string(object, "message")));
	return json_stringn(s.p, s.n);
}

json_t *apiserver_cells_event(const json_t *object, uint64_t now_s)
{
	char first[APISERVER_AGE_MAX], last[APISERVER_AGE_MAX];
	const json_t *series = json_object_get(object, "series");
	const char *begin = first_nonempty(api_get_string(object, "firstTimestamp"),
					   api_get_string(object, "eventTime"));
	const char *end = first_nonempty(api_get_string(object, "lastTimestamp"), begin);
	long long count = MAX(apiserver_number(object, "count"), 1);
	if (series != NULL) {
		end = api_get_string(series, "lastObservedTime");
		count = apiserver_number(series, "count");
	}
	return json_pack("[sssosoosIn]", apiserver_age(end, now_s, last),
			 api_get_string(object, "type"), api_get_string(object, "reason"),
			 event_object(object), api_get_string(object, "involvedObject.fieldPath"),
			 event_source(object), event_message(object),
			 apiserver_age(begin, now_s, first), (json_int_t)count);
}

/* ---- CustomResourceDefinitions ---- */

static json_t *crd_versions(const json_t *object)
{
	const json_t *list = api_get(object, "spec.versions");
	VEC(char *) words = { 0 };
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		bool stored = json_is_true(json_object_get(v, "storage"));
		if (json_is_true(json_object_get(v, "served")))
			vec_push(&words, xasprintf("%s%s", api_get_string(v, "name"),
						   stored ? "(storage)" : ""));
	}
	return join_sorted(words.v, words.n, "");
}

static bool is_established(const json_t *object)
{
	const json_t *list = api_get(object, "status.conditions");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i);
		if (apiserver_is(c, "type", "Established"))
			return apiserver_is(c, "status", "True");
	}
	return false;
}

json_t *apiserver_cells_crd(const json_t *object, uint64_t now_s)
{
	struct strbuf b = STRBUF_INIT;
	(void)now_s;
	add_listed(&b, api_get(object, "spec.names.shortNames"));
	return json_pack("[nnosnnob]", crd_versions(object),
			 api_get_string(object, "metadata.creationTimestamp"), take_text(&b, ""),
			 is_established(object));
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and checks the flags of `fairlead controller`. */
#include "cmd/controllerconf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text/duration.h"
#include "provider/provider.h"

static int choose_controllers(const char *text, struct controllerconf *controllerconf,
			      struct err_text why)
{
	if (controller_choice_parse(text, &controllerconf->chosen, why) < 0)
		return -1;
	if (controllerconf->chosen.n == 0)
		err_text_set(why, "no controllers: use --controllers NAME,...");
	return controllerconf->chosen.n != 0 ? 0 : -1;
}

static int parse_write_rate(struct slice text, struct controller_writes *ret)
{
	struct slice rest = text, rate = slice_cut(&rest, ':');
	uint64_t per_s, burst = 0;
	if (slice_u64(rate, &per_s) < 0 || per_s > CONTROLLERCONF_WRITES_MAX ||
	    (rate.n != text.n && slice_u64(rest, &burst) < 0) || burst > CONTROLLERCONF_WRITES_MAX)
		return -1;
	*ret = (struct controller_writes){ .per_s = (unsigned)per_s, .burst = (unsigned)burst };
	if (per_s == 0)
		ret->per_s = CONTROLLER_WRITES_UNLIMITED;
	return 0;
}

/* NAME=PER_S[:BURST]. */
static int set_write_rate(struct slice text, struct controllerconf *controllerconf,
			  struct err_text why)
{
	struct slice rate = text, name = slice_cut(&rate, '=');
	size_t i = 0;
	while (i < controllerconf->chosen.n && !slice_is(name, controllerconf->chosen.v[i]->name))
		i++;
	if (i == controllerconf->chosen.n) {
		err_text_set(why,
			     "--write-rate: controller '%.*s' is not one of those of --controllers",
			     (int)MIN(name.n, 64u), name.p);
		return -1;
	}
	if (controllerconf->writes.v[i].per_s != 0) {
		err_text_set(why, "--write-rate: controller '%.*s' is named twice", (int)name.n,
			     name.p);
		return -1;
	}
	if (parse_write_rate(rate, &controllerconf->writes.v[i]) < 0) {
		err_text_set(why,
			     "--write-rate: expected NAME=PER_SECOND or "
			     "NAME=PER_SECOND:BURST, each at most %d, got '%.*s'",
			     CONTROLLERCONF_WRITES_MAX, (int)MIN(text.n, 64u), text.p);
		return -1;
	}
	return 0;
}

/* Those of all controllers, separated by commas. */
static int set_write_rates(const char *text, struct controllerconf *controllerconf,
			   struct err_text why)
{
	struct slice rest = slice_of(text);
	for (size_t i = 0; i < controllerconf->chosen.n; i++)
		vec_push(&controllerconf->writes, (struct controller_writes){ 0 });
	while (rest.n != 0) {
		if (set_write_rate(slice_trim(slice_cut(&rest, ',')), controllerconf, why) < 0)
			return -1;
	}
	return 0;
}

/* Where in the list of chosen controllers it is, or how many there are. */
static size_t find_chosen(const struct controllerconf *controllerconf, const char *name)
{
	size_t i = 0;
	while (i < controllerconf->chosen.n && strcmp(name, controllerconf->chosen.v[i]->name) != 0)
		i++;
	return i;
}

/* "NAME", for the Lease of the controller's table, "NAME=LEASE" or "NAME=NAMESPACE/LEASE"; is cut in
 * place. */
static int take_lease(char *text, struct controllerconf *controllerconf, struct err_text why)
{
	char *lease = text, *name = strsep(&lease, "=");
	size_t i = find_chosen(controllerconf, name);
	if (i == controllerconf->chosen.n) {
		err_text_set(
			why,
			"--take-lease: controller '%.64s' is not one of those of --controllers",
			name);
		return -1;
	}
	struct controller_lease *rival = &controllerconf->rivals.v[i];
	*rival = controllerconf->chosen.v[i]->rival_lease;
	if (lease != NULL) {
		char *last = strrchr(lease, '/');
		*rival = (struct controller_lease){ .ns = last != NULL ? lease : NULL,
						    .name = last != NULL ? last + 1 : lease };
		if (last != NULL)
			*last = '\0';
	}
	if (rival->name == NULL) {
		err_text_set(why,
			     "--take-lease: controller '%s' knows no Lease of another program: use "
			     "%s=NAMESPACE/LEASE",
			     name, name);
		return -1;
	}
	if (!api_is_subdomain_name(rival->name) ||
	    (rival->ns != NULL && !api_is_label_name(rival->ns))) {
		err_text_set(why,
			     "--take-lease: expected NAME, NAME=LEASE or NAME=NAMESPACE/LEASE, got "
			     "'%s=%.64s%s%.64s'",
			     name, rival->ns != NULL ? rival->ns : "", rival->ns != NULL ? "/" : "",
			     rival->name);
		return -1;
	}
	return 0;
}

static int set_rivals(const struct controllerconf_flags *flags,
		      struct controllerconf *controllerconf, struct err_text why)
{
	for (size_t i = 0; i < controllerconf->chosen.n; i++)
		vec_push(&controllerconf->rivals, (struct controller_lease){ 0 });
	if (flags->take_lease == NULL)
		return 0;
	if (flags->no_election) {
		err_text_set(why, "--take-lease and --no-election exclude each other");
		return -1;
	}
	controllerconf->rivals_text = xstrdup(flags->take_lease);
	for (char *rest = controllerconf->rivals_text; rest != NULL;) {
		if (take_lease(strsep(&rest, ","), controllerconf, why) < 0)
			return -1;
	}
	return 0;
}

static int parse_time(const char *name, const char *text, uint64_t *ret, struct err_text why)
{
	int64_t ns;
	if (text == NULL)
		return 0;
	if (duration_parse(slice_of(text), &ns) < 0 || ns <= 0) {
		err_text_set(why, "--%s: expected a duration such as '15s', got '%s'", name, text);
		return -1;
	}
	*ret = (uint64_t)ns;
	return 0;
}

static int parse_times(const struct controllerconf_flags *flags, struct elect_times *times,
		       struct err_text why)
{
	if (parse_time("lease-duration", flags->duration, &times->duration_ns, why) < 0 ||
	    parse_time("lease-renew", flags->renew, &times->renew_ns, why) < 0 ||
	    parse_time("lease-retry", flags->retry, &times->retry_ns, why) < 0)
		return -1;
	return elect_times_check(times, why);
}

/* One of a few; NULL is none of them, and fine. */
static int check_word(const char *name, const char *text, const char *const *words,
		      struct err_text why)
{
	CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
	for (size_t i = 0; words[i] != NULL; i++) {
		if (text == NULL || strcmp(text, words[i]) == 0)
			return 0;
		strbuf_addf(&all, "%s%s", i != 0 ? ", " : "", words[i]);
	}
	err_text_set(why, "--%s is one of %s, not '%s'", name, all.s, text);
	return -1;
}

static int check_platform(const char *name, struct err_text why)
{
	static const char *const platforms[] = { "kubernetes", "openshift", "microshift",
						 "gardener",   "auto",	    NULL };
	return check_word("platform", name, platforms, why);
}

int controllerconf_check_types(const char *list, struct err_text why)
{
	CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
	struct slice rest = slice_of(list != NULL ? list : "");
	for (size_t i = 0; provider_list[i] != NULL; i++) {
		if (!provider_list[i]->caps.is_for_tests)
			strbuf_addf(&all, "%s%s", all.n != 0 ? ", " : "", provider_list[i]->type);
	}
	while (rest.n != 0) {
		struct slice one = slice_trim(slice_cut(&rest, ','));
		CLEANUP(freep) char *type = xstrndup(one.n != 0 ? one.p : "", one.n);
		if (provider_find(type) != NULL)
			continue;
		err_text_set(why, "--dnsrecord-types: '%s' is none of %s", type, all.s);
		return -1;
	}
	return 0;
}

int controllerconf_check_classes(const char *list, struct err_text why)
{
	static const char *const classes[] = { "garden", "seed", "shoot", NULL };
	struct slice rest = slice_of(list != NULL ? list : "");
	while (rest.n != 0) {
		struct slice one = slice_trim(slice_cut(&rest, ','));
		CLEANUP(freep) char *text = xstrndup(one.n != 0 ? one.p : "", one.n);
		if (check_word("dnsrecord-classes", text, classes, why) < 0)
			return -1;
	}
	return 0;
}

static int check_dnsrecord(const struct controller_options *options, struct err_text why)
{
	static const char *const modes[] = { "protect", "drop-in", NULL };
	if (controllerconf_check_classes(options->dnsrecord_classes, why) < 0 ||
	    controllerconf_check_types(options->dnsrecord_types, why) < 0)
		return -1;
	return check_word("dnsrecord-ownership", options->dnsrecord_ownership, modes, why);
}

/* 0 is a time, too: never. */
static int parse_serials(struct controllerconf_flags *flags, struct err_text why)
{
	int64_t ns;
	if (flags->dnsrecord_serials != NULL &&
	    duration_parse(slice_of(flags->dnsrecord_serials), &ns) == 0 && ns == 0)
		return 0;
	return parse_time("dnsrecord-serials", flags->dnsrecord_serials,
			  &flags->options.dnsrecord_serials_ns, why);
}

static int parse_probe(struct controllerconf_flags *flags, struct err_text why)
{
	int64_t ns;
	if (flags->dnsrecord_probe != NULL &&
	    duration_parse(slice_of(flags->dnsrecord_probe), &ns) == 0 && ns == 0) {
		flags->options.dnsrecord_probe_ns = CONTROLLER_NO_PROBE;
		return 0;
	}
	return parse_time("dnsrecord-probe", flags->dnsrecord_probe,
			  &flags->options.dnsrecord_probe_ns, why);
}

/* Settings from the environment if a flag is not set, by the variables of OpenShift's own operator.
 * */
static int read_operands(struct controller_options *options, struct err_text why)
{
	static const char *const when[] = { "auto", "true", "false", NULL };
	static const char *const sources[] = { "file", "api", NULL };
	const struct {
		const char **flag, *name;
	} images[] = {
		{ &options->dns_image, "IMAGE" },
		{ &options->dns_cli_image, "OPENSHIFT_CLI_IMAGE" },
		{ &options->dns_proxy_image, "KUBE_RBAC_PROXY_IMAGE" },
	};
	for (size_t i = 0; i < ARRAY_LEN(images); i++) {
		if (*images[i].flag == NULL)
			*images[i].flag = getenv(images[i].name);
	}
	if (check_word("dns-operands", options->dns_operands, when, why) < 0)
		return -1;
	return check_word("dns-config-source", options->dns_config_source, sources, why);
}

static int check_gates(const char *text, struct err_text why)
{
	struct slice rest = slice_of(text);
	while (rest.n != 0) {
		struct slice value = slice_cut(&rest, ','), name = slice_cut(&value, '=');
		if (slice_trim(name).n != 0 &&
		    (slice_is(slice_trim(value), "true") || slice_is(slice_trim(value), "false")))
			continue;
		err_text_set(why, "--feature-gates: expected NAME=true or NAME=false, got '%.*s'",
			     (int)MIN(name.n, 64u), name.p);
		return -1;
	}
	return 0;
}

static int parse_seconds(const char *name, const char *text, uint64_t *ret, struct err_text why)
{
	uint64_t ns = 0;
	int r = parse_time(name, text, &ns, why);
	*ret = ns / NS_PER_S;
	if (r == 0 && ns % NS_PER_S != 0) {
		err_text_set(why, "--%s: expected whole seconds", name);
		return -1;
	}
	return r;
}

/* What callers call us by; the text is cut in place. */
static int split_names(struct controllerconf *controllerconf, const char *text, struct err_text why)
{
	size_t n = 0;
	controllerconf->names_text = xstrdup(text);
	for (char *p = controllerconf->names_text; p != NULL && *p != '\0'; n++) {
		if (n == CONTROLLERCONF_NAMES_MAX) {
			err_text_set(why, "--webhook-names has more than %d names",
				     CONTROLLERCONF_NAMES_MAX);
			return -1;
		}
		controllerconf->names[n] = strsep(&p, ",");
	}
	return 0;
}

static int parse_hooks(const struct controllerconf_flags *flags,
		       struct controllerconf *controllerconf, struct err_text why)
{
	struct hookserver_conf *h = &controllerconf->hooks;
	h->listen = flags->hook_listen;
	h->cert_file = flags->hook_cert;
	h->key_file = flags->hook_key;
	h->secret = flags->hook_secret;
	h->registration = flags->hook_registration;
	h->certs.names = controllerconf->names;
	if ((flags->hook_cert == NULL) != (flags->hook_key == NULL)) {
		err_text_set(why, "--webhook-cert and --webhook-key belong together");
		return -1;
	}
	if (parse_seconds("webhook-ca-life", flags->ca_life, &h->certs.ca_s, why) < 0 ||
	    parse_seconds("webhook-cert-life", flags->cert_life, &h->certs.cert_s, why) < 0 ||
	    parse_seconds("webhook-overlap", flags->overlap, &h->certs.overlap_s, why) < 0 ||
	    parse_time("webhook-look", flags->check_interval, &h->interval_ns, why) < 0)
		return -1;
	return flags->hook_names != NULL ? split_names(controllerconf, flags->hook_names, why) : 0;
}

int controllerconf_parse_addresses(const char *flag, const char *text, union net_addr *ret, int max,
				   struct err_text why)
{
	struct slice rest = slice_of(text);
	int n = 0;
	for (; rest.n != 0; n++) {
		struct slice one = slice_trim(slice_cut(&rest, ','));
		if (n == max) {
			err_text_set(why, "--%s has more than %d addresses", flag, max);
			return -1;
		}
		if (net_addr_parse(one, &ret[n]) < 0 || net_addr_port(&ret[n]) == 0) {
			err_text_set(why,
				     "--%s: expected addresses with a port such as 192.0.2.1:53, "
				     "got '%.*s'",
				     flag, (int)MIN(one.n, 64u), one.p);
			return -1;
		}
	}
	return n;
}

/* The cluster's DNS servers, and those for lookups. */
static int parse_instances(struct controllerconf_flags *flags,
			   struct controllerconf *controllerconf, struct err_text why)
{
	int n_instances = controllerconf_parse_addresses("dns-instances", flags->dns_instances,
							 controllerconf->instances,
							 CONTROLLERCONF_INSTANCES_MAX, why);
	int n_lookup =
		n_instances < 0
			? -1
			: controllerconf_parse_addresses("lookup-servers", flags->lookup_servers,
							 controllerconf->lookup_servers,
							 CONTROLLERCONF_LOOKUP_SERVERS_MAX, why);
	if (n_lookup < 0)
		return -1;
	flags->options.dns_instances = controllerconf->instances;
	flags->options.n_dns_instances = (size_t)n_instances;
	flags->options.lookup_servers = controllerconf->lookup_servers;
	flags->options.n_lookup_servers = (size_t)n_lookup;
	if (parse_time("dns-settle-time", flags->dns_settle, &flags->options.dns_settle_ns, why) <
	    0)
		return -1;
	return parse_time("dns-reload-time", flags->dns_reload, &flags->options.dns_reload_ns, why);
}

int controllerconf_parse_ips(const char *flag, const char *text,
			     union net_addr ret[CONTROLLERCONF_POD_SERVERS_MAX],
			     struct err_text why)
{
	struct slice rest = slice_of(text != NULL ? text : "");
	int n = 0;
	while (rest.n != 0) {
		struct slice one = slice_trim(slice_cut(&rest, ','));
		if (n == CONTROLLERCONF_POD_SERVERS_MAX || net_addr_parse_ip(one, &ret[n]) < 0) {
			err_text_set(why,
				     "--%s: expected at most %d addresses such as 10.96.0.10, got "
				     "'%.64s'",
				     flag, CONTROLLERCONF_POD_SERVERS_MAX, text);
			return -1;
		}
		n++;
	}
	return n;
}

static int parse_pod_servers(struct controllerconf_flags *flags,
			     struct controllerconf *controllerconf, struct err_text why)
{
	int n = controllerconf_parse_ips("pod-dns-servers", flags->pod_dns_servers,
					 controllerconf->pod_dns_servers, why);
	if (n < 0)
		return -1;
	flags->options.pod_dns_servers = controllerconf->pod_dns_servers;
	flags->options.n_pod_dns_servers = (size_t)n;
	return 0;
}

static int parse_notify(struct controllerconf_flags *flags, union net_addr *notify,
			struct err_text why)
{
	int n = controllerconf_parse_addresses("dnsrecord-notify", flags->dnsrecord_notify, notify,
					       1, why);
	if (n > 0)
		flags->options.dnsrecord_notify = notify;
	return n;
}

int controllerconf_read_dnsrecord(struct controllerconf_flags *flags, union net_addr *notify,
				  struct err_text why)
{
	if (check_dnsrecord(&flags->options, why) < 0 || parse_probe(flags, why) < 0 ||
	    parse_serials(flags, why) < 0 || parse_notify(flags, notify, why) < 0)
		return -1;
	return 0;
}

static int check_domain(const char *domain, struct err_text why)
{
	if (domain == NULL || api_is_dns_domain(domain))
		return 0;
	err_text_set(
		why,
		"--dns-cluster-domain: expected a domain such as cluster.local, in lower case and "
		"without a final dot, got '%.64s'",
		domain);
	return -1;
}

/* Beside a hosted control plane pods cannot be reached; addresses that were given can. */
static int choose_ask(struct controllerconf_flags *flags, struct err_text why)
{
	static const char *const ways[] = { "dns", "proxy", "auto", NULL };
	bool given = flags->options.n_dns_instances != 0;
	bool proxy = strcmp(flags->dns_ask, "proxy") == 0;
	if (check_word("dns-ask", flags->dns_ask, ways, why) < 0)
		return -1;
	if (proxy && given) {
		err_text_set(why,
			     "--dns-ask proxy is for pods, --dns-instances for servers that can be "
			     "reached: use one of them");
		return -1;
	}
	flags->options.dns_by_proxy = proxy || (strcmp(flags->dns_ask, "auto") == 0 && !given &&
						flags->lease_kubeconfig != NULL);
	return 0;
}

static int parse_heartbeat(struct controllerconf_flags *flags, struct err_text why)
{
	uint64_t seconds = 0;
	int r = parse_seconds("heartbeat", flags->heartbeat, &seconds, why);
	flags->options.heartbeat_ns = seconds * NS_PER_S;
	return r;
}

int controllerconf_read(struct controllerconf_flags *flags, struct controllerconf *ret,
			struct err_text why)
{
	if (parse_times(flags, &ret->times, why) < 0 ||
	    check_platform(flags->options.platform, why) < 0 ||
	    check_gates(flags->options.feature_gates, why) < 0 ||
	    controllerconf_read_dnsrecord(flags, &ret->notify, why) < 0 ||
	    check_domain(flags->options.dns_cluster_domain, why) < 0 ||
	    choose_controllers(flags->controllers, ret, why) < 0 ||
	    set_write_rates(flags->write_rate, ret, why) < 0 || set_rivals(flags, ret, why) < 0 ||
	    parse_heartbeat(flags, why) < 0 || parse_instances(flags, ret, why) < 0 ||
	    choose_ask(flags, why) < 0 || parse_pod_servers(flags, ret, why) < 0 ||
	    read_operands(&flags->options, why) < 0)
		return -1;
	return parse_hooks(flags, ret, why);
}

void controllerconf_done(struct controllerconf *controllerconf)
{
	controller_choice_done(&controllerconf->chosen);
	vec_done(&controllerconf->writes);
	vec_done(&controllerconf->rivals);
	free(controllerconf->rivals_text);
	free(controllerconf->names_text);
}

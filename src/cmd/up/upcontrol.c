/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the controllers inside `fairlead up`, and passes the Corefile that one of them makes to the DNS
 * server of the same process. */
#include "cmd/up/upcontrol.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/slice.h"
#include "cmd/embedded_admission.h"
#include "cmd/up/upstatus.h"
#include "controller/dnsoperator/stored_corefile.h"
#include "controller/manager.h"
#include "kube/client/client.h"
#include "kube/client/config.h"
#include "kube/client/conn.h"

struct upcontrol {
	struct kube_client *client;
	struct manager *manager; /* NULL: no controllers */
	struct embedded_admission *admission;
	const struct controller_choice *controllers;
	struct controller_machine machine;
	char *data_dir;
	struct controller_options options;
	pthread_mutex_t lock; /* guards text */
	char *text;	      /* the Corefile; NULL: none */
};

static bool same_text(const char *left, const char *right)
{
	return left == right || (left != NULL && right != NULL && strcmp(left, right) == 0);
}

static void publish_corefile(void *ctx, const char *text)
{
	struct upcontrol *u = ctx;
	pthread_mutex_lock(&u->lock);
	bool changed = !same_text(u->text, text);
	if (changed) {
		free(u->text);
		u->text = text != NULL ? xstrdup(text) : NULL;
	}
	pthread_mutex_unlock(&u->lock);
	if (changed)
		kill(getpid(), SIGUSR1);
}

bool upcontrol_text(struct upcontrol *upcontrol, struct strbuf *out)
{
	pthread_mutex_lock(&upcontrol->lock);
	bool any = upcontrol->text != NULL;
	if (any) {
		strbuf_reset(out);
		strbuf_adds(out, upcontrol->text);
	}
	pthread_mutex_unlock(&upcontrol->lock);
	return any;
}

int upcontrol_read_stored(const struct controller_machine *machine, struct strbuf *out,
			  struct err_text err)
{
	struct kube_config *config;
	int r = kube_config_load(machine->kubeconfig, NULL, &config, err);
	if (r < 0)
		return r;
	struct kube_client *client = kube_client_new(config);
	struct kube_conn *conn = kube_conn_new(client, err);
	r = conn != NULL ? dnsoperator_stored_corefile(conn, machine, out, err) : -1;
	kube_conn_free(conn);
	kube_client_free(client);
	return r;
}

static void upcontrol_free(struct upcontrol *upcontrol)
{
	kube_client_free(upcontrol->client);
	pthread_mutex_destroy(&upcontrol->lock);
	free(upcontrol->text);
	free(upcontrol->data_dir);
	free(upcontrol);
}

static int start_controllers(struct upcontrol *upcontrol, struct err_text err)
{
	struct kube_config *config;
	if (upcontrol->controllers->n == 0)
		return 0;
	int r = kube_config_load(upcontrol->machine.kubeconfig, NULL, &config, err);
	if (r < 0)
		return r;
	upcontrol->client = kube_client_new(config);
	return manager_start(&(struct manager_conf){ .client = upcontrol->client,
						     .controllers = upcontrol->controllers->v,
						     .n_controllers = upcontrol->controllers->n,
						     .ns = UPCONTROL_NAMESPACE,
						     .no_election = true,
						     .options = &upcontrol->options },
			     &upcontrol->manager, err);
}

int upcontrol_start(const struct upcontrol_conf *conf, struct upcontrol **ret, struct err_text err)
{
	struct upcontrol *u = xcalloc(1, sizeof(*u));
	u->controllers = conf->controllers;
	u->admission = conf->admission;
	u->machine = *conf->machine;
	u->machine.publish = publish_corefile;
	u->machine.ctx = u;
	u->data_dir = xasprintf("%s/controllers", conf->data);
	u->options = *conf->records;
	u->options.machine = &u->machine;
	u->options.data_dir = u->data_dir;
	u->options.lookup_servers = conf->lookup_servers;
	u->options.n_lookup_servers = conf->n_lookup_servers;
	u->options.pod_dns_servers = conf->pod_dns_servers;
	u->options.n_pod_dns_servers = conf->n_pod_dns_servers;
	u->text = conf->corefile != NULL ? xstrdup(conf->corefile) : NULL;
	pthread_mutex_init(&u->lock, NULL);
	int r = start_controllers(u, err);
	if (r < 0) {
		upcontrol_free(u);
		return r;
	}
	embedded_admission_attach(u->admission, u->manager);
	*ret = u;
	return r;
}

void upcontrol_stop(struct upcontrol *upcontrol)
{
	if (upcontrol == NULL)
		return;
	embedded_admission_detach(upcontrol->admission);
	if (upcontrol->manager != NULL) {
		manager_stop(upcontrol->manager);
		IGNORE(manager_run(upcontrol->manager)); /* nothing is left to be done about it */
	}
	upcontrol_free(upcontrol);
}

/* One line for all that are well, and one for each that is not. */
void upcontrol_report(struct upcontrol *upcontrol, json_t *lines)
{
	CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf problems = STRBUF_INIT;
	for (size_t i = 0; i < upcontrol->controllers->n; i++)
		strbuf_addf(&names, "%s%s", i != 0 ? ", " : "", upcontrol->controllers->v[i]->name);
	if (upcontrol->manager != NULL)
		manager_report_problems(upcontrol->manager, &problems);
	upstatus_add(lines, "controllers", true, names.n != 0 ? names.s : "none");
	for (struct slice rest = strbuf_slice(&problems); rest.n != 0;) {
		struct slice line = slice_cut(&rest, '\n');
		CLEANUP(freep) char *text = xasprintf("%.*s", (int)line.n, line.p);
		upstatus_add(lines, "controllers", false, text);
	}
}

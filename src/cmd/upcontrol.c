/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the DNS controller inside `fairlead up`, and passes the Corefile it makes to the DNS server
 * of the same process. */
#include "cmd/upcontrol.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "controller/manager.h"
#include "kube/client/client.h"
#include "kube/client/config.h"

struct upcontrol {
	struct kube_client *client;
	struct manager *manager;
	struct controller_machine machine;
	struct controller_options options;
	pthread_mutex_t lock; /* guards text */
	char *text;	      /* NULL: none */
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

static void upcontrol_free(struct upcontrol *upcontrol)
{
	kube_client_free(upcontrol->client);
	pthread_mutex_destroy(&upcontrol->lock);
	free(upcontrol->text);
	free(upcontrol);
}

static int start_controllers(struct upcontrol *upcontrol, struct err_text err)
{
	const struct controller *const list[] = { controller_find("dnsoperator") };
	struct kube_config *config;
	int r = kube_config_load(upcontrol->machine.kubeconfig, NULL, &config, err);
	if (r < 0)
		return r;
	upcontrol->client = kube_client_new(config);
	return manager_start(&(struct manager_conf){ .client = upcontrol->client,
						     .controllers = list,
						     .n_controllers = ARRAY_LEN(list),
						     .ns = "default",
						     .no_election = true,
						     .options = &upcontrol->options },
			     &upcontrol->manager, err);
}

int upcontrol_start(const struct controller_machine *machine, struct upcontrol **ret,
		    struct err_text err)
{
	struct upcontrol *u = xcalloc(1, sizeof(*u));
	u->machine = *machine;
	u->machine.publish = publish_corefile;
	u->machine.ctx = u;
	u->options.machine = &u->machine;
	pthread_mutex_init(&u->lock, NULL);
	int r = start_controllers(u, err);
	if (r < 0)
		upcontrol_free(u);
	else
		*ret = u;
	return r;
}

void upcontrol_stop(struct upcontrol *upcontrol)
{
	if (upcontrol == NULL)
		return;
	manager_stop(upcontrol->manager);
	IGNORE(manager_run(upcontrol->manager)); /* nothing is left to be done about it */
	upcontrol_free(upcontrol);
}

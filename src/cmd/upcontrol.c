/* Controllers of this process. */
#include "cmd/upcontrol.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "controller/manager.h"
#include "kube/client.h"
#include "kube/config.h"

struct upcontrol {
	struct kube_client *client;
	struct manager *manager;
	struct controller_machine machine;
	struct controller_options options;
	pthread_mutex_t lock; /* guards text */
	char *text;	      /* NULL: none */
};

static bool same(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void publish(void *ctx, const char *text)
{
	struct upcontrol *u = ctx;
	pthread_mutex_lock(&u->lock);
	bool changed = !same(u->text, text);
	if (changed) {
		free(u->text);
		u->text = text != NULL ? xstrdup(text) : NULL;
	}
	pthread_mutex_unlock(&u->lock);
	if (changed)
		kill(getpid(), SIGUSR1);
}

bool upcontrol_text(struct upcontrol *u, struct strbuf *out)
{
	pthread_mutex_lock(&u->lock);
	bool any = u->text != NULL;
	if (any) {
		strbuf_reset(out);
		strbuf_adds(out, u->text);
	}
	pthread_mutex_unlock(&u->lock);
	return any;
}

static void upcontrol_free(struct upcontrol *u)
{
	kube_client_free(u->client);
	pthread_mutex_destroy(&u->lock);
	free(u->text);
	free(u);
}

static int start(struct upcontrol *u, char *err, size_t err_n)
{
	const struct controller *const list[] = { controller_find("dnsoperator") };
	struct kube_config *config;
	int r = kube_config_load(u->machine.kubeconfig, NULL, &config, err, err_n);
	if (r < 0)
		return r;
	u->client = kube_client_new(config);
	return manager_start(&(struct manager_conf){ .client = u->client,
						     .controllers = list,
						     .n_controllers = ARRAY_LEN(list),
						     .ns = "default",
						     .no_election = true,
						     .options = &u->options },
			     &u->manager, err, err_n);
}

int upcontrol_start(const struct controller_machine *machine, struct upcontrol **ret, char *err,
		    size_t err_n)
{
	struct upcontrol *u = xcalloc(1, sizeof(*u));
	u->machine = *machine;
	u->machine.publish = publish;
	u->machine.ctx = u;
	u->options.machine = &u->machine;
	pthread_mutex_init(&u->lock, NULL);
	int r = start(u, err, err_n);
	if (r < 0)
		upcontrol_free(u);
	else
		*ret = u;
	return r;
}

void upcontrol_stop(struct upcontrol *u)
{
	if (u == NULL)
		return;
	manager_stop(u->manager);
	IGNORE(manager_run(u->manager)); /* nothing is left to be done about it */
	upcontrol_free(u);
}
